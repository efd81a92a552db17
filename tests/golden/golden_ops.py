"""Golden values of single operations and optimizers, all in float64: what ops.safetensors holds.

Cases of operations are described in golden_cases.py. An optimizer's case:
    <optimizer>/<case>/step0/param     the parameter at the start
    <optimizer>/<case>/step<k>/grad    for k = 1..5, the gradient that leads from step k - 1 to step k
    <optimizer>/<case>/step<k>/param   the parameter after it
`__metadata__` also has, under `promotion`, a JSON object with the result type of adding two tensors of the
types `<a>+<b>`.
"""

import json
from itertools import product

import torch
from torch.nn import functional

from golden_cases import Golden, finished, randn

Tensor = torch.Tensor


def pointwise(golden: Golden) -> None:
    shapes = {
        "same": ((2, 3), (2, 3)),
        "row": ((4, 5), (5,)),
        "column": ((4, 5), (4, 1)),
        "scalar": ((2, 3), ()),
        "outer": ((3, 1), (1, 4)),
        "channel": ((2, 3, 4, 4), (3, 1, 1)),
        "left": ((5,), (2, 1, 5)),
    }
    for (op, function), (case, (a, b)) in product(
        {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}.items(), shapes.items()
    ):
        x, y = randn(f"{op} a", *a), randn(f"{op} b", *b)
        if op == "div":
            y = torch.where(y < 0, y - 0.5, y + 0.5)
        golden.case(f"{op}/{case}", function, [x, y])
    for op, (case, (a, b)) in product(("eq", "ne", "lt", "le", "gt", "ge"), shapes.items()):
        x, y = randn("compare a", *a).round(), randn("compare b", *b).round()
        golden.case(f"{op}/{case}", getattr(torch, op), [x, y])
    x = torch.cat([randn("unary", 29), torch.tensor([0.0, 3.0, -3.0, 8.5, -20.0], dtype=torch.float64)])
    for op in ("neg", "exp", "tanh", "relu"):
        golden.case(f"{op}/vector", getattr(torch, op), [x])
    for op in ("log", "sqrt", "rsqrt", "log1p"):
        golden.case(f"{op}/vector", getattr(torch, op), [randn("unary", 34).abs() + 0.05])
    halves = torch.arange(-8, 9, dtype=torch.float64) / 4
    for op in ("abs", "sign", "square", "sin", "cos", "expm1", "erf", "round", "floor", "ceil", "sigmoid"):
        golden.case(f"{op}/vector", getattr(torch, op), [torch.cat([x, halves])])
    golden.case("reciprocal/vector", torch.reciprocal, [x + (x == 0)])
    for case, bounds in {
        "both": (-0.5, 1.0),
        "low": (0.0, None),
        "high": (None, 0.25),
        "empty": (1.0, -1.0),
    }.items():
        low, high = bounds
        golden.case(
            f"clamp/{case}", lambda t: torch.clamp(t, low, high), [torch.cat([x, halves])], low=low, high=high
        )


def activations(golden: Golden) -> None:
    x = torch.cat(
        [randn("activation", 29), torch.tensor([0.0, 3.0, -3.0, 8.5, -20.0, 25.0], dtype=torch.float64)]
    )
    cases = {
        "leaky_relu/default": (functional.leaky_relu, {"negative_slope": 0.01}),
        "leaky_relu/steep": (functional.leaky_relu, {"negative_slope": 0.3}),
        "elu/default": (functional.elu, {"alpha": 1.0}),
        "elu/alpha": (functional.elu, {"alpha": 0.4}),
        "gelu/none": (functional.gelu, {"approximate": "none"}),
        "gelu/tanh": (functional.gelu, {"approximate": "tanh"}),
        "silu/default": (functional.silu, {}),
        "softplus/default": (functional.softplus, {"beta": 1.0, "threshold": 20.0}),
        "softplus/beta": (functional.softplus, {"beta": 3.0, "threshold": 2.0}),
    }
    for name, (function, options) in cases.items():
        golden.case(name, lambda t: function(t, **options), [x], **options)


def powers_and_choices(golden: Golden) -> None:
    x = randn("power", 3, 5)
    for exponent in (0.0, 0.5, 1.0, 2.0, 3.0, -1.5):
        base = x if exponent == int(exponent) else x.abs() + 0.1
        golden.case(f"pow/number_{exponent}", lambda t: torch.pow(t, exponent), [base], exponent=exponent)
    golden.case("pow/tensors", torch.pow, [x.abs() + 0.1, randn("exponent", 5)])
    zeros = torch.tensor([0.0, 0.0, 2.0, 0.0], dtype=torch.float64)
    golden.case("pow/zeros", torch.pow, [zeros, torch.tensor([0.0, 2.0, 0.0, 1.0], dtype=torch.float64)])
    for op, (case, (a, b)) in product(
        ("maximum", "minimum"),
        {"same": ((4, 5), (4, 5)), "row": ((4, 5), (5,)), "outer": ((3, 1), (1, 4))}.items(),
    ):
        golden.case(f"{op}/{case}", getattr(torch, op), [randn(f"{op} a", *a), randn(f"{op} b", *b)])
        golden.case(
            f"{op}/{case}_ties", getattr(torch, op), [randn("tie a", *a).round(), randn("tie b", *b).round()]
        )
    for case, (c, a, b) in {
        "same": ((4, 5), (4, 5), (4, 5)),
        "mixed": ((4, 1), (5,), (2, 1, 5)),
        "condition_last": ((2, 3, 4), (3, 1), ()),
    }.items():
        condition = randn("condition", *c) > 0
        golden.case(f"where/{case}", torch.where, [condition, randn("where a", *a), randn("where b", *b)])
    for op in ("logical_and", "logical_or", "logical_xor"):
        golden.case(
            f"{op}/row", getattr(torch, op), [randn("logic a", 4, 5).round(), randn("logic b", 5).round()]
        )
    golden.case("logical_not/matrix", torch.logical_not, [randn("logic a", 4, 5).round()])
    mask = randn("mask", 5) > 0
    golden.case(
        "masked_fill/row", lambda t, m: t.masked_fill(m, -3.5), [randn("masked", 4, 5), mask], value=-3.5
    )


def reductions(golden: Golden) -> None:
    x = randn("reduce", 3, 4, 5)
    for dims, keepdim in product((None, [0], [1], [-1], [0, 2], [1, 2], [0, 1, 2]), (False, True)):
        suffix = ("all" if dims is None else "dims_" + "_".join(map(str, dims))) + (
            "_keep" if keepdim else ""
        )
        golden.case(f"sum/{suffix}", lambda t: torch.sum(t, dims, keepdim), [x], dims=dims, keepdim=keepdim)
        golden.case(f"mean/{suffix}", lambda t: torch.mean(t, dims, keepdim), [x], dims=dims, keepdim=keepdim)
    golden.case("max/all", torch.max, [x], dims=None, keepdim=False)
    golden.case("argmax/all", torch.argmax, [x], dims=None, keepdim=False)
    ties = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, -1.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    for (case, values), dim, keepdim in product({"": x, "ties_": ties}.items(), (0, 1, -1), (False, True)):
        suffix = f"{case}dims_{dim}" + ("_keep" if keepdim else "")
        maximum = lambda t: tuple(torch.max(t, dim, keepdim))
        golden.case(f"max/{suffix}", maximum, [values], dims=[dim], keepdim=keepdim)
        golden.case(
            f"argmax/{suffix}", lambda t: torch.argmax(t, dim, keepdim), [values], dims=[dim], keepdim=keepdim
        )


def statistics(golden: Golden) -> None:
    x = randn("statistics", 3, 4, 5)
    for dims, keepdim in product(([0], [-1], [0, 2], [0, 1, 2]), (False, True)):
        suffix = "dims_" + "_".join(map(str, dims)) + ("_keep" if keepdim else "")
        options = {"dims": dims, "keepdim": keepdim}
        for correction in (0, 1):
            for op in ("var", "std"):
                function = lambda t: getattr(torch, op)(t, dims, correction=correction, keepdim=keepdim)
                name = "stddev" if op == "std" else op
                golden.case(f"{name}/{suffix}_{correction}", function, [x], **options, correction=correction)
        for p in (1.0, 2.0, 3.0, 0.5, float("inf")):
            function = lambda t: torch.linalg.vector_norm(t, p, dims, keepdim)
            golden.case(f"norm/{suffix}_{p}", function, [x], **options, p=str(p))
        for op in ("logsumexp", "amax", "amin"):
            golden.case(f"{op}/{suffix}", lambda t: getattr(torch, op)(t, dims, keepdim), [x], **options)
    large = torch.tensor([[1e3, 1e3 - 1, -5e2], [-1e3, -1e3, -1e3]], dtype=torch.float64)
    golden.case("logsumexp/large", lambda t: torch.logsumexp(t, 1), [large], dims=[1], keepdim=False)
    ties = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], dtype=torch.float64)
    golden.case("amax/ties", lambda t: torch.amax(t, [1], False), [ties], dims=[1], keepdim=False)


def products(golden: Golden) -> None:
    shapes = {
        "2d": ((3, 4), (4, 5)),
        "2d_odd": ((17, 9), (9, 13)),
        "2d_inner_1": ((4, 1), (1, 3)),
        "vector_vector": ((7,), (7,)),
        "matrix_vector": ((3, 4), (4,)),
        "vector_matrix": ((4,), (4, 3)),
        "batched": ((2, 3, 4), (2, 4, 5)),
        "batched_times_matrix": ((2, 3, 4), (4, 5)),
        "matrix_times_batched": ((3, 4), (2, 4, 5)),
        "batched_times_vector": ((2, 3, 4), (4,)),
        "vector_times_batched": ((4,), (2, 4, 5)),
        "batch_broadcast": ((2, 1, 3, 4), (5, 4, 2)),
    }
    for case, (a, b) in shapes.items():
        golden.case(f"matmul/{case}", torch.matmul, [randn("matmul a", *a), randn("matmul b", *b)])
    weight, bias = randn("linear weight", 6, 5), randn("linear bias", 6)
    for case, shape in {"1d": (5,), "2d": (4, 5), "3d": (2, 3, 5)}.items():
        x = randn("linear", *shape)
        golden.case(f"linear/{case}", functional.linear, [x, weight, bias], bias=True)
        golden.case(f"linear/{case}_no_bias", functional.linear, [x, weight], bias=False)


def convolutions(golden: Golden) -> None:
    # case: (N, C, H, W), (output channels, KH, KW), stride, padding, dilation, groups, bias
    cases = {
        "3x3_pad1": ((2, 3, 6, 5), (8, 3, 3), (1, 1), (1, 1), (1, 1), 1, True),
        "3x3_pad1_no_bias": ((2, 3, 6, 5), (8, 3, 3), (1, 1), (1, 1), (1, 1), 1, False),
        "3x3_valid": ((1, 4, 7, 7), (5, 3, 3), (1, 1), (0, 0), (1, 1), 1, True),
        "3x3_wide_channels": ((1, 16, 5, 5), (17, 3, 3), (1, 1), (1, 1), (1, 1), 1, True),
        "1x1": ((2, 5, 4, 4), (7, 1, 1), (1, 1), (0, 0), (1, 1), 1, True),
        "1x1_stride2": ((2, 4, 5, 5), (6, 1, 1), (2, 2), (0, 0), (1, 1), 1, False),
        "3x3_stride2": ((2, 4, 8, 7), (4, 3, 3), (2, 2), (1, 1), (1, 1), 1, True),
        "7x7_stride2_pad3": ((1, 3, 15, 14), (4, 7, 7), (2, 2), (3, 3), (1, 1), 1, False),
        "5x5_pad2": ((1, 2, 6, 6), (3, 5, 5), (1, 1), (2, 2), (1, 1), 1, True),
        "rectangle": ((2, 3, 7, 9), (4, 1, 4), (2, 3), (0, 2), (1, 1), 1, True),
        "dilation2": ((1, 3, 9, 8), (4, 3, 3), (1, 1), (2, 2), (2, 2), 1, True),
        "dilation_mixed": ((1, 2, 9, 9), (3, 3, 2), (2, 1), (1, 0), (2, 3), 1, False),
        "groups2": ((2, 4, 6, 6), (6, 3, 3), (1, 1), (1, 1), (1, 1), 2, True),
        "depthwise": ((1, 6, 5, 5), (6, 3, 3), (1, 1), (1, 1), (1, 1), 6, True),
        "depthwise_multiplier": ((1, 3, 6, 6), (6, 3, 3), (2, 2), (1, 1), (1, 1), 3, False),
        "whole_image": ((2, 3, 4, 4), (5, 4, 4), (1, 1), (0, 0), (1, 1), 1, True),
        "pixel": ((3, 4, 1, 1), (5, 3, 3), (1, 1), (1, 1), (1, 1), 1, True),
    }
    for case, (shape, (out, kh, kw), stride, padding, dilation, groups, bias) in cases.items():
        inputs = [randn("conv", *shape), randn("conv weight", out, shape[1] // groups, kh, kw)]
        inputs += [randn("conv bias", out)] if bias else []
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        convolution = lambda *tensors: functional.conv2d(*tensors, **options)
        golden.case(f"conv2d/{case}", convolution, inputs, **options, bias=bias)


def pooling(golden: Golden) -> None:
    # case: (N, C, H, W), kernel, stride, padding, dilation, ceil_mode
    cases = {
        "2x2": ((2, 3, 6, 4), (2, 2), (2, 2), (0, 0), (1, 1), False),
        "2x2_odd": ((1, 2, 7, 5), (2, 2), (2, 2), (0, 0), (1, 1), False),
        "2x2_ceil": ((1, 2, 7, 5), (2, 2), (2, 2), (0, 0), (1, 1), True),
        "3x3_stride2_pad1": ((2, 3, 8, 7), (3, 3), (2, 2), (1, 1), (1, 1), False),
        "3x3_stride2_pad1_ceil": ((1, 2, 8, 8), (3, 3), (2, 2), (1, 1), (1, 1), True),
        "3x3_stride1": ((1, 2, 5, 5), (3, 3), (1, 1), (0, 0), (1, 1), False),
        "rectangle": ((1, 3, 6, 7), (2, 3), (1, 2), (0, 1), (1, 1), False),
        "dilation2": ((1, 2, 7, 7), (2, 2), (1, 1), (0, 0), (2, 2), False),
        "whole_image": ((2, 3, 4, 4), (4, 4), (4, 4), (0, 0), (1, 1), False),
    }
    for case, (shape, kernel, stride, padding, dilation, ceil_mode) in cases.items():
        options = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}
        pool = lambda x: functional.max_pool2d(x, kernel, **options)
        golden.case(f"max_pool2d/{case}", pool, [randn("pool", *shape)], kernel=kernel, **options)


def losses(golden: Golden) -> None:
    for (op, function), dim in product(
        {"softmax": torch.softmax, "log_softmax": torch.log_softmax}.items(), (0, 1, 2, -1)
    ):
        golden.case(f"{op}/dim_{dim}", lambda t: function(t, dim), [3 * randn("softmax", 3, 4, 5)], dim=dim)
    golden.case("softmax/large", lambda t: torch.softmax(t, 1), [1000 * randn("softmax", 3, 4)], dim=1)
    golden.case(
        "log_softmax/large", lambda t: torch.log_softmax(t, 1), [1000 * randn("softmax", 3, 4)], dim=1
    )
    x, targets = 2 * randn("entropy", 6, 5), torch.tensor([0, 4, 2, 2, 1, 3])
    ignoring, weight = torch.tensor([0, -100, 2, 4, -100, 3]), randn("class weights", 5).abs() + 0.1
    volume, volume_targets = randn("entropy", 2, 4, 3), torch.tensor([[0, 3, 1], [2, 1, -1]])
    none_left = torch.full((6,), -100)
    for reduction in ("mean", "sum", "none"):
        for case, inputs, options in (
            ("plain", [x, targets], {}),
            ("ignore", [x, ignoring], {}),
            ("ignore_index_2", [x, targets], {"ignore_index": 2}),
            ("weight", [x, targets, weight], {}),
            ("weight_ignore", [x, ignoring, weight], {}),
            ("smoothing", [x, targets], {"label_smoothing": 0.1}),
            ("smoothing_weight_ignore", [x, ignoring, weight], {"label_smoothing": 0.2}),
            ("spatial", [volume, volume_targets], {"ignore_index": -1}),
            ("all_ignored", [x, none_left], {}),
        ):
            if (case, reduction) == ("all_ignored", "mean"):
                continue  # 0 / 0: not a number, for a test of its own
            full = {"ignore_index": -100, "label_smoothing": 0.0, **options, "reduction": reduction}
            entropy = lambda logits, target, w=None: functional.cross_entropy(logits, target, w, **full)
            golden.case(f"cross_entropy/{case}_{reduction}", entropy, inputs, no_gradient=(2,), **full)


def joining(golden: Golden) -> None:
    shapes = {
        "dim0": (0, [(2, 3), (1, 3), (4, 3)]),
        "dim1": (1, [(2, 3), (2, 1)]),
        "last": (-1, [(2, 2, 3), (2, 2, 5)]),
        "middle": (1, [(2, 1, 3), (2, 4, 3), (2, 2, 3)]),
        "with_empty": (0, [(2, 3), (0, 3), (1, 3)]),
        "single": (0, [(2, 3)]),
    }
    for case, (dim, parts) in shapes.items():
        inputs = [randn(f"cat {i}", *shape) for i, shape in enumerate(parts)]
        golden.case(f"cat/{case}", lambda *tensors: torch.cat(tensors, dim), inputs, dim=dim)
    x = randn("index", 4, 3, 2)
    for dim, indices in ((0, [3, 0, 0, 2, 0]), (1, [2, 1]), (2, [1, 1, 0]), (-1, [0])):
        select = lambda t, index: torch.index_select(t, dim, index)
        golden.case(f"index_select/dim_{dim}", select, [x, torch.tensor(indices)], dim=dim)


def optimizers(golden: Golden) -> None:
    sgd = {
        "plain": {"lr": 0.1},
        "momentum": {"lr": 0.1, "momentum": 0.9},
        "dampening": {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
        "nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        "weight_decay": {"lr": 0.1, "weight_decay": 0.05},
        "maximize": {"lr": 0.1, "maximize": True},
        "everything": {"lr": 0.05, "momentum": 0.8, "weight_decay": 0.01, "nesterov": True, "maximize": True},
        "decay_dampening": {"lr": 0.05, "momentum": 0.8, "dampening": 0.1, "weight_decay": 0.01},
    }
    for case, options in sgd.items():
        golden.optimizer(f"sgd/{case}", torch.optim.SGD, **options)
    adamw = {
        "default": {},
        "no_decay": {"lr": 0.01, "weight_decay": 0.0},
        "betas": {"lr": 0.01, "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.1},
        "amsgrad": {"lr": 0.01, "amsgrad": True},
        "maximize": {"lr": 0.01, "maximize": True},
    }
    defaults = {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01}
    for case, options in adamw.items():
        golden.optimizer(f"adamw/{case}", torch.optim.AdamW, **{**defaults, **options})


def promotion(golden: Golden) -> None:
    names = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool")
    plain = lambda dtype: str(dtype).removeprefix("torch.")
    table = {
        f"{a}+{b}": plain(torch.promote_types(getattr(torch, a), getattr(torch, b)))
        for a, b in product(names, names)
    }
    golden.metadata["promotion"] = json.dumps(table)


def ops_golden() -> tuple[dict[str, Tensor], dict[str, str]]:
    golden = Golden()
    for part in (
        pointwise,
        activations,
        powers_and_choices,
        reductions,
        statistics,
        products,
        convolutions,
        pooling,
        losses,
        joining,
        optimizers,
        promotion,
    ):
        part(golden)
    return finished(golden)
