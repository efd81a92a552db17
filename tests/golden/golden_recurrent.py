"""Golden values of LSTM and GRU: whole layers of torch.nn in float64.

The inputs of a case are x, the start states, then all parameters in the order of the state dict; outputs are
the outputs and the last states. The upstream gradient is of the outputs.
"""

import torch

from golden_cases import Golden, Tensor, finished, randn


def recurrent_golden() -> tuple[dict[str, Tensor], dict[str, str]]:
    golden = Golden()
    cases = {
        "plain": ({}, (4, 2, 3)),
        "no_bias": ({"bias": False}, (3, 2, 3)),
        "batch_first": ({"batch_first": True}, (2, 4, 3)),
        "two_ways": ({"bidirectional": True}, (4, 2, 3)),
        "deep": ({"num_layers": 2, "bidirectional": True}, (3, 2, 3)),
        "unbatched": ({}, (4, 3)),
        "one_step": ({"bidirectional": True}, (1, 2, 3)),
    }
    for kind in ("LSTM", "GRU"):
        for case, (options, shape) in cases.items():
            name = f"{kind.lower()}/{case}"
            layer = getattr(torch.nn, kind)(3, 5, dtype=torch.float64, **options)
            names = [n for n, _ in layer.named_parameters()]
            parameters = [randn(f"{name} {n}", *p.shape) / 2 for n, p in layer.named_parameters()]
            count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
            batch = shape[0 if options.get("batch_first") else 1]
            state = (count, 5) if len(shape) == 2 else (count, batch, 5)
            states = [randn(f"{name} state {i}", *state) for i in range(2 if kind == "LSTM" else 1)]

            def run(x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
                start = rest[: len(states)]
                weights = dict(zip(names, rest[len(states) :]))
                start = start if kind == "LSTM" else start[0]
                output, last = torch.func.functional_call(layer, weights, (x, start))
                return (output, *(last if kind == "LSTM" else (last,)))

            golden.case(name, run, [randn(f"{name} x", *shape), *states, *parameters], **options)
    return finished(golden)
