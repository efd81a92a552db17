#!/usr/bin/env python3
"""Times all_reduce among processes of this host in PyTorch (gloo) and in Tern, in turn; allreduce.sh runs it.

Every round starts Tern's ranks (allreduce.cpp), then PyTorch's, for each number of ranks. Both are measured
alike on rank 0: the median of repeats, each the mean of as many calls as take a tenth of a second. A figure
is the median over the rounds. TERN_DISTRIBUTED_SHARED_MEMORY=0 in the environment compares the network path.
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

SIZES = [1000, 4096, 16384, 65536, 262144, 1_000_000, 4_000_000, 25_000_000, 100_000_000]


def start_ranks(command: list[str], ranks: int) -> dict[int, float]:
    """Microseconds for each size, as rank 0 prints them."""
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
    return {line["bytes"]: line["microseconds"] for line in map(json.loads, output.splitlines())}


def run_pytorch(options: argparse.Namespace) -> None:
    import torch
    import torch.distributed as dist

    store = dist.FileStore(f"{options.folder}/store", options.size)
    dist.init_process_group("gloo", store=store, rank=options.rank, world_size=options.size)

    def seconds(x: torch.Tensor, calls: int) -> float:
        dist.barrier()
        start = time.perf_counter()
        for _ in range(calls):
            dist.all_reduce(x)
        return time.perf_counter() - start

    for size in options.bytes:
        x = torch.zeros(size // 4)
        seconds(x, 3)
        calls = torch.tensor([max(1.0, options.budget / (seconds(x, 3) / 3))])
        dist.broadcast(calls, 0)
        count = int(calls.item())
        times = [seconds(x, count) / count for _ in range(options.repeats)]
        if options.rank == 0:
            print(json.dumps({"bytes": size, "microseconds": statistics.median(times) * 1e6}), flush=True)
    dist.destroy_process_group()


def compare(options: argparse.Namespace, ranks: int) -> None:
    sizes = [part for size in options.bytes for part in ("--bytes", str(size))]
    common = [*sizes, "--repeats", str(options.repeats), "--budget", str(options.budget)]
    tern, pytorch = [], []
    for _ in range(options.rounds):
        tern.append(start_ranks([str(options.tern), *common], ranks))
        pytorch.append(start_ranks([sys.executable, __file__, "--tern", "", "--one-rank", *common], ranks))
    for size in options.bytes:
        own = statistics.median(figures[size] for figures in tern)
        other = statistics.median(figures[size] for figures in pytorch)
        print(
            f"ranks={ranks} {size} bytes: Tern {own:.1f}, PyTorch {other:.1f} us, ratio {other / own:.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tern", type=Path, required=True, help="Tern's program allreduce")
    parser.add_argument("--ranks", type=int, action="append", help="may be given again; 2 and 4 if not")
    parser.add_argument(
        "--bytes", type=int, action="append", help="may be given again; 1 KB to 100 MB if not"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=0.1)
    parser.add_argument("--one-rank", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.bytes = options.bytes or SIZES
    if options.one_rank:
        run_pytorch(options)
        return
    for ranks in options.ranks or [2, 4]:
        compare(options, ranks)


if __name__ == "__main__":
    main()
