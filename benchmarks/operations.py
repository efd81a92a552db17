#!/usr/bin/env python3
"""Times single operations in PyTorch and in Tern, in turn; operations.sh runs it.

Each number of threads gets a process of its own. Every round runs Tern's program (operations.cpp), then
PyTorch's cases of the same names, both measured alike: the median of repeats, each the mean of as many calls
as take some milliseconds. A figure is the median over the rounds.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn, randn
from torch.nn import functional

Tensor = torch.Tensor
Case = Callable[[], object]


def median_microseconds(run: Case, repeats: int = 5) -> float:
    def seconds(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            run()
        return time.perf_counter() - start

    run()
    calls = 1
    while seconds(calls) < 0.005 and calls < 1 << 20:
        calls *= 2
    return statistics.median(seconds(calls) / calls * 1e6 for _ in range(repeats))


def forward(function: Case) -> Case:
    def run() -> None:
        with torch.no_grad():
            function()

    return run


def both(leaves: list[Tensor], function: Callable[[], Tensor]) -> Case:
    """Forward and backward to `leaves`."""
    for leaf in leaves:
        leaf.requires_grad_()
    dy = torch.randn_like(function().detach())

    def run() -> None:
        for leaf in leaves:
            leaf.grad = None
        function().backward(dy)

    return run


def pointwise_cases() -> dict[str, Case]:
    a, b, row = randn(1024, 1024), randn(1024, 1024), randn(1024)
    half, x, small = a.bfloat16(), randn(1024, 1024), randn(16)
    return {
        "add": forward(lambda: a + b),
        "mul by row": forward(lambda: a * row),
        "mul by number": forward(lambda: a * 0.5),
        "add_": forward(lambda: a.add_(0.0)),
        "exp": forward(lambda: torch.exp(a)),
        "tanh": forward(lambda: torch.tanh(a)),
        "sigmoid": forward(lambda: torch.sigmoid(a)),
        "relu": forward(lambda: torch.relu(a)),
        "gelu": forward(lambda: functional.gelu(a)),
        "where": forward(lambda: torch.where(a > 0, a, b)),
        "add bfloat16": forward(lambda: half + half),
        "gelu and backward": both([x], lambda: functional.gelu(x)),
        "add of 16": forward(lambda: small + small),
        "transposed copy": forward(lambda: a.t().contiguous()),
    }


def reduction_cases() -> dict[str, Case]:
    x = randn(1024, 1024)
    return {
        "sum": forward(lambda: x.sum()),
        "sum of rows": forward(lambda: x.sum(1)),
        "sum of columns": forward(lambda: x.sum(0)),
        "mean": forward(lambda: x.mean()),
        "var of rows": forward(lambda: x.var(1)),
        "max of rows": forward(lambda: x.amax(1)),
        "argmax of rows": forward(lambda: x.argmax(1)),
        "norm": forward(lambda: torch.linalg.vector_norm(x)),
    }


def layer_cases() -> dict[str, Case]:
    logits, target = randn(512, 1000), torch.randint(0, 1000, (512,))
    m, x, linear = randn(512, 512), randn(128, 512), nn.Linear(512, 512)
    lstm, sequence = nn.LSTM(128, 256), randn(32, 64, 128, requires_grad=True)
    return {
        "softmax": forward(lambda: torch.softmax(logits, 1)),
        "log_softmax": forward(lambda: torch.log_softmax(logits, 1)),
        "cross_entropy and backward": both([logits], lambda: functional.cross_entropy(logits, target)),
        "matmul": forward(lambda: m @ m),
        "linear and backward": both([x, *linear.parameters()], lambda: linear(x)),
        "LSTM and backward": both(list(lstm.parameters()), lambda: lstm(sequence)[0]),
    }


def optimizer_cases() -> dict[str, Case]:
    parameters = [randn(100_000, requires_grad=True) for _ in range(20)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    sgd = torch.optim.SGD(parameters, lr=1e-6, momentum=0.9)
    adamw = torch.optim.AdamW(parameters, lr=1e-6)
    fused = torch.optim.AdamW(parameters, lr=1e-6, fused=True)
    best = min((adamw, fused), key=lambda optimizer: median_microseconds(optimizer.step, 1))
    return {"SGD step": sgd.step, "AdamW step": best.step}


def network_cases() -> dict[str, Case]:
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, target = randn(16, 16), torch.randint(0, 16, (16,))

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(model(x), target).backward()
        optimizer.step()

    return {"MLP 16-16-16 step": step}


def tern_figures(program: Path, threads: int, only: str) -> dict[str, float]:
    command = [program, "--threads", str(threads), "--only", only]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line["case"]: line["microseconds"] for line in map(json.loads, output.splitlines())}


def measure(program: Path, threads: int, rounds: int, only: str) -> None:
    torch.set_num_threads(threads)
    makers = (pointwise_cases, reduction_cases, layer_cases, optimizer_cases, network_cases)
    cases = {name: run for make in makers for name, run in make().items() if only in name}
    tern: dict[str, list[float]] = {name: [] for name in cases}
    pytorch: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        figures = tern_figures(program, threads, only)
        if figures.keys() != cases.keys():
            raise SystemExit(f"the cases differ: {figures.keys() ^ cases.keys()}")
        for name, run in cases.items():
            tern[name].append(figures[name])
            pytorch[name].append(median_microseconds(run))
    for name in cases:
        own, other = statistics.median(tern[name]), statistics.median(pytorch[name])
        print(
            f"threads={threads} {name}: Tern {own:.1f}, PyTorch {other:.1f} us, ratio {other / own:.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tern", type=Path, required=True, help="Tern's program operations")
    parser.add_argument("--threads", type=int, action="append", help="may be given again; 1 and 2 if not")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    threads = options.threads or [1, 2]
    if options.in_this_process:
        measure(options.tern, threads[0], options.rounds, options.only)
        return
    print(f"PyTorch {torch.__version__}, it uses {torch.backends.cpu.get_cpu_capability()}", flush=True)
    for count in threads:
        again = ["--threads", str(count), "--rounds", str(options.rounds), "--only", options.only]
        subprocess.run(
            [sys.executable, __file__, "--in-this-process", "--tern", options.tern, *again], check=True
        )


if __name__ == "__main__":
    main()
