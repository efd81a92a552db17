from torch import nn
from torch.nn import functional

from cases.cases import Case, both, forward, image, layer, normal


def convolutions() -> dict[str, Case]:
    x, weight = image(16, 64, 32, 32), image(64, 64, 3, 3)

    def conv(**options: int):
        return lambda a, w: functional.conv2d(a, w, **options)

    def lines(a, w):
        return functional.conv1d(a, w, padding=1)

    def transposed(a, w):
        return functional.conv_transpose2d(a, w, stride=2, padding=1)

    return {
        "conv2d and backward": both(conv(padding=1), x, weight),
        "conv2d of stride 2 and backward": both(conv(stride=2, padding=1), x, weight),
        "conv2d 1x1 and backward": both(conv(), x, image(64, 64, 1, 1)),
        "dilated conv2d and backward": both(conv(padding=2, dilation=2), x, weight),
        "grouped conv2d and backward": both(conv(padding=1, groups=4), x, image(64, 16, 3, 3)),
        "depthwise conv2d and backward": both(conv(padding=1, groups=64), x, image(64, 1, 3, 3)),
        "conv1d and backward": both(lines, normal(32, 64, 256), normal(64, 64, 3)),
        "conv_transpose2d and backward": both(transposed, image(16, 64, 16, 16), image(64, 32, 4, 4)),
    }


def pools() -> dict[str, Case]:
    x, small = image(32, 64, 32, 32), image(16, 32, 32, 32)

    def up(mode: str):
        return lambda a: functional.interpolate(a, scale_factor=2.0, mode=mode)

    return {
        "max_pool2d and backward": both(lambda a: functional.max_pool2d(a, 2), x),
        "max_pool2d 3x3 and backward": both(lambda a: functional.max_pool2d(a, 3, 2, 1), x),
        "avg_pool2d and backward": both(lambda a: functional.avg_pool2d(a, 2), x),
        "adaptive_avg_pool2d and backward": both(lambda a: functional.adaptive_avg_pool2d(a, 7), x),
        "adaptive_avg_pool2d to 1 and backward": both(lambda a: functional.adaptive_avg_pool2d(a, 1), x),
        "interpolate nearest and backward": both(up("nearest"), small),
        "interpolate bilinear and backward": both(up("bilinear"), small),
    }


def normalizations() -> dict[str, Case]:
    x, parameter = image(32, 64, 32, 32), normal(64)

    def groups(a, weight, bias):
        return functional.group_norm(a, 8, weight, bias)

    return {
        "batch_norm2d and backward": layer(lambda: nn.BatchNorm2d(64), lambda norm, a: norm(a), x),
        "group_norm": forward(groups, x, parameter, parameter),
        "group_norm and backward": both(groups, x, parameter, parameter),
    }


def image_cases() -> dict[str, Case]:
    return convolutions() | pools() | normalizations()
