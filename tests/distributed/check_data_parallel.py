#!/usr/bin/env python3
"""Runs the example of DataParallel with several numbers of devices and looks at the sizes it prints.

check_data_parallel.py PROGRAM
"""

import os
import subprocess
import sys
import unittest

PROGRAM = ""
BATCHES = (30, 30, 30, 10)


def parts(samples: int, devices: int) -> list[int]:
    share = -(-samples // devices)
    return [min(share, samples - begin) for begin in range(0, samples, share)]


class DataParallel(unittest.TestCase):
    def run_example(self, devices: int) -> list[str]:
        environment = {**os.environ, "TERN_CPU_DEVICES": str(devices)}
        done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=120, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def test_each_device_sees_its_share_and_the_outside_the_batch(self) -> None:
        for devices in (1, 2, 3, 8):
            lines = self.run_example(devices)
            if devices > 1:
                self.assertEqual(lines.pop(0), f"Let's use {devices} devices!")
            for samples in BATCHES:
                shares = parts(samples, devices)
                inside = [f"\tIn Model: input size [{n}, 5] output size [{n}, 2]" for n in shares]
                self.assertEqual(sorted(lines[: len(shares)]), sorted(inside))
                outside = f"Outside: input size [{samples}, 5] output size [{samples}, 2]"
                self.assertEqual(lines[len(shares)], outside)
                del lines[: len(shares) + 1]
            self.assertEqual(lines, [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
