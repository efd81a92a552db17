#!/usr/bin/env python3
"""The simulated cuDNN plans the graphs that the real one plans, on every device.

    check_support.py PROGRAM STAND_INS ANSWERS [--real TOOLKIT_LIBRARIES [--write]]

PROGRAM (support.cpp) runs with the stand-ins in STAND_INS; its lines must be those of ANSWERS. With --real it
runs with the real library instead, which needs no device for it: that is where ANSWERS came from, and --write
writes it anew. The driver library that the real one wants is the toolkit's own stub.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FAMILIES = "convolution fused pointwise matmul reduction resample norm rearrange attention".split()


def answers(program: str, libraries: str, families: list[str]) -> list[str]:
    environment = os.environ | {"LD_LIBRARY_PATH": libraries}
    command = [program, *families]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1500)
    if done.returncode != 0:
        print(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout.splitlines()


def real_answers(program: str, libraries: Path) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "libcuda.so.1").symlink_to(libraries / "stubs/libcuda.so")
        path = f"{folder}:{libraries}"
        return [line for family in FAMILIES for line in answers(program, path, [family])]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("stand_ins")
    parser.add_argument("answers", type=Path)
    parser.add_argument("--real", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.real:
        got = real_answers(options.program, options.real)
    else:
        got = answers(options.program, options.stand_ins, FAMILIES)
    if options.write:
        options.answers.write_text("\n".join(got) + "\n")
    expected = options.answers.read_text().splitlines()
    for line in sorted(set(expected) - set(got)):
        print(f"expected  {line}")
    for line in sorted(set(got) - set(expected)):
        print(f"got       {line}")
    print(f"{len(got)} graphs")
    return 0 if got == expected else 1


sys.exit(main())
