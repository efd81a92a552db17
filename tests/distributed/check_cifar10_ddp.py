#!/usr/bin/env python3
"""Runs the example of data-parallel training by ternrun on a small data set in CIFAR-10's format.

    check_cifar10_ddp.py TERNRUN PROGRAM

Two processes do what one does with twice the batch; a killed rank, with restarts, changes no byte.
"""

import json
import os
import random
import signal
import sys
import unittest
from pathlib import Path

from ternrun_testing import PROGRAM, Base

sys.path.append(str(Path(__file__).resolve().parents[1] / "train"))
from check_demo import write_images  # pylint: disable=wrong-import-position

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Example(Base):
    def setUp(self) -> None:
        super().setUp()
        numbers = random.Random(1)
        for name, count in (("data_batch_1.bin", 100), ("data_batch_2.bin", 100), ("test_batch.bin", 51)):
            write_images(self.folder / name, count, numbers)

    def command(self, ranks: int, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
        return ["--nproc-per-node", str(ranks), *options, PROGRAM, "--data", ".", *arguments]

    def epochs(self, name: str) -> list[dict[str, float]]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def test_two_processes_are_one_with_twice_the_batch(self) -> None:
        for ranks in (1, 2):
            arguments = ("--batch-size", str(32 // ranks), "--log", f"log{ranks}", "--epochs", "2")
            self.ternrun(*self.command(ranks, *arguments))
        for one, two in zip(self.epochs("log1"), self.epochs("log2"), strict=True):
            self.assertAlmostEqual(one["train_loss"], two["train_loss"], delta=1e-4)
            self.assertAlmostEqual(one["test_accuracy"], two["test_accuracy"], delta=1.01 / 51)

    def test_only_rank_0_speaks(self) -> None:
        arguments = ("--epochs", "2", "--checkpoint", "run", "--log", "log")
        result = self.ternrun(*self.command(2, *arguments, options=("--pass-local-rank",)))
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 3, lines)
        self.assertRegex(lines[-1], r"^\[rank 0\] test accuracy [01]\.\d{4}$")
        epochs = self.epochs("log")
        self.assertEqual([epoch["epoch"] for epoch in epochs], [1, 2])
        hits = epochs[1]["test_accuracy"] * 51
        self.assertAlmostEqual(hits, round(hits), places=9)

    def test_a_killed_rank_changes_no_byte(self) -> None:
        arguments = ("--batch-size", "16", "--epochs", "6", "--checkpoint")
        self.ternrun(*self.command(2, *arguments, "calm"))
        job = self.start_ternrun(*self.command(2, *arguments, "killed", options=("--max-restarts", "1")))
        self.wait_for_line(job, "epoch 2: ")
        for pid in self.left():
            if b"\0RANK=1\0" in Path(f"/proc/{pid}/environ").read_bytes():
                os.kill(pid, signal.SIGKILL)
        result = self.end(job)
        self.assertIn("SIGKILL", result.stderr)
        self.assertEqual((self.folder / "calm").read_bytes(), (self.folder / "killed").read_bytes())
        self.assert_nothing_left()

    def test_what_is_new_shows_at_a_glance(self) -> None:
        alone, together = (
            len((EXAMPLES / name).read_text().splitlines()) for name in ("cifar10.cpp", "cifar10_ddp.cpp")
        )
        self.assertLessEqual(together - alone, 16)


if __name__ == "__main__":
    unittest.main()
