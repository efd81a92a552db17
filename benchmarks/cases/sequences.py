import torch
from torch import nn
from torch.nn import functional

from cases.cases import Case, both, forward, integers, layer, normal


def products() -> dict[str, Case]:
    square, half, brain = (512, 512), torch.float16, torch.bfloat16
    return {
        "matmul": forward(torch.matmul, normal(*square), normal(*square)),
        "matmul float16": forward(torch.matmul, normal(*square, dtype=half), normal(*square, dtype=half)),
        "matmul bfloat16": forward(torch.matmul, normal(*square, dtype=brain), normal(*square, dtype=brain)),
        "bmm and backward": both(torch.matmul, normal(32, 128, 64), normal(32, 64, 128)),
        "linear and backward": layer(
            lambda: nn.Linear(512, 512), lambda linear, x: linear(x), normal(128, 512)
        ),
    }


def softmaxes() -> dict[str, Case]:
    x = normal(512, 1000)
    return {
        "softmax": forward(lambda a: torch.softmax(a, 1), x),
        "softmax float16": forward(lambda a: torch.softmax(a, 1), normal(512, 1000, dtype=torch.float16)),
        "softmax and backward": both(lambda a: torch.softmax(a, 1), x),
        "softmax of columns": forward(lambda a: torch.softmax(a, 0), x),
        "log_softmax": forward(lambda a: torch.log_softmax(a, 1), x),
    }


def normalizations() -> dict[str, Case]:
    x, parameter = normal(64, 128, 256), normal(256)

    def layers(a, weight, bias):
        return functional.layer_norm(a, (256,), weight, bias)

    def roots(a, weight):
        return functional.rms_norm(a, (256,), weight)

    return {
        "layer_norm": forward(layers, x, parameter, parameter),
        "layer_norm and backward": both(layers, x, parameter, parameter),
        "rms_norm": forward(roots, x, parameter),
        "rms_norm and backward": both(roots, x, parameter),
    }


def attention() -> dict[str, Case]:
    x, tokens = normal(4, 8, 128, 64), normal(8, 128, 256)
    everything = functional.scaled_dot_product_attention

    def causal(q, k, v):
        return everything(q, k, v, is_causal=True)

    def heads() -> nn.Module:
        return nn.MultiheadAttention(256, 4, batch_first=True)

    def encoder() -> nn.Module:
        return nn.TransformerEncoderLayer(256, 4, 1024, dropout=0, activation="gelu", batch_first=True)

    return {
        "attention": forward(everything, x, x, x),
        "attention causal": forward(causal, x, x, x),
        "attention and backward": both(everything, x, x, x),
        "attention causal and backward": both(causal, x, x, x),
        "MultiheadAttention and backward": layer(
            heads, lambda module, a: module(a, a, a, need_weights=False)[0], tokens
        ),
        "TransformerEncoderLayer and backward": layer(encoder, lambda module, a: module(a), tokens),
    }


def recurrent() -> dict[str, Case]:
    x = normal(32, 64, 128)
    return {
        "LSTM and backward": layer(lambda: nn.LSTM(128, 256), lambda module, a: module(a)[0], x),
        "GRU and backward": layer(lambda: nn.GRU(128, 256), lambda module, a: module(a)[0], x),
        "embedding and backward": both(functional.embedding, integers(10_000, 64, 64), normal(10_000, 256)),
    }


def sequence_cases() -> dict[str, Case]:
    return products() | softmaxes() | normalizations() | attention() | recurrent()
