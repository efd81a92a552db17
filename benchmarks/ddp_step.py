#!/usr/bin/env python3
"""Times steps of DistributedDataParallel among processes of this host in PyTorch (gloo) and in Tern, in turn;
ddp_step.sh runs it.

A step is zero_grad, forward, cross entropy, backward and SGD (learning rate 0.01, momentum 0.9) of the
tutorial CNN, one thread a rank. Every round starts Tern's ranks (ddp_step.cpp), then PyTorch's, once in
row-major order and once in channels-last, for each number of ranks. A figure is the median over the rounds of
rank 0's median step; the ratio is to PyTorch's better mode.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def start_ranks(command: list[str], ranks: int) -> float:
    """Milliseconds, as rank 0 prints them."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        programs = []
        for rank in range(ranks):
            arguments = [*command, "--rank", str(rank), "--size", str(ranks), "--folder", folder]
            output = subprocess.PIPE if rank == 0 else subprocess.DEVNULL
            programs.append(subprocess.Popen(arguments, stdout=output, text=True, env=environment))
        try:
            output, _ = programs[0].communicate(timeout=600)
            if any(program.wait(60) for program in programs):
                raise SystemExit(f"a rank failed: {command}")
        finally:
            for program in programs:
                program.kill()
    return json.loads(output.strip().splitlines()[-1])["median_ms"]


def run_pytorch(options: argparse.Namespace) -> None:
    import torch
    import torch.distributed as dist
    from tutorial_cnn import tutorial_cnn

    torch.set_num_threads(1)
    store = dist.FileStore(f"{options.folder}/store", options.size)
    dist.init_process_group("gloo", store=store, rank=options.rank, world_size=options.size)
    layout = torch.channels_last if options.channels_last else torch.contiguous_format
    network = tutorial_cnn().to(memory_format=layout)
    model = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(options.batch, 3, 32, 32).contiguous(memory_format=layout)
    labels = torch.randint(0, 10, (options.batch,))
    times = []
    for _ in range(options.steps + 3):
        start = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        times.append((time.perf_counter() - start) * 1000)
    if options.rank == 0:
        print(json.dumps({"median_ms": statistics.median(times[3:])}), flush=True)
    dist.destroy_process_group()


def compare(options: argparse.Namespace, ranks: int) -> None:
    common = ["--steps", str(options.steps), "--batch", str(options.batch)]
    pytorch = [sys.executable, __file__, "--tern", "", "--one-rank", *common]
    commands = {
        "Tern": [str(options.tern), *common],
        "PyTorch": pytorch,
        "PyTorch channels-last": [*pytorch, "--channels-last"],
    }
    figures: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            figures[name].append(start_ranks(command, ranks))
    medians = {name: statistics.median(values) for name, values in figures.items()}
    ratio = min(value for name, value in medians.items() if name != "Tern") / medians["Tern"]
    texts = ", ".join(f"{name} {value:.1f} ms" for name, value in medians.items())
    print(f"ranks={ranks} batch {options.batch} each: {texts}, ratio {ratio:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tern", type=Path, required=True, help="Tern's program ddp_step")
    parser.add_argument("--ranks", type=int, action="append", help="may be given again; 2 and 4 if not")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20, help="steps a round")
    parser.add_argument("--batch", type=int, default=32, help="samples of a rank")
    for internal in ("--one-rank", "--channels-last"):
        parser.add_argument(internal, action="store_true", help=argparse.SUPPRESS)
    for internal in ("--rank", "--size"):
        parser.add_argument(internal, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_rank:
        run_pytorch(options)
        return
    for ranks in options.ranks or [2, 4]:
        compare(options, ranks)


if __name__ == "__main__":
    main()
