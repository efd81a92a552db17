#!/usr/bin/env python3
"""Runs the demo on a small data set in CIFAR-10's format and looks at what it leaves.

    check_demo.py PROGRAM

The same run gives the same bytes of checkpoint with any number of threads and workers, and when it is
interrupted and resumed; its log, last line, and errors are what --help promises.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = ""
EPOCHS = 2
TRAIN_IMAGES = 200


def write_images(path: Path, count: int, numbers: random.Random) -> None:
    """Images whose class shows: each channel has the class's brightness and some noise."""
    with path.open("wb") as file:
        for _ in range(count):
            label = numbers.randrange(10)
            brightness = [label * 20, (label * 7 % 10) * 20, (label * 3 % 10) * 20]
            pixels = bytes(level + numbers.randrange(40) for level in brightness for _ in range(1024))
            file.write(bytes([label]) + pixels)


class Demo(unittest.TestCase):
    def setUp(self) -> None:
        # Held by the test case until its tear-down.
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)
        numbers = random.Random(1)
        write_images(self.folder / "data_batch_1.bin", TRAIN_IMAGES // 2, numbers)
        write_images(self.folder / "data_batch_2.bin", TRAIN_IMAGES // 2, numbers)
        write_images(self.folder / "test_batch.bin", 50, numbers)

    def run_demo(self, *arguments: str, code: int = 0, **settings: str) -> str:
        command = [PROGRAM, "--data", self.temporary.name, "--batch-size", "32", *arguments]
        environment = {**os.environ, **settings}
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def checkpoint(self, name: str, *arguments: str) -> bytes:
        path = self.folder / name
        self.run_demo("--checkpoint", str(path), *arguments)
        return path.read_bytes()

    def test_equal_runs_give_equal_bytes(self) -> None:
        epochs = ("--epochs", str(EPOCHS))
        first = self.checkpoint("first", *epochs, "--threads", "1", "--workers", "0")
        for threads, workers in (("1", "1"), ("2", "0"), ("2", "3"), ("3", "1")):
            again = self.checkpoint("again", *epochs, "--threads", threads, "--workers", workers)
            self.assertEqual(first, again, f"{threads} threads and {workers} workers")
        other = self.checkpoint("other", *epochs, "--seed", "1")
        self.assertNotEqual(first, other)
        start = self.checkpoint("start", "--epochs", "1", "--workers", "1")
        self.assertNotEqual(first, start)
        resumed = self.checkpoint("resumed", *epochs, "--resume", str(self.folder / "start"))
        self.assertEqual(first, resumed)

    def test_log_and_last_line(self) -> None:
        log = self.folder / "log.jsonl"
        output = self.run_demo("--epochs", str(EPOCHS), "--log", str(log))
        self.assertRegex(output.splitlines()[-1], r"^test accuracy [01]\.\d{4}$")
        self.assertNotIn("\r", output)
        epochs = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([epoch["epoch"] for epoch in epochs], [1, 2])
        names = {"epoch", "train_loss", "test_accuracy", "images_per_second", "seconds"}
        for epoch in epochs:
            self.assertEqual(set(epoch), names)
            self.assertGreater(epoch["images_per_second"], 0)
        self.assertLess(epochs[1]["train_loss"], epochs[0]["train_loss"])
        self.assertIn(f"{epochs[1]['test_accuracy']:.4f}", output.splitlines()[-1])

    def test_errors_name_the_file(self) -> None:
        self.assertIn("nowhere", self.run_demo("--resume", "nowhere", code=1))
        unwritable = str(self.folder / "no" / "folder")
        output = self.run_demo("--epochs", "1", "--checkpoint", unwritable, code=1)
        self.assertIn(unwritable, output)
        self.assertNotIn("epoch 1", output)
        damaged = self.folder / "data_batch_2.bin"
        damaged.write_bytes(damaged.read_bytes()[:-1])
        self.assertIn("data_batch_2.bin", self.run_demo("--epochs", "1", code=1))

    def test_other_settings_do_not_resume(self) -> None:
        path = self.folder / "checkpoint"
        self.run_demo("--epochs", "1", "--checkpoint", str(path))
        error = self.run_demo("--epochs", "2", "--resume", str(path), "--lr", "0.5", code=1)
        self.assertIn("lr", error)

    def test_small_settings_are_told_apart(self) -> None:
        path = self.folder / "checkpoint"
        self.run_demo("--epochs", "1", "--lr", "1e-7", "--checkpoint", str(path))
        error = self.run_demo("--epochs", "2", "--resume", str(path), "--lr", "2e-7", code=1)
        self.assertIn("lr was 1e-07, is now 2e-07", error)
        self.run_demo("--epochs", "2", "--resume", str(path), "--lr", "0.0000001")

    def test_bad_numbers_are_refused_in_a_line(self) -> None:
        for option, value in (
            ("--seed", "-1"),
            ("--seed", "18446744073709551616"),
            ("--seed", "1.5"),
            ("--lr", "-0.1"),
            ("--lr", "nan"),
            ("--lr", "inf"),
            ("--momentum", "-1"),
            ("--epochs", "0"),
            ("--epochs", "99999999999"),
            ("--batch-size", "-5"),
            ("--workers", "-1"),
            ("--threads", "0"),
            ("--threads", "1025"),
        ):
            command = [PROGRAM, "--data", self.temporary.name, f"{option}={value}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            self.assertGreater(done.returncode, 0, f"{option} {value}")
            self.assertIn(option, done.stderr)
            self.assertIn(value, done.stderr)
            self.assertLess(len(done.stderr), 200)
        self.run_demo("--epochs", "1", "--seed", "18446744073709551615")

    def test_a_bad_environment_is_an_error(self) -> None:
        self.assertIn(
            "error: TERN_NUM_THREADS", self.run_demo("--epochs", "1", code=1, TERN_NUM_THREADS="none")
        )

    def test_a_full_standard_output_is_an_error(self) -> None:
        for arguments in (("--epochs", "1"), ("--help",)):
            with open("/dev/full", "w", encoding="utf-8") as full:
                command = [PROGRAM, "--data", self.temporary.name, *arguments]
                done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
            self.assertEqual(done.returncode, 1)
            self.assertIn("error: standard output cannot be written: No space left", done.stderr)

    def test_a_loss_that_is_not_finite_stops_the_run(self) -> None:
        path = self.folder / "checkpoint"
        error = self.run_demo("--epochs", "3", "--lr", "1e30", "--checkpoint", str(path), code=1)
        self.assertRegex(error, r"error: training: the loss is -?(nan|inf) in epoch 1, step \d+")

    def test_it_is_short_enough_to_copy(self) -> None:
        source = Path(__file__).resolve().parents[2] / "examples" / "cifar10.cpp"
        self.assertLessEqual(len(source.read_text().splitlines()), 170)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
