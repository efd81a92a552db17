#!/usr/bin/env python3
"""Runs ternrun with a small program and looks at what it prints, returns and leaves behind.

    check_ternrun.py TERNRUN RANK_PROGRAM [--kills N]

--kills N kills, stops or ends a rank N times at random moments instead of running the other tests.
"""

import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from ternrun_testing import PROGRAM, TERNRUN, Base

KILLS = 20


class Jobs(Base):
    def test_ranks_work_together(self) -> None:
        lines = self.ranks(3, "init", "who", "sum", "groups", "again").stdout.splitlines()
        for rank in range(3):
            self.assertIn(f"[rank {rank}] sum 6", lines)
            self.assertIn(f"[rank {rank}] local {rank} of gloo", lines)
            self.assertEqual(lines.count(f"[rank {rank}] again 3"), 3)
            self.assertIn(f"[rank {rank}] reverse {2 - rank} sum 3", lines)
        self.assertIn("[rank 2] even 1 sum 2", lines)
        refused = [line for line in lines if line.startswith("[rank 1] even refused")]
        self.assertIn("all_reduce: this rank is no member", refused[0])

    def test_ranks_train_as_one_process_does(self) -> None:
        weights = set()
        for count in (1, 2, 3):
            lines = self.ranks(count, "init", "ddp", "5").stdout.splitlines()
            self.assertEqual(len(lines), count)
            weights |= {line.split("] ")[1] if "] " in line else line for line in lines}
        self.assertEqual(len(weights), 1, weights)

    def test_a_traced_job_shows_reductions_beside_backward(self) -> None:
        self.ranks(2, "init", "ddp", "5", TERN_TRACE="trace.json")
        for rank in range(2):
            events = json.loads((self.folder / f"trace.rank{rank}.json").read_text())["traceEvents"]
            threads = {
                name: {event["tid"] for event in events if event["name"] == name}
                for name in ("all_reduce", "linear backward", "wait for gradients")
            }
            self.assertEqual(threads["linear backward"], threads["wait for gradients"])
            self.assertEqual(len(threads["linear backward"]), 1)
            self.assertEqual(len(threads["all_reduce"] - threads["linear backward"]), 1)

    def test_the_environment(self) -> None:
        names = (
            "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK TERN_RESTART_COUNT MASTER_ADDR".split()
        )
        script = " ".join(f"${name}" for name in names)
        command = ("--nproc_per_node=2", "sh", "-c", f"echo {script} $TERN_NUM_THREADS")
        threads = max(1, len(os.sched_getaffinity(0)) // 2)
        lines = sorted(self.ternrun(*command).stdout.splitlines())
        expected = [f"[rank {rank}] {rank} 2 {rank} 2 0 0 127.0.0.1 {threads}" for rank in (0, 1)]
        self.assertEqual(lines, expected)
        lines = self.ternrun(*command, TERN_NUM_THREADS="7").stdout.splitlines()
        self.assertTrue(all(line.endswith(" 7") for line in lines))

    def test_programs_get_their_arguments(self) -> None:
        command = ("--pass_local_rank", "--nproc-per-node=2", "--", "printf", "%s|%s|%s", "--a", "-b")
        lines = sorted(self.ternrun(*command).stdout.splitlines())
        # printf takes the first argument as its format
        self.assertEqual(lines, ["[rank 0] --local_rank=0", "[rank 1] --local_rank=1"])
        self.assertEqual(
            self.ternrun("echo", "--nproc-per-node", "x").stdout, "[rank 0] --nproc-per-node x\n"
        )

    def test_two_jobs_at_once(self) -> None:
        jobs = [self.start_ternrun("--nproc-per-node=2", PROGRAM, "init", "sum", "again") for _ in range(4)]
        for job in jobs:
            self.assertEqual(self.end(job).stdout.count("sum 3"), 2)

    def test_more_ranks_than_processors(self) -> None:
        self.assertEqual(self.ranks(12, "init", "sum").stdout.count("sum 78"), 12)

    def test_rank_0_may_end_first(self) -> None:
        result = self.ranks(2, "init", "on", "0", "exit", "0", "end", "sleep", "0.2", "say", "still here")
        self.assertEqual(result.stdout, "[rank 1] still here\n")


class Failures(Base):
    def test_a_failing_rank_ends_all(self) -> None:
        actions = ("init", "on", "1", "say", "one", "complain", "two", "exit", "3", "end", "sleep", "60")
        error = self.ranks(3, *actions, code=3).stderr
        self.assertRegex(error, r"ternrun: rank 1 \(local rank 1 on .*, pid \d+\) failed first: exit code 3")
        self.assertRegex(
            error, r"its last lines:\n  \| one\n  \| two\n|its last lines:\n  \| two\n  \| one\n"
        )
        self.assertRegex(error, r"ended after that: rank 0 \(killed by SIGTERM\), 2 \(killed by SIGTERM\)")

    def test_a_rank_that_left_without_a_failure_is_named(self) -> None:
        error = self.ranks(3, "init", "on", "2", "exit", "0", "end", "sleep", "0.5", "sum", code=1).stderr
        self.assertRegex(error, r"rank [01] .* failed first: exit code 1")
        self.assertIn("ternrun: ended before that, with exit code 0: rank 2\n", error)
        self.assertIn("has left the group", error)

    def test_a_killed_rank_is_the_first_failure(self) -> None:
        for _ in range(3):
            error = self.ranks(3, "init", "on", "2", "kill", "end", "sum", "sleep", "60", code=137).stderr
            self.assertRegex(error, r"rank 2 .* failed first: killed by SIGKILL")

    def test_descendants_end(self) -> None:
        family = ("child", "60", "hidden", "60", "on", "1", "exit", "4", "end", "sleep", "60")
        self.ternrun("--grace-period=0.3", "--nproc-per-node=2", PROGRAM, *family, code=4)
        self.assert_nothing_left()
        self.ternrun("--grace-period=0.2", PROGRAM, "child", "60", "hidden", "60")
        self.assert_nothing_left()

    def test_ranks_that_ignore_sigterm_are_killed(self) -> None:
        wait = "while [ ! -e ready ]; do sleep 0.01; done"
        script = f'if [ $RANK = 1 ]; then {wait}; exit 7; fi; trap "" TERM; touch ready; sleep 60; sleep 60'
        start = time.monotonic()
        result = self.ternrun("--grace-period=0.3", "--nproc-per-node=2", "sh", "-c", script, code=7)
        self.assertLess(time.monotonic() - start, 20)
        self.assertIn("rank 0 (killed by SIGKILL)", result.stderr)
        self.assert_nothing_left()

    def test_signals_go_on_to_the_ranks(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            job = self.start_ternrun(
                "--nproc-per-node=2", PROGRAM, "child", "60", "say", "ready", "sleep", "60"
            )
            self.wait_for_line(job, "ready")
            self.wait_for_line(job, "ready")
            job.send_signal(number)
            time.sleep(0.05)
            job.send_signal(number)  # the second time there is no grace
            result = self.end(job, 128 + number)
            self.assertIn(f"{signal.Signals(number).name} came", result.stderr)
            self.assert_nothing_left()

    def test_user_signals_do_not_end_the_job(self) -> None:
        script = 'trap "echo got it; exit 0" USR1; echo ready; while :; do sleep 0.01; done'
        job = self.start_ternrun("--nproc-per-node=2", "sh", "-c", script)
        self.wait_for_line(job, "ready")
        self.wait_for_line(job, "ready")
        os.kill(self.inner(job), signal.SIGTERM)  # some engines signal all processes: the outer one counts
        time.sleep(0.05)
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(self.end(job).stdout.count("got it"), 2)

    def test_nothing_outlives_a_killed_launcher(self) -> None:
        for inner in (False, True):
            family = (PROGRAM, "child", "60", "hidden", "60", "say", "ready", "sleep", "60")
            job = self.start_ternrun("--nproc-per-node=2", *family)
            self.wait_for_line(job, "ready")
            self.wait_for_line(job, "ready")
            os.kill(self.inner(job) if inner else job.pid, signal.SIGKILL)
            result = self.end(job, 137 if inner else -9)
            if inner:
                self.assertIn("was killed by SIGKILL; all ranks are ended", result.stderr)
            self.assert_nothing_left(5)

    def test_restarts(self) -> None:
        actions = ("init", "steps", "plain", "6")
        plain = self.ranks(2, *actions).stdout
        self.assertIn("result", plain)
        failing = (
            "init",
            "steps",
            "broken",
            "3",
            "first",
            "on",
            "1",
            "kill",
            "end",
            "end",
            "steps",
            "broken",
            "6",
        )
        result = self.ternrun("--nproc-per-node=2", "--max-restarts=1", PROGRAM, *failing)
        self.assertIn("starting all ranks again (restart 1 of 1)", result.stderr)
        self.assertEqual(result.stdout.splitlines()[-1], plain.splitlines()[-1])
        result = self.ternrun("--max-restarts=2", PROGRAM, "exit", "9", code=9)
        self.assertEqual(result.stderr.count("failed first: exit code 9"), 3)

    def test_wrong_usage(self) -> None:
        for code, text, *arguments in (
            (127, 'there is no program "no-such-program" in PATH', "no-such-program"),
            (127, 'there is no program "./no-such-program"', "./no-such-program"),
            (126, '"/" is no program that may be run', "/"),
            (2, "the program is missing"),
            (2, "there is no option --nproc", "--nproc", "3", "true"),
            (2, "--nproc-per-node: needs a number from 1 to 10000, got x", "--nproc-per-node", "x", "true"),
            (2, "--nproc-per-node: needs a number from 1 to 10000, got 0", "--nproc-per-node=0", "true"),
            (2, "--nnodes", "--nnodes=1:3", "true"),
            (2, "--nnodes 2 needs --rdzv-endpoint host:port", "--nnodes=2", "true"),
            (2, "--node-rank 1 must be less than --nnodes 1", "--node-rank=1", "true"),
            (2, "--standalone is for one machine", "--standalone", "--rdzv-endpoint=a:1", "true"),
            (2, "--rdzv-endpoint: the port must be a number", "--rdzv-endpoint=a:b", "true"),
            (2, "--max-restarts", "--max-restarts=-1", "true"),
            (2, "needs seconds", "--grace-period=-1", "true"),
        ):  # fmt: skip
            result = self.ternrun(*arguments, code=code)
            self.assertIn(text, result.stderr)
            self.assertLess(len(result.stderr), 300)

    def test_a_program_of_this_folder_is_hinted_at(self) -> None:
        (self.folder / "here").write_text("#!/bin/sh\n")
        (self.folder / "here").chmod(0o755)
        self.assertIn("is ./here", self.ternrun("here", code=127).stderr)


class Output(Base):
    def test_lines_stay_whole(self) -> None:
        script = "for i in 1 2 3; do printf 'a %s ' $RANK; sleep 0.02; echo b; done; printf last"
        result = self.ternrun("--nproc-per-node=3", "sh", "-c", script)
        expected = [f"[rank {rank}] a {rank} b" for rank in range(3) for _ in range(3)]
        expected += [f"[rank {rank}] last" for rank in range(3)]
        self.assertEqual(sorted(result.stdout.splitlines()), sorted(expected))

    def test_of_progress_the_last_state_stays(self) -> None:
        result = self.ternrun("printf", "10 %%\\r20 %%\\r30 %%\\r\\nnext\\r\\n\\033[31mred\\n")
        self.assertEqual(result.stdout, "[rank 0] 30 %\n[rank 0] next\n[rank 0] \x1b[31mred\x1b[0m\n")

    def test_a_terminal_shows_the_first_rank_s_progress(self) -> None:
        outer, inner = pty.openpty()
        first = r"printf '10 %%\r'; sleep 0.3; printf '20 %%\r\n'"
        script = f"if [ $RANK = 0 ]; then {first}; else sleep 0.15; echo hi; fi"
        command = [TERNRUN, "--nproc-per-node=2", "sh", "-c", script]
        subprocess.run(command, stdout=inner, stderr=inner, env=self.environment(), check=True, timeout=60)
        os.close(inner)
        shown = os.read(outer, 65536).decode().replace("\r\n", "\n")
        os.close(outer)
        erase = "\r\x1b[K"
        self.assertEqual(
            shown, f"{erase}[rank 0] 10 %{erase}[rank 1] hi\n[rank 0] 10 %{erase}[rank 0] 20 %\n"
        )

    def test_long_lines_and_much_output(self) -> None:
        result = self.ternrun("sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x; echo; seq 100000")
        lines = result.stdout.splitlines()
        self.assertEqual(sum(line.count("x") for line in lines), 200000)
        self.assertEqual(lines[-1], "[rank 0] 100000")

    def test_a_reader_that_goes_does_not_end_the_job(self) -> None:
        job = self.start_ternrun("sh", "-c", f"seq 200000; echo done > {self.folder}/done")
        job.stdout.readline()
        job.stdout.close()
        self.assertEqual(job.wait(60), 0)
        job.stderr.close()
        self.assertTrue((self.folder / "done").exists())

    def test_output_that_a_full_disk_loses_is_a_failure(self) -> None:
        shell = ("sh", "-c", 'exec "$@" > /dev/full', "sh", TERNRUN, "--nproc-per-node=2", "--max-restarts=3")
        result = self.end(self.start([*shell, PROGRAM, "say", "x"]), code=1)
        self.assertIn("writing to standard output failed: No space left on device", result.stderr)
        self.assertNotIn("restart", result.stderr)

    def test_standard_streams_may_be_closed(self) -> None:
        for closed in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
            shell = ("sh", "-c", f'exec "$@" {closed}', "sh", TERNRUN, "--nproc-per-node=2")
            result = self.end(self.start([*shell, PROGRAM, "init", "sum", "complain", "x"]))
            self.assertEqual(result.stdout.count("sum 3"), 0 if " >&-" in " " + closed else 2)

    def test_log_files(self) -> None:
        actions = (PROGRAM, "say", "out", "complain", "err", "on", "1", "exit", "2", "end")
        logs = ("--nproc-per-node=2", "--log-dir=logs", "--max-restarts=1")
        result = self.ternrun(*logs, *actions, code=2)
        self.assertEqual(result.stdout, "")
        self.assertIn("its output is in logs/attempt_1/rank_1.stdout and .stderr", result.stderr)
        self.assertIn("its last lines:\n  | err\n", result.stderr)
        for attempt in (0, 1):
            folder = self.folder / "logs" / f"attempt_{attempt}"
            self.assertEqual((folder / "rank_1.stdout").read_text(), "out\n")
            self.assertEqual((folder / "rank_1.stderr").read_text(), "err\n")
        (self.folder / "file").write_text("")
        self.assertIn("--log-dir: cannot make", self.ternrun("--log-dir=file", "true", code=1).stderr)


class Kills(Base):
    def test_ranks_end_at_random_moments(self) -> None:
        """A rank is killed, ends or stops at a random moment: it is the one named, and nothing is left."""
        numbers = random.Random(5)
        for _ in range(KILLS):
            victim, end = numbers.randrange(3), numbers.choice(("kill", "exit 9", "stop"))
            with self.subTest(victim=victim, end=end):
                self.check_end(victim, end, f"{numbers.uniform(0, 0.08):.3f}")

    def check_end(self, victim: int, end: str, seconds: str) -> None:
        later = ("on", str(victim), "later", seconds, *end.split(), "end")
        code = {"kill": 137, "exit 9": 9, "stop": 1}[end]
        start = time.monotonic()
        result = self.ranks(3, *later, "init", "steps", "state", "1000000", code=code, TIMEOUT_MS="300")
        self.assertLess(time.monotonic() - start, 30)
        if end == "stop":  # then the others say so
            self.assertNotRegex(result.stderr, rf"rank {victim} .* failed first")
            self.assertRegex(result.stderr, rf"rank {victim}\b|had not come: {victim}\b")
        else:
            self.assertRegex(result.stderr, rf"ternrun: rank {victim} .* failed first")
        (self.folder / "state").unlink(missing_ok=True)

    def test_restarts_come_to_the_same_result(self) -> None:
        def result(*actions: str) -> str:
            command = (
                "--nproc-per-node=3",
                "--max-restarts=1",
                PROGRAM,
                *actions,
                "init",
                "steps",
                "state",
                "40",
            )
            output = self.ternrun(*command).stdout
            self.assert_nothing_left()
            (self.folder / "state").unlink()
            return output.splitlines()[-1]

        expected = result()
        self.assertRegex(expected, r"result 0x.* after 40")
        numbers = random.Random(6)
        for _ in range(KILLS // 4):
            victim, seconds = str(numbers.randrange(3)), f"{numbers.uniform(0, 0.1):.3f}"
            self.assertEqual(result("first", "on", victim, "later", seconds, "kill", "end", "end"), expected)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--kills"]:
        KILLS = int(sys.argv[2])
        sys.argv[1:] = ["Kills"]
    unittest.main()
