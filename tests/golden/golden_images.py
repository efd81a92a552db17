"""Golden values of average and adaptive pooling, pooling with indices, pooling and convolution of lines,
transposed convolution, and convolution through relu and max pooling: what images.safetensors holds. Cases are
described in golden_cases.py.
"""

import torch
from torch.nn import functional

from golden_cases import Golden, finished, randn

Tensor = torch.Tensor


def average_pools(golden: Golden) -> None:
    # case: (N, C, H, W), kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
    cases = {
        "2x2": ((2, 3, 6, 4), (2, 2), (2, 2), (0, 0), False, True, None),
        "overlap": ((1, 2, 5, 5), (3, 3), (1, 1), (0, 0), False, True, None),
        "pad": ((2, 2, 6, 5), (3, 3), (2, 2), (1, 1), False, True, None),
        "pad_not_counted": ((2, 2, 6, 5), (3, 3), (2, 2), (1, 1), False, False, None),
        "ceil": ((1, 2, 7, 7), (2, 2), (3, 3), (0, 0), True, True, None),
        "ceil_pad": ((1, 2, 8, 8), (3, 3), (2, 2), (1, 1), True, True, None),
        "ceil_pad_not_counted": ((1, 2, 8, 7), (3, 2), (2, 3), (1, 1), True, False, None),
        "ceil_beyond": ((1, 2, 2, 2), (3, 3), (2, 2), (0, 0), True, True, None),
        "divisor": ((1, 2, 5, 6), (2, 3), (1, 2), (0, 1), False, True, 5),
        "negative_divisor": ((1, 2, 4, 4), (2, 2), (2, 2), (0, 0), False, True, -3),
        "whole_image": ((2, 3, 4, 3), (4, 3), (1, 1), (0, 0), False, True, None),
    }
    for case, (shape, kernel, stride, padding, ceil_mode, include, divisor) in cases.items():
        options = {
            "stride": stride,
            "padding": padding,
            "ceil_mode": ceil_mode,
            "count_include_pad": include,
            "divisor_override": divisor,
        }
        pool = lambda x: functional.avg_pool2d(x, kernel, **options)
        golden.case(f"avg_pool2d/{case}", pool, [randn("pool", *shape)], kernel=kernel, **options)


def adaptive_pools(golden: Golden) -> None:
    for case, (shape, size) in {
        "one": ((2, 3, 5, 4), (1, 1)),
        "uneven": ((1, 2, 7, 5), (3, 2)),
        "larger": ((1, 2, 3, 2), (5, 7)),
        "same": ((2, 2, 3, 4), (3, 4)),
        "kept_height": ((1, 2, 4, 6), (None, 4)),
    }.items():
        x = randn("adaptive", *shape)
        parameters = {"size": [-1 if part is None else part for part in size]}
        golden.case(
            f"adaptive_avg_pool2d/{case}",
            lambda t: functional.adaptive_avg_pool2d(t, size),
            [x],
            **parameters,
        )
        maximum = lambda t: functional.adaptive_max_pool2d(t, size, return_indices=True)
        golden.case(f"adaptive_max_pool2d/{case}", maximum, [x], **parameters)


def max_pools(golden: Golden) -> None:
    # case: (N, C, H, W), kernel, stride, padding, dilation, ceil_mode
    cases = {
        "2x2": ((2, 3, 6, 4), (2, 2), (2, 2), (0, 0), (1, 1), False),
        "pad": ((1, 2, 5, 5), (3, 3), (2, 1), (1, 1), (1, 1), False),
        "ceil": ((1, 2, 7, 5), (2, 2), (2, 2), (0, 0), (1, 1), True),
        "ceil_beyond": ((1, 2, 2, 2), (3, 3), (2, 2), (0, 0), (1, 1), True),
        "dilation": ((1, 2, 7, 6), (2, 3), (1, 1), (1, 0), (3, 2), False),
    }
    for case, (shape, kernel, stride, padding, dilation, ceil_mode) in cases.items():
        options = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}
        pool = lambda x: functional.max_pool2d(x, kernel, **options, return_indices=True)
        name = f"max_pool2d_with_indices/{case}"
        golden.case(name, pool, [randn("pool", *shape)], kernel=kernel, **options)


def lines(golden: Golden) -> None:
    for case, (shape, kernel, stride, padding, ceil_mode) in {
        "plain": ((2, 3, 8), 2, 2, 0, False),
        "pad_ceil": ((2, 3, 7), 3, 2, 1, True),
        "no_batch": ((3, 6), 3, 1, 1, False),
    }.items():
        x = randn("line", *shape)
        options = {"stride": stride, "padding": padding, "ceil_mode": ceil_mode}
        average = lambda t: functional.avg_pool1d(t, kernel, **options)
        golden.case(f"avg_pool1d/{case}", average, [x], kernel=kernel, **options)
        maximum = lambda t: functional.max_pool1d(t, kernel, **options)
        golden.case(f"max_pool1d/{case}", maximum, [x], kernel=kernel, **options)
    for case, (shape, (out, kernel), stride, padding, dilation, groups, bias) in {
        "plain": ((2, 3, 8), (4, 3), 1, 0, 1, 1, True),
        "stride_pad": ((2, 4, 9), (6, 3), 2, 2, 2, 2, True),
        "no_batch": ((3, 6), (2, 2), 1, 1, 1, 1, False),
    }.items():
        inputs = [randn("line", *shape), randn("conv weight", out, shape[-2] // groups, kernel)]
        inputs += [randn("conv bias", out)] if bias else []
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        convolution = lambda *tensors: functional.conv1d(*tensors, **options)
        golden.case(f"conv1d/{case}", convolution, inputs, **options)


def transposed(golden: Golden) -> None:
    # case: (N, C, H, W), (output channels, KH, KW), stride, padding, output_padding, dilation, groups, bias
    cases = {
        "3x3": ((2, 3, 4, 3), (5, 3, 3), (1, 1), (0, 0), (0, 0), (1, 1), 1, True),
        "stride2": ((2, 4, 3, 4), (2, 3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 1, True),
        "stride_mixed": ((1, 2, 3, 3), (3, 2, 4), (3, 2), (0, 1), (2, 0), (1, 1), 1, False),
        "dilation": ((1, 2, 4, 4), (3, 3, 2), (1, 2), (1, 0), (0, 1), (2, 3), 1, True),
        "groups": ((2, 4, 3, 3), (6, 3, 3), (2, 2), (1, 1), (0, 0), (1, 1), 2, True),
        "output_padding_beyond_stride": ((1, 2, 3, 3), (2, 2, 2), (1, 2), (1, 0), (2, 3), (3, 4), 1, True),
        "no_batch": ((3, 4, 3), (2, 2, 2), (2, 2), (0, 0), (0, 0), (1, 1), 1, True),
    }
    for case, (shape, (out, kh, kw), stride, padding, extra, dilation, groups, bias) in cases.items():
        inputs = [randn("conv", *shape), randn("conv weight", shape[-3], out // groups, kh, kw)]
        inputs += [randn("conv bias", out)] if bias else []
        options = {
            "stride": stride,
            "padding": padding,
            "output_padding": extra,
            "groups": groups,
            "dilation": dilation,
        }
        convolution = lambda *tensors: functional.conv_transpose2d(*tensors, **options)
        golden.case(f"conv_transpose2d/{case}", convolution, inputs, **options)


def fused(golden: Golden) -> None:
    # case: (N, C, H, W), (output channels, KH, KW), stride, padding, bias
    cases = {
        "3x3": ((2, 3, 6, 5), (4, 3, 3), (1, 1), (1, 1), True),
        "stride": ((1, 2, 7, 9), (5, 3, 2), (1, 2), (2, 0), True),
        "no_bias": ((1, 4, 5, 5), (8, 2, 2), (1, 1), (0, 0), False),
        "no_batch": ((2, 4, 4), (3, 3, 3), (1, 1), (1, 1), True),
    }
    for case, (shape, (out, kh, kw), stride, padding, bias) in cases.items():
        inputs = [randn("fused", *shape), randn("conv weight", out, shape[-3], kh, kw)]
        inputs += [randn("conv bias", out)] if bias else []
        options = {"stride": stride, "padding": padding}
        rectified = lambda *tensors: functional.relu(functional.conv2d(*tensors, **options))
        golden.case(f"conv2d_relu/{case}", rectified, inputs, **options)
        pooled = lambda *tensors: functional.max_pool2d(rectified(*tensors), 2)
        golden.case(f"conv2d_relu_max_pool2d/{case}", pooled, inputs, **options)


def images_golden() -> tuple[dict[str, Tensor], dict[str, str]]:
    golden = Golden()
    for part in (average_pools, adaptive_pools, max_pools, lines, transposed, fused):
        part(golden)
    return finished(golden)
