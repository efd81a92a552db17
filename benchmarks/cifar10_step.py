#!/usr/bin/env python3
"""Times a training step of the tutorial CNN in PyTorch and in Tern, in turn; cifar10_step.sh runs it.

A step is zero_grad, forward, cross entropy, backward and SGD (learning rate 0.01, momentum 0.9) on a batch of
128. Each number of threads gets a process of its own. In it PyTorch's modes are warmed up, then every round
runs Tern's program (which warms up by itself) and each mode; a figure is the median over the rounds of a
round's median step. Tern's program is called as `cifar10_step --threads N --steps K` and prints a JSON object
with median_ms as its last line.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from tutorial_cnn import tutorial_cnn

MODES = ("eager", "channels-last", "channels-last + compile")
BATCH = 128


def training_step(mode: str) -> Callable[[], None]:
    torch.manual_seed(0)
    model, images = tutorial_cnn(), torch.randn(BATCH, 3, 32, 32)
    labels = torch.randint(0, 10, (BATCH,))
    if mode != "eager":
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    run = torch.compile(model) if "compile" in mode else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_function = torch.nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        loss_function(run(images), labels).backward()
        optimizer.step()

    return step


def median_ms(step: Callable[[], None], steps: int) -> float:
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def warmed_up_modes() -> dict[str, Callable[[], None]]:
    """The modes that work here: torch.compile needs a C++ compiler."""
    steps = {}
    for mode in MODES:
        try:
            step = training_step(mode)
            median_ms(step, 3)
            steps[mode] = step
        except Exception as error:
            print(f"PyTorch {mode}: left out, {str(error).strip().splitlines()[0]}", flush=True)
    return steps


def tern_ms(program: Path, threads: int, steps: int) -> float:
    command = [program, "--threads", str(threads), "--steps", str(steps)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.strip().splitlines()[-1])["median_ms"]


def measure(program: Path, threads: int, rounds: int, steps: int) -> None:
    torch.set_num_threads(threads)
    modes = warmed_up_modes()
    figures: dict[str, list[float]] = {"Tern": [], **{mode: [] for mode in modes}}
    for _ in range(rounds):
        figures["Tern"].append(tern_ms(program, threads, steps))
        for mode, step in modes.items():
            step()
            figures[mode].append(median_ms(step, steps))
    medians = {name: statistics.median(values) for name, values in figures.items()}
    best = min(modes, key=medians.__getitem__)
    for name, values in figures.items():
        note = " (best)" if name == best else ""
        times = " ".join(f"{value:.1f}" for value in values)
        print(f"threads={threads} {name}{note}: {medians[name]:.1f} ms a step; rounds {times}")
    print(f"threads={threads} ratio {medians[best] / medians['Tern']:.2f}", flush=True)


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tern", type=Path, required=True, help="Tern's program cifar10_step")
    parser.add_argument(
        "--threads", type=int, action="append", help="may be given again; 1 and 2 if not given"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8, help="steps a round")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    threads = options.threads or [1, 2]
    if options.in_this_process:
        measure(options.tern, threads[0], options.rounds, options.steps)
        return
    capability = torch.backends.cpu.get_cpu_capability()
    print(
        f"PyTorch {torch.__version__}, {cpu_name()}, {os.cpu_count()} CPUs, PyTorch uses {capability}",
        flush=True,
    )
    for count in threads:
        again = ["--threads", str(count), "--rounds", str(options.rounds), "--steps", str(options.steps)]
        subprocess.run(
            [sys.executable, __file__, "--in-this-process", "--tern", options.tern, *again], check=True
        )


if __name__ == "__main__":
    main()
