#!/usr/bin/env python3
"""Runs programs/faults.cu with each of its cases and checks what the simulated devices report.

check_faults.py PROGRAM
"""

import os
import re
import subprocess
import sys

# case: (environment, exit status, patterns that the output must have, in any order)
CASES = {
    "beyond": (
        {},
        66,
        [
            "out of bounds: a write of 4 bytes",
            "0 bytes behind allocation 1 .cudaMalloc of 4000 bytes",
            "fill",
            r"PTX line \d+",
            r"block \(3,0,0\), warp 7, lane 8",
            "cudaErrorIllegalAddress",
        ],
    ),
    "below": ({}, 66, ["out of bounds: a write", "nothing allocated", "lane 0"]),
    "use_after_free": ({}, 66, ["use after free", "byte 0 of allocation 1", "freed"]),
    "freed_twice": ({}, 66, ["cudaFree of 0x[0-9a-f]+, which is freed already"]),
    "host_pointer": ({}, 66, ["host memory used by a kernel"]),
    "null": ({}, 66, ["null pointer"]),
    "uninitialized": (
        {},
        66,
        ["uninitialised memory is read: a read of 4 bytes", "allocation [12]", "ld.global"],
    ),
    "read_to_host": ({}, 66, ["uninitialised memory is read in a copy"]),
    "misaligned": ({}, 66, ["misaligned address", "cudaErrorMisalignedAddress"]),
    "barrier": ({}, 66, ["a barrier that only some lanes of the warp have reached", "bar.sync"]),
    "shuffle": ({}, 66, ["member mask 0xffffffff have diverged", "shfl.sync"]),
    "beyond_shared": (
        {},
        66,
        ["out of bounds: 4 bytes at offset 128 of shared memory, which has 128", "lane 31"],
    ),
    "shared_race": (
        {},
        66,
        ["race: no barrier orders two accesses to byte", "a read by warp 0 and a write in .*shared_race"],
    ),
    "race": (
        {},
        66,
        [r"race: nothing orders .*fill.*, which writes, and .*fill.*, which writes, byte \d+ of"],
    ),
    "no_peer": ({"SIMGPU_DEVICES": "2"}, 66, ["memory of a device that is no peer", "on device 1"]),
    "dead_stream": ({}, 66, ["a stream handle is used that is no stream"]),
    "leak": ({}, 66, ["leak: allocation 1 .cudaMalloc of 100 bytes on device 0"]),
    "assert": ({}, 66, ["assertion `data == nullptr` failed at .*faults.cu", "cudaErrorAssert"]),
    "trap": ({}, 66, ["trap in .*traps", "cudaErrorLaunchFailure"]),
    "too_many_threads": ({}, 0, ["cudaErrorInvalidConfiguration cudaSuccess"]),
    "injected": ({"SIMGPU_FAIL": "cudaMalloc:2"}, 0, ["cudaSuccess\ncudaErrorMemoryAllocation\ncudaSuccess"]),
    "lost": ({"SIMGPU_FAIL": "lost:1"}, 66, ["device 0 is lost before .*fill", "cudaErrorECCUncorrectable"]),
    "host_access": ({}, -11, []),
    "missing": ({}, -6, ["cudaCreateTextureObject: the stand-in library has no such function"]),
}


def problems(program: str, case: str) -> list[str]:
    variables, status, patterns = CASES[case]
    result = subprocess.run(
        [program, case], env={**os.environ, **variables}, capture_output=True, text=True, timeout=60
    )
    output = result.stdout + result.stderr
    found = [f"no `{pattern}`" for pattern in patterns if not re.search(pattern, output)]
    if result.returncode != status:
        found.append(f"exit status {result.returncode} instead of {status}")
    return [f"{case}: {problem} in\n{output}" for problem in found]


def main() -> int:
    found = [problem for case in CASES for problem in problems(sys.argv[1], case)]
    print("\n".join([*found, f"{len(CASES)} faults, {len(found)} problems"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
