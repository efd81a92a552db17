#!/usr/bin/env python3
"""Runs the example of ResNet-18 on a few images in CIFAR-10's format.

check_resnet18.py PROGRAM
"""

import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from check_demo import write_images

program = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    write_images(Path(folder) / "data_batch_1.bin", 48, random.Random(1))
    write_images(Path(folder) / "test_batch.bin", 10, random.Random(2))
    command = [program, "--data", folder, "--epochs", "2", "--batch-size", "16", "--lr", "0.01"]
    runs = []
    for threads, workers in (("1", "0"), ("2", "2")):
        done = subprocess.run(
            [*command, "--threads", threads, "--workers", workers],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        runs.append(re.findall(r"^epoch \d: train loss .*$", done.stdout, re.MULTILINE))
assert len(runs[0]) == 2, runs
assert runs[0] == runs[1], runs  # whatever the number of threads and workers
first, last = (float(re.search(r"loss ([\d.]+)", line)[1]) for line in runs[0])
assert last < first, runs
