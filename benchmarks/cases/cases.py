"""What the cases of operations.py are made of; cases.h has the same words.

A case is a function that makes what is timed: tensors come into being when their case is measured, and go
with it. Where PyTorch may work in several ways, all are tried for a moment, and the fastest is the case.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Tensor = torch.Tensor
Run = Callable[[], object]
Case = Callable[[], Run]


def median_microseconds(run: Run, repeats: int = 5) -> float:
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


def fastest(cases: Sequence[Case]) -> Run:
    """Alone, the case is made and not tried."""
    if len(cases) == 1:
        return cases[0]()
    number = min(range(len(cases)), key=lambda number: median_microseconds(cases[number](), 3))
    return cases[number]()


@dataclass(frozen=True)
class Input:
    """`is_leaf`: backward computes its gradient. `is_image`: channels-last is tried too."""

    make: Callable[[], Tensor]
    is_leaf: bool = True
    is_image: bool = False

    def made(self, channels_last: bool, for_backward: bool) -> Tensor:
        x = self.make()
        if self.is_image and channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        return x.requires_grad_(for_backward and self.is_leaf)


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Input:
    return Input(lambda: torch.randn(shape, dtype=dtype))


def positive(*shape: int) -> Input:
    return Input(lambda: torch.rand(shape) + 0.5)


def image(*shape: int) -> Input:
    return Input(lambda: torch.randn(shape), is_image=True)


def target(*shape: int) -> Input:
    return Input(lambda: torch.rand(shape), is_leaf=False)


def integers(below: int, *shape: int) -> Input:
    return Input(lambda: torch.randint(0, below, shape), is_leaf=False)


def truth(value: bool, *shape: int) -> Input:
    return Input(lambda: torch.full(shape, value), is_leaf=False)


def in_layouts(case: Callable[[bool], Run], inputs: Sequence[Input]) -> Case:
    """case(channels_last), in both layouts where there are images."""
    layouts = (False, True) if any(x.is_image for x in inputs) else (False,)
    return lambda: fastest([lambda layout=layout: case(layout) for layout in layouts])


def with_backward(function: Callable[[], Tensor], leaves: Sequence[Tensor]) -> Run:
    dy = torch.randn_like(function().detach())

    def run() -> None:
        for leaf in leaves:
            leaf.grad = None
        function().backward(dy)

    return run


def forward(function: Callable[..., object], *inputs: Input) -> Case:
    def case(channels_last: bool) -> Run:
        x = [one.made(channels_last, False) for one in inputs]

        def run() -> None:
            with torch.no_grad():
                function(*x)

        return run

    return in_layouts(case, inputs)


def both(function: Callable[..., Tensor], *inputs: Input) -> Case:
    """function(*inputs) and backward to the inputs."""

    def case(channels_last: bool) -> Run:
        x = [one.made(channels_last, True) for one in inputs]
        return with_backward(lambda: function(*x), [one for one in x if one.requires_grad])

    return in_layouts(case, inputs)


def layer(make: Callable[[], nn.Module], function: Callable[..., Any], *inputs: Input) -> Case:
    """function(module, *inputs) and backward to the module's parameters and the inputs."""

    def case(channels_last: bool) -> Run:
        x = [one.made(channels_last, True) for one in inputs]
        module = make().to(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
        leaves = [*module.parameters(), *(one for one in x if one.requires_grad)]
        return with_backward(lambda: function(module, *x), leaves)

    return in_layouts(case, inputs)
