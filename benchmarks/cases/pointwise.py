import torch
from torch.nn import functional

from cases.cases import Case, both, forward, integers, normal, positive

SQUARE = (1024, 1024)


def arithmetic() -> dict[str, Case]:
    x = normal(*SQUARE)
    return {
        "add": forward(lambda a, b: a + b, x, x),
        "mul by row": forward(lambda a, b: a * b, x, normal(1024)),
        "mul by number": forward(lambda a: a * 0.5, x),
        "add_": forward(lambda a: a.add_(0.0), x),
        "add bfloat16": forward(lambda a: a + a, normal(*SQUARE, dtype=torch.bfloat16)),
        "add float16": forward(lambda a: a + a, normal(*SQUARE, dtype=torch.float16)),
        "add int64": forward(lambda a, b: a + b, integers(100, *SQUARE), integers(100, *SQUARE)),
        "add of 16": forward(lambda a, b: a + b, normal(16), normal(16)),
        "pow by number": forward(lambda a: a**2.5, positive(*SQUARE)),
        "pow": forward(lambda a, b: a**b, positive(*SQUARE), x),
        "less": forward(lambda a, b: a < b, x, x),
        "greater than number": forward(lambda a: a > 0, x),
        "equal int64": forward(lambda a, b: a == b, integers(100, *SQUARE), integers(100, *SQUARE)),
        "where": forward(lambda a, b: torch.where(a > 0, a, b), x, x),
        "mul and backward": both(lambda a, b: a * b, x, x),
    }


def functions() -> dict[str, Case]:
    x = normal(*SQUARE)
    return {
        "exp": forward(torch.exp, x),
        "tanh": forward(torch.tanh, x),
        "sigmoid": forward(torch.sigmoid, x),
        "erf": forward(torch.erf, x),
        "relu": forward(torch.relu, x),
        "leaky_relu": forward(functional.leaky_relu, x),
        "gelu": forward(functional.gelu, x),
        "silu": forward(functional.silu, x),
        "softplus": forward(functional.softplus, x),
        "dropout": forward(functional.dropout, x),
        "gelu and backward": both(functional.gelu, x),
        "silu and backward": both(functional.silu, x),
        "softplus and backward": both(functional.softplus, x),
        "dropout and backward": both(functional.dropout, x),
    }


def pointwise_cases() -> dict[str, Case]:
    return arithmetic() | functions()
