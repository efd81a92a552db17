"""Golden values of attention and the layers made of it: attention.safetensors.

Inputs of a layer's case are its arguments, then its parameters in the order of PyTorch's state_dict.
"""

import math

import torch
from torch import nn
from torch.nn import functional

from golden_cases import Golden, finished, randn

Tensor = torch.Tensor


def attention(golden: Golden) -> None:
    function = functional.scaled_dot_product_attention
    shapes = {
        "plain": ((3, 4), (5, 4), (5, 6)),
        "heads": ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4)),
        "square": ((2, 4, 3), (2, 4, 3), (2, 4, 2)),
        "one": ((1, 1), (1, 1), (1, 1)),
    }
    for case, (q, k, v) in shapes.items():
        inputs = [randn("query", *q), randn("key", *k), randn("value", *v)]
        for causal in (False, True):
            name = f"attention/{case}{'_causal' if causal else ''}"
            golden.case(name, lambda *t: function(*t, is_causal=causal), inputs, causal=causal, scale=None)
    inputs = [randn("query", 2, 2, 3, 4), randn("key", 2, 2, 5, 4), randn("value", 2, 2, 5, 3)]
    golden.case("attention/scale", lambda *t: function(*t, scale=0.3), inputs, causal=False, scale=0.3)
    for case, mask in {
        "whole": randn("mask", 2, 2, 3, 5) > -0.5,
        "keys": torch.tensor([True, False, True, True, False]).view(1, 1, 1, 5),
        "row_without_keys": torch.tensor([[True] * 5, [False] * 5, [True, False] * 2 + [True]]),
        "added": randn("mask", 3, 5),
        "added_keys": randn("mask", 2, 1, 1, 5),
    }.items():
        golden.case(
            f"attention/mask_{case}",
            lambda q, k, v, m: function(q, k, v, attn_mask=m),
            [*inputs, mask],
            causal=False,
            scale=None,
        )


def with_state(layer: nn.Module, name: str) -> list[Tensor]:
    """Gives the layer parameters that depend on the name alone, and returns them."""
    layer.double()
    state = {
        k: randn(f"{name} {k}", *v.shape) / math.sqrt(v.shape[-1]) for k, v in layer.state_dict().items()
    }
    return list(state.values())


def multihead(golden: Golden) -> None:
    padding = torch.tensor([[False, False, True, False], [False, True, True, False]])
    band = torch.tensor([[False, True, True, True], [False, False, True, True], [False] * 3 + [True]])
    cases = {
        "self": {},
        "self_batch_first": {"batch_first": True},
        "no_bias": {"bias": False},
        "cross": {"cross": True},
        "cross_batch_first": {"cross": True, "batch_first": True},
        "unbatched": {"cross": True, "unbatched": True},
        "padding": {"cross": True, "masks": {"key_padding_mask": padding}},
        "mask": {"cross": True, "masks": {"attn_mask": band}},
        "both": {"cross": True, "masks": {"key_padding_mask": padding, "attn_mask": band}},
        "added": {"cross": True, "masks": {"attn_mask": randn("multihead mask", 3, 4)}},
        "heads": {"cross": True, "masks": {"attn_mask": randn("multihead mask", 4, 3, 4) > 0.3}},
    }
    for case, options in cases.items():
        batch_first, cross = options.get("batch_first", False), options.get("cross", False)
        bias, masks = options.get("bias", True), options.get("masks", {})
        layer = nn.MultiheadAttention(6, 2, bias=bias, batch_first=batch_first)
        parameters = with_state(layer, "multihead")
        names = list(layer.state_dict())
        shape = lambda length: (2, length, 6) if batch_first else (length, 2, 6)
        tensors = [randn("multihead query", *shape(3))]
        if cross:
            tensors += [randn("multihead key", *shape(4)), randn("multihead value", *shape(4))]
        if options.get("unbatched"):
            tensors = [t[:, 0].clone() for t in tensors]

        def run(*arguments: Tensor) -> Tensor:
            given, state = arguments[: len(tensors)], dict(zip(names, arguments[len(tensors) :]))
            call = given if cross else given * 3
            return torch.func.functional_call(layer, state, call, {"need_weights": False, **masks})[0]

        # Masks come last; they get no gradient.
        golden.case(
            f"multihead/{case}",
            lambda *a: run(*a[: len(a) - len(masks)]),
            [*tensors, *parameters, *masks.values()],
            no_gradient=tuple(range(len(tensors) + len(parameters), 99)),
            arguments=len(tensors),
            bias=bias,
            batch_first=batch_first,
            masks=" ".join(masks),
        )


def encoder(golden: Golden) -> None:
    padding = torch.tensor([[False, False, True], [False, False, False]])
    cases = {
        "plain": {},
        "norm_first": {"norm_first": True},
        "gelu": {"activation": "gelu"},
        "batch_first": {"batch_first": True},
        "no_bias": {"bias": False},
        "padding": {"masked": True},
    }
    for case, options in cases.items():
        masked = options.get("masked", False)
        given = {name: value for name, value in options.items() if name != "masked"}
        layer = nn.TransformerEncoderLayer(6, 2, 7, dropout=0.0, **given)
        parameters, names = with_state(layer, "encoder"), list(layer.state_dict())
        x = randn("encoder x", *((2, 3, 6) if options.get("batch_first") else (3, 2, 6)))

        def run(x: Tensor, *state: Tensor) -> Tensor:
            mask = {"src_key_padding_mask": padding} if masked else {}
            return torch.func.functional_call(layer, dict(zip(names, state)), (x,), mask)

        golden.case(
            f"encoder/{case}", run, [x, *parameters], **given, padding=padding.tolist() if masked else None
        )


def attention_golden() -> tuple[dict[str, Tensor], dict[str, str]]:
    golden = Golden()
    for part in (attention, multihead, encoder):
        part(golden)
    return finished(golden)
