"""Golden values of batch, layer, group and RMS norm: what normalization.safetensors holds.

Cases are described in golden_cases.py; batch_norm's outputs 1 and 2 are the running mean and variance that
it leaves.
"""

import torch
from torch.nn import functional

from golden_cases import Golden, finished, randn

Tensor = torch.Tensor


def batch_norms(golden: Golden) -> None:
    # case: shape, training, momentum, eps, affine
    cases = {
        "training": ((2, 3, 4, 5), True, 0.1, 1e-5, True),
        "training_plain": ((2, 3, 4, 5), True, 0.3, 1e-2, False),
        "training_rows": ((6, 5), True, 0.1, 1e-5, True),
        "training_lines": ((3, 4, 7), True, 1.0, 1e-5, True),
        "evaluation": ((2, 3, 4, 5), False, 0.1, 1e-5, True),
        "evaluation_rows": ((1, 5), False, 0.1, 1e-3, False),
    }
    for case, (shape, training, momentum, eps, affine) in cases.items():
        channels = shape[1]
        inputs = [randn("norm", *shape), randn("mean", channels), randn("var", channels).abs() + 0.2]
        inputs += [randn("weight", channels), randn("bias", channels)] if affine else []

        def batch_norm(x: Tensor, mean: Tensor, var: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
            mean, var = mean.clone(), var.clone()
            y = functional.batch_norm(
                x, mean, var, *parameters, training=training, momentum=momentum, eps=eps
            )
            return y, mean, var

        options = {"training": training, "momentum": momentum, "eps": eps}
        golden.case(f"batch_norm/{case}", batch_norm, inputs, no_gradient=(1, 2), **options)


def row_norms(golden: Golden) -> None:
    for case, (shape, size, eps) in {
        "last": ((4, 6), (6,), 1e-5),
        "last_two": ((2, 3, 4), (3, 4), 1e-2),
        "all": ((5,), (5,), 1e-5),
        "images": ((2, 3, 2, 4), (3, 2, 4), 1e-5),
    }.items():
        x, weight, bias = randn("norm", *shape), randn("weight", *size), randn("bias", *size)
        options = {"shape": size, "eps": eps}
        layer = lambda t, *parameters: functional.layer_norm(t, size, *parameters, eps=eps)
        golden.case(f"layer_norm/{case}", layer, [x, weight, bias], **options)
        golden.case(f"layer_norm/{case}_weight", layer, [x, weight], **options)
        golden.case(f"layer_norm/{case}_plain", layer, [x], **options)
        rms = lambda t, *parameters: functional.rms_norm(t, size, *parameters, eps=eps)
        golden.case(f"rms_norm/{case}", rms, [x, weight], **options)
        rms = lambda t, *parameters: functional.rms_norm(t, size, *parameters)
        golden.case(f"rms_norm/{case}_plain", rms, [1e-7 * x], shape=size, eps=None)


def group_norms(golden: Golden) -> None:
    for case, (shape, groups, eps) in {
        "images": ((2, 4, 3, 2), 2, 1e-5),
        "one": ((2, 4, 3), 1, 1e-5),
        "each": ((2, 4, 3, 3), 4, 1e-2),
        "rows": ((3, 6), 3, 1e-5),
    }.items():
        inputs = [randn("norm", *shape), randn("weight", shape[1]), randn("bias", shape[1])]
        norm = lambda t, *parameters: functional.group_norm(t, groups, *parameters, eps=eps)
        golden.case(f"group_norm/{case}", norm, inputs, groups=groups, eps=eps)
        golden.case(f"group_norm/{case}_plain", norm, inputs[:1], groups=groups, eps=eps)


def normalization_golden() -> tuple[dict[str, Tensor], dict[str, str]]:
    golden = Golden()
    for part in (batch_norms, row_norms, group_norms):
        part(golden)
    return finished(golden)
