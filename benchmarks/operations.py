#!/usr/bin/env python3
"""Times single operations in PyTorch and in Tern, case by case; operations.sh runs it.

Each number of threads gets a process of its own. A round takes every case in turn: Tern's program
(operations.cpp) measures it, then PyTorch the case of the same name, both alike: the median of repeats, each
the mean of as many calls as take some milliseconds. A figure is the median over the rounds.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

import torch

from cases.cases import Case, median_microseconds
from cases.images import image_cases
from cases.indexing import copy_cases, indexing_cases
from cases.pointwise import pointwise_cases
from cases.reductions import reduction_cases
from cases.sequences import sequence_cases
from cases.training import loss_cases, training_cases

MAKERS = (
    pointwise_cases,
    reduction_cases,
    image_cases,
    sequence_cases,
    indexing_cases,
    copy_cases,
    loss_cases,
    training_cases,
)


def output_of(program: Path, *arguments: str) -> list[str]:
    return subprocess.run(
        [program, *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()


def cases_named(program: Path, only: str) -> dict[str, Case]:
    """Those whose name holds `only`; the lists of the two must be the same."""
    cases = {name: case for make in MAKERS for name, case in make().items()}
    if list(cases) != output_of(program, "--list"):
        raise SystemExit(f"the cases differ: {sorted(cases.keys() ^ set(output_of(program, '--list')))}")
    return {name: case for name, case in cases.items() if only in name}


def tern_figure(program: Path, threads: int, name: str) -> float:
    (line,) = output_of(program, "--threads", str(threads), "--only", name, "--whole")
    return json.loads(line)["microseconds"]


def libtorch_figures(program: Path, threads: int) -> dict[str, float]:
    lines = map(json.loads, output_of(program, str(threads)))
    return {line["case"]: line["microseconds"] for line in lines}


def measure_case(options: argparse.Namespace, threads: int, name: str, case: Case) -> str:
    own, other, libtorch = [], [], []
    for _ in range(options.rounds):
        own.append(tern_figure(options.tern, threads, name))
        other.append(median_microseconds(case()))
        if options.libtorch and name.startswith("MLP"):
            libtorch.append(libtorch_figures(options.libtorch, threads)[name])
    tern, pytorch = statistics.median(own), statistics.median(other)
    line = f"threads={threads} {name}: Tern {tern:.1f}, PyTorch {pytorch:.1f} us, ratio {pytorch / tern:.2f}"
    if libtorch:
        line += f"; libtorch {statistics.median(libtorch):.1f} us, {statistics.median(libtorch) / tern:.2f}"
    return line


def measure(options: argparse.Namespace, threads: int) -> None:
    torch.set_num_threads(threads)
    for name, case in cases_named(options.tern, options.only).items():
        print(measure_case(options, threads, name, case), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tern", type=Path, required=True, help="Tern's program operations")
    parser.add_argument("--libtorch", type=Path, help="the program libtorch_mlp, where there is one")
    parser.add_argument("--threads", type=int, action="append", help="may be given again; 1 and 2 if not")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    threads = options.threads or [1, 2]
    if options.in_this_process:
        measure(options, threads[0])
        return
    print(f"PyTorch {torch.__version__}, it uses {torch.backends.cpu.get_cpu_capability()}", flush=True)
    for count in threads:
        again = ["--threads", str(count), "--rounds", str(options.rounds), "--only", options.only]
        if options.libtorch:
            again += ["--libtorch", str(options.libtorch)]
        subprocess.run(
            [sys.executable, __file__, "--in-this-process", "--tern", options.tern, *again], check=True
        )


if __name__ == "__main__":
    main()
