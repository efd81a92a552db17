#!/usr/bin/env python3
"""Ranks and launchers that find each other over a network, or don't: what each of them says then.

check_rendezvous.py TERNRUN RANK_PROGRAM
"""

import signal
import socket
import subprocess
import time
import unittest

from ternrun_testing import PROGRAM, Base, free_port


class Rendezvous(Base):
    """Ranks that nobody looks after."""

    def rank(self, rank: int, world: int, port: int, *actions: str, **settings: str) -> subprocess.Popen:
        place = {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_PORT": str(port)}
        return self.start([PROGRAM, *actions], MASTER_ADDR="127.0.0.1", **place, **settings)

    def test_env_tcp_and_file(self) -> None:
        port, path = free_port(), self.folder / "store"
        ranks = [self.rank(rank, 2, port, "init", "sum", "again") for rank in (1, 0)]
        for rank in ranks:
            self.assertEqual(self.end(rank).stdout, "sum 3\nagain 2\nagain 2\nagain 2\n")
        for method in (f"tcp://127.0.0.1:{port}", f"file://{path}"):
            ranks = [self.start([PROGRAM, "init", method, str(rank), "2", "sum", "who"]) for rank in (0, 1)]
            outputs = [self.end(rank).stdout for rank in ranks]
            self.assertEqual(outputs, [f"sum 3\nlocal {rank} of gloo\n" for rank in (0, 1)])
        self.assertFalse(path.exists())

    def test_the_port_is_taken(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            start = time.monotonic()
            error = self.end(self.rank(0, 2, port, "init"), 1).stderr
            self.assertIn(f"127.0.0.1:{port} is in use", error)
            self.assertLess(time.monotonic() - start, 2)

    def test_nobody_serves(self) -> None:
        port = free_port()
        error = self.end(self.rank(1, 2, port, "init", TIMEOUT_MS="200"), 1).stderr
        self.assertIn(f"could not reach master at 127.0.0.1:{port} within 200 ms", error)

    def test_missing_ranks_are_named_on_every_rank(self) -> None:
        port = free_port()
        ranks = [self.rank(rank, 3, port, "init", TIMEOUT_MS="1000") for rank in (0, 2)]
        for rank in ranks:
            self.assertIn("missing rank 1: of 3 ranks 2 came within", self.end(rank, 1).stderr)

    def test_duplicate_ranks_are_named(self) -> None:
        port = free_port()
        ranks = [self.rank(rank, 3, port, "init") for rank in (0, 1, 1)]
        for rank in ranks:
            text = self.end(rank, 1).stderr
            self.assertRegex(text, r"rank 1 is there twice: in .* \(pid \d+\) and in .* \(pid \d+\)")
            for pid in (ranks[1].pid, ranks[2].pid):
                self.assertIn(f"(pid {pid})", text)

    def test_two_processes_with_rank_0(self) -> None:
        port = free_port()
        ranks = [self.rank(0, 2, port, "init", TIMEOUT_MS="1000") for _ in range(2)]
        errors = [self.end(rank, 1).stderr for rank in ranks]
        self.assertEqual(sum("is in use by a store of Tern's" in text for text in errors), 1)
        self.assertEqual(sum("missing rank 1" in text for text in errors), 1)
        command = [PROGRAM, "init", f"file://{self.folder}/store", "0", "2"]
        for rank in [self.start(command, TIMEOUT_MS="2000") for _ in range(2)]:
            self.assertIn("rank 0 is there twice", self.end(rank, 1).stderr)

    def test_world_sizes_differ(self) -> None:
        port = free_port()
        ranks = [self.rank(0, 2, port, "init"), self.rank(1, 3, port, "init")]
        for rank in ranks:
            self.assertIn("world sizes differ: ", self.end(rank, 1).stderr)

    def test_other_launchers(self) -> None:
        port, ranks = str(free_port()), []
        for rank in (0, 1):
            settings = {"SLURM_PROCID": str(rank), "SLURM_NTASKS": "2", "SLURM_JOB_NODELIST": "127.0.0.1"}
            settings |= {"SLURM_LOCALID": str(rank), "MASTER_PORT": port, "SLURM_JOB_ID": "7"}
            ranks.append(self.start([PROGRAM, "init", "sum", "who"], **settings))
        for rank in (0, 1):
            self.assertEqual(self.end(ranks[rank]).stdout, f"sum 3\nlocal {rank} of gloo\n")


class Machines(Base):
    """Several ternruns, as on several machines."""

    def node(self, node: int, port: int, *arguments: str, nodes: int = 2, ranks: int = 2) -> subprocess.Popen:
        options = [f"--nnodes={nodes}", f"--node-rank={node}", f"--rdzv-endpoint=127.0.0.1:{port}"]
        return self.start_ternrun(*options, f"--nproc-per-node={ranks}", "--grace-period=2", *arguments)

    def test_ranks_of_all_machines_work_together(self) -> None:
        port = free_port()
        nodes = [self.node(node, port, PROGRAM, "init", "sum", "who", ranks=1 + node) for node in (1, 0)]
        second, first = (sorted(self.end(node).stdout.splitlines()) for node in nodes)
        self.assertEqual(first, ["[rank 0] local 0 of gloo", "[rank 0] sum 6"])
        self.assertEqual(second[1], "[rank 1] sum 6")
        self.assertEqual(second[2], "[rank 2] local 1 of gloo")

    def test_a_failure_ends_all_machines(self) -> None:
        port = free_port()
        actions = (PROGRAM, "init", "on", "3", "exit", "5", "end", "sleep", "60")
        nodes = [self.node(node, port, *actions) for node in (0, 1)]
        for node in nodes:
            self.assertRegex(self.end(node, 5).stderr, r"rank 3 .* failed first: exit code 5")
        self.assert_nothing_left()

    def test_all_machines_start_again(self) -> None:
        port = free_port()
        actions = ("--max-restarts=1", PROGRAM, "init", "first", "on", "2", "kill", "end", "end", "sum")
        for node in [self.node(node, port, *actions) for node in (0, 1)]:
            result = self.end(node)
            self.assertEqual(result.stdout.count("sum 10"), 2)
            self.assertIn("starting all ranks again", result.stderr)

    def test_a_lost_launcher_ends_the_others(self) -> None:
        port = free_port()
        nodes = [self.node(node, port, PROGRAM, "init", "say", "ready", "sleep", "60") for node in (0, 1)]
        for node in nodes:
            self.wait_for_line(node, "ready")
        nodes[0].kill()
        self.end(nodes[0], -9)
        self.assertIn("lost node 0", self.end(nodes[1], 1).stderr)
        self.assert_nothing_left(5)

    def test_machines_that_do_not_fit_together(self) -> None:
        port = free_port()
        wait = "--join-timeout=0.5"
        self.assertIn(
            "node 1 did not come within 500 ms", self.end(self.node(0, port, wait, "true"), 1).stderr
        )
        port = free_port()
        self.assertIn("could not reach master", self.end(self.node(1, port, wait, "true"), 1).stderr)
        port = free_port()
        nodes = [self.node(0, port, "sleep", "0.5"), self.node(1, port, "true", nodes=3)]
        self.assertIn("the nodes differ: this one says --nnodes", self.end(nodes[1], 1).stderr)
        nodes.append(self.node(1, port, "sleep", "0.5"))
        nodes.append(self.node(1, port, "sleep", "0.5"))
        codes = sorted(self.end(node, None).returncode for node in (nodes[0], *nodes[2:]))
        self.assertEqual(codes, [0, 0, 1])
        self.assertEqual(nodes[0].returncode, 0)

    def test_a_signal_while_machines_are_awaited(self) -> None:
        job = self.node(0, free_port(), "true")
        time.sleep(0.1)
        job.send_signal(signal.SIGINT)
        self.end(job, 130)
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
