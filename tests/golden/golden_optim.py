#!/usr/bin/env python3
"""Writes optim.safetensors: steps of PyTorch's optimizers (and of Lion) on several parameters.

    python3 golden_optim.py         (PyTorch, CPU; no other package)

Run by hand, like make_golden.py. ops.safetensors has each option alone, on one float64 parameter. Here is
what needs more: groups with options of their own, gradients that are absent in some steps, learning rates
that change; each in both dtypes.
    <case>/<dtype>/step0/param<i>      the parameters at the start, counted over all groups
    <case>/<dtype>/step<k>/grad<i>     for k = 1..5, the gradients of step k; one that is not there is absent
    <case>/<dtype>/step<k>/param<i>    the parameters after step k
`__metadata__` has, under <case>, a JSON object with `optimizer`, `groups` (their number) and `lrs` (empty, or
the learning rate of all groups in each step); under <case>/group<g>, the options of that group and `size`,
the number of its parameters.
"""

import json
import zlib
from pathlib import Path

import torch

from safetensors_writer import write_safetensors

STEPS = 5
SHAPES = ((3, 5), (17,), (2, 3, 2, 2))  # with a tail behind the vectors of every instruction set
SGD = {
    "lr": 0.1,
    "momentum": 0.0,
    "dampening": 0.0,
    "weight_decay": 0.0,
    "nesterov": False,
    "maximize": False,
}
ADAMW = {
    "lr": 1e-3,
    "betas": [0.9, 0.999],
    "eps": 1e-8,
    "weight_decay": 0.01,
    "amsgrad": False,
    "maximize": False,
}
ADAM = {**ADAMW, "weight_decay": 0.0}
RMSPROP = {
    "lr": 0.01,
    "alpha": 0.99,
    "eps": 1e-8,
    "weight_decay": 0.0,
    "momentum": 0.0,
    "centered": False,
    "maximize": False,
}
ADAGRAD = {
    "lr": 0.01,
    "lr_decay": 0.0,
    "weight_decay": 0.0,
    "initial_accumulator_value": 0.0,
    "eps": 1e-10,
    "maximize": False,
}
LION = {"lr": 1e-4, "betas": [0.9, 0.99], "weight_decay": 0.0, "maximize": False}


class Lion(torch.optim.Optimizer):
    """PyTorch has none: algorithm 2 of arXiv:2302.06675."""

    def __init__(self, params: list[dict]) -> None:
        super().__init__(params, LION)

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = -p.grad if group["maximize"] else p.grad
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                direction = (beta1 * m + (1 - beta1) * g).sign()
                p -= group["lr"] * (direction + group["weight_decay"] * p)
                m.copy_(beta2 * m + (1 - beta2) * g)


OPTIMIZERS = {
    "sgd": (torch.optim.SGD, SGD),
    "adamw": (torch.optim.AdamW, ADAMW),
    "adam": (torch.optim.Adam, ADAM),
    "rmsprop": (torch.optim.RMSprop, RMSPROP),
    "adagrad": (torch.optim.Adagrad, ADAGRAD),
    "lion": (Lion, LION),
}

MOMENTUM = {"momentum": 0.9, "weight_decay": 0.02}
BETAS = {"lr": 0.01, "betas": [0.8, 0.95]}
# Each case: its groups as (number of parameters, options), the steps in which parameter 1 has no gradient,
# and the learning rates.
CASES = {
    "sgd/one_group": ([(3, MOMENTUM)], (), []),
    "sgd/dampening": ([(3, {"momentum": 0.8, "dampening": 0.4})], (), []),
    "sgd/groups": ([(1, {"lr": 0.3}), (2, {**MOMENTUM, "nesterov": True})], (), []),
    "sgd/maximize": ([(2, {**MOMENTUM, "maximize": True}), (1, {})], (), []),
    "sgd/absent": ([(3, MOMENTUM)], (1, 3), []),
    "sgd/schedule": ([(2, MOMENTUM), (1, {})], (), [0.1, 0.1, 0.02, 0.5, 0.0]),
    "adamw/one_group": ([(3, {})], (), []),
    "adamw/groups": ([(2, BETAS), (1, {"weight_decay": 0.3})], (), []),
    "adamw/amsgrad": ([(1, {**BETAS, "amsgrad": True}), (2, {"maximize": True, "eps": 1e-3})], (), []),
    "adamw/absent": ([(3, BETAS)], (1, 3), []),
    "adamw/schedule": ([(2, BETAS), (1, {})], (), [0.01, 0.02, 0.1, 0.0, 0.003]),
    "adam/one_group": ([(3, {})], (), []),
    "adam/groups": ([(2, {**BETAS, "weight_decay": 0.1}), (1, {"weight_decay": 0.3})], (), []),
    "adam/amsgrad": ([(1, {**BETAS, "amsgrad": True}), (2, {"maximize": True, "weight_decay": 0.1})], (), []),
    "adam/absent": ([(3, BETAS)], (1, 3), []),
    "rmsprop/one_group": ([(3, {})], (), []),
    "rmsprop/momentum": ([(2, {"momentum": 0.9}), (1, {"alpha": 0.8, "weight_decay": 0.1})], (), []),
    "rmsprop/centered": ([(1, {"centered": True}), (2, {"centered": True, "momentum": 0.5})], (), []),
    "rmsprop/maximize": (
        [(2, {"maximize": True, "eps": 1e-2}), (1, {})],
        (1, 3),
        [0.01, 0.01, 0.002, 0.05, 0.0],
    ),
    "adagrad/one_group": ([(3, {})], (), []),
    "adagrad/groups": ([(1, {"lr_decay": 0.1}), (2, {"weight_decay": 0.1, "maximize": True})], (), []),
    "adagrad/start": ([(3, {"initial_accumulator_value": 0.5, "lr_decay": 0.2, "eps": 1e-3})], (1, 3), []),
    "lion/one_group": ([(3, {})], (), []),
    "lion/groups": ([(2, {"lr": 0.01, "weight_decay": 0.1}), (1, {"betas": [0.5, 0.7]})], (), []),
    "lion/maximize": ([(2, {"lr": 0.01, "maximize": True, "weight_decay": 0.1}), (1, {})], (1, 3), []),
}


def run(name: str, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    sizes, absent, lrs = CASES[name]
    optimizer_class, defaults = OPTIMIZERS[name.split("/")[0]]
    torch.manual_seed(zlib.crc32(name.encode()))
    parameters = [torch.randn(shape, dtype=dtype).requires_grad_() for shape in SHAPES]
    waiting = iter(parameters)
    groups = [
        {"params": [next(waiting) for _ in range(size)], **defaults, **options} for size, options in sizes
    ]
    # What Adagrad's sums start from is the constructor's alone, not a group's.
    start = {key: groups[0][key] for key in ("initial_accumulator_value",) if key in groups[0]}
    optimizer = optimizer_class(groups, **start)
    tensors = {f"step0/param{i}": p.detach().clone() for i, p in enumerate(parameters)}
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        for group in optimizer.param_groups:
            group["lr"] = lrs[step - 1] if lrs else group["lr"]
        for i, parameter in enumerate(parameters):
            gradient = torch.randn_like(parameter)
            if not (i == 1 and step in absent):
                parameter.grad = gradient
                tensors[f"step{step}/grad{i}"] = gradient.clone()
        optimizer.step()
        tensors |= {f"step{step}/param{i}": p.detach().clone() for i, p in enumerate(parameters)}
    return tensors


def main() -> None:
    torch.set_num_threads(1)
    tensors, metadata = {}, {"torch": torch.__version__.split("+")[0]}
    for name, (sizes, _, lrs) in CASES.items():
        optimizer = name.split("/")[0]
        metadata[name] = json.dumps({"optimizer": optimizer, "groups": len(sizes), "lrs": lrs})
        for g, (size, options) in enumerate(sizes):
            metadata[f"{name}/group{g}"] = json.dumps({"size": size, **OPTIMIZERS[optimizer][1], **options})
        for dtype in (torch.float32, torch.float64):
            prefix = f"{name}/{str(dtype).removeprefix('torch.')}/"
            tensors |= {prefix + key: value for key, value in run(name, dtype).items()}
    write_safetensors(Path(__file__).resolve().parent / "optim.safetensors", tensors, metadata)


if __name__ == "__main__":
    main()
