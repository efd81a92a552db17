#!/usr/bin/env python3
"""Two machines, made of network namespaces, with two ranks each; the link between them is cut in the middle.

    check_cut_link.py TERNRUN RANK_PROGRAM

Skipped (status 77) where namespaces are not permitted.
"""

import subprocess
import sys
import time
import unittest

from ternrun_testing import PROGRAM, TERNRUN, Base

ADDRESSES = ("10.77.0.1", "10.77.0.2")


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=20)


class Network:
    """Two network namespaces, each held by a process, and a cable between them."""

    def __init__(self) -> None:
        holder = ["unshare", "--net", "sh", "-c", "echo ready; exec sleep 600"]
        self.holders = [subprocess.Popen(holder, stdout=subprocess.PIPE) for _ in ADDRESSES]
        try:
            for process in self.holders:
                if not process.stdout.readline():
                    raise OSError("no network namespace")
            one, other = (str(process.pid) for process in self.holders)
            self.enter(
                0, "ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", other
            )
            for node, address in enumerate(ADDRESSES):
                self.enter(node, "ip", "address", "add", f"{address}/24", "dev", "cable")
                self.enter(node, "ip", "link", "set", "cable", "up")
                self.enter(node, "ip", "link", "set", "lo", "up")
        except (OSError, subprocess.SubprocessError):
            self.close()
            raise

    def inside(self, node: int) -> list[str]:
        return ["nsenter", "-t", str(self.holders[node].pid), "--net"]

    def enter(self, node: int, *command: str) -> None:
        run(*self.inside(node), *command)

    def close(self) -> None:
        for process in self.holders:
            process.kill()
            process.wait()
            process.stdout.close()


class CutLink(Base):
    def setUp(self) -> None:
        super().setUp()
        self.network = Network()
        self.addCleanup(self.network.close)

    def node(self, node: int, *actions: str) -> subprocess.Popen:
        options = ["--nnodes=2", f"--node-rank={node}", f"--rdzv-endpoint={ADDRESSES[0]}:29500"]
        command = [TERNRUN, *options, "--nproc-per-node=2", "--grace-period=2", PROGRAM, *actions]
        return self.start([*self.network.inside(node), *command], TIMEOUT_MS="3000")

    def test_ranks_of_two_machines_work_together(self) -> None:
        for node in [self.node(node, "init", "sum", "who") for node in (0, 1)]:
            output = self.end(node).stdout
            self.assertEqual(output.count("sum 10"), 2)
            self.assertEqual(output.count("local 1"), 1)

    def test_a_cut_link_ends_all_in_time(self) -> None:
        nodes = [self.node(node, "init", "say", "ready", "steps", "state", "1000000") for node in (0, 1)]
        for node in nodes:
            self.wait_for_line(node, "ready")
        time.sleep(0.3)
        self.network.enter(0, "ip", "link", "set", "cable", "down")
        start = time.monotonic()
        for node in nodes:
            result = self.end(node, 1)
            self.assertRegex(result.stderr, r"rank \d .* failed first: exit code 1")
            self.assertRegex(result.stderr, r"error: .*(all_reduce|barrier) \(sequence")
            self.assertLess(time.monotonic() - start, 50)
        self.assert_nothing_left()


if __name__ == "__main__":
    try:
        Network().close()
    except (OSError, subprocess.SubprocessError) as error:
        print(f"network namespaces are not permitted here: {error}")
        sys.exit(77)
    unittest.main()
