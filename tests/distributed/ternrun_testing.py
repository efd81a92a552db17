"""What the tests of ternrun and of ranks have in common: starting processes, and finding those left behind.

A test's script gets TERNRUN RANK_PROGRAM as its first arguments; the rest is unittest's.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TERNRUN, PROGRAM = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
MARK = "TERN_TEST_MARK"
Result = subprocess.CompletedProcess


def free_port() -> int:
    """A port that nobody listens at, below those that the system gives to connections."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Base(unittest.TestCase):
    """Each test's processes carry a variable of their own, by which those left behind are found."""

    def setUp(self) -> None:
        self.mark = f"{os.getpid()}-{self.id()}"
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)

    def environment(self, **settings: str) -> dict[str, str]:
        names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
        base = {name: value for name, value in os.environ.items() if name not in names}
        return {**base, MARK: self.mark, **settings}

    def start(self, command: list[str], **settings: str) -> subprocess.Popen:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, env=self.environment(**settings), cwd=self.folder
        )

    def start_ternrun(self, *arguments: str, **settings: str) -> subprocess.Popen:
        return self.start([TERNRUN, *arguments], **settings)

    def end(self, process: subprocess.Popen, code: int | None = 0, seconds: float = 60) -> Result:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate()
            self.fail(f"{process.args} hangs\n{out}{err}")
        if code is not None:
            self.assertEqual(process.returncode, code, out + err)
        return Result(process.args, process.returncode, out, err)

    def ternrun(self, *arguments: str, code: int | None = 0, **settings: str) -> Result:
        return self.end(self.start_ternrun(*arguments, **settings), code)

    def ranks(self, count: int, *actions: str, code: int | None = 0, **settings: str) -> Result:
        result = self.ternrun("--nproc-per-node", str(count), PROGRAM, *actions, code=code, **settings)
        self.assert_nothing_left()
        return result

    def left(self) -> list[int]:
        """Living processes with this test's mark."""
        found = []
        needle = f"{MARK}={self.mark}".encode()
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                if needle in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def assert_nothing_left(self, seconds: float = 0) -> None:
        end = time.monotonic() + seconds
        while (left := self.left()) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(left, [])

    def inner(self, job: subprocess.Popen) -> int:
        """The inner one of ternrun's two processes."""
        return int(Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()[0])

    def wait_for_line(self, process: subprocess.Popen, text: str) -> None:
        for line in process.stdout:
            if text in line:
                return
        self.fail(f"{text} did not come: {process.stderr.read()}")
