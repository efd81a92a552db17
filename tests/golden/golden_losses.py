"""Golden values of the losses: what losses.safetensors holds (golden_cases.py says how)."""

from itertools import product

import torch
from torch.nn import functional

from golden_cases import Golden, finished, randn

Tensor = torch.Tensor
REDUCTIONS = ("none", "mean", "sum")


def probabilities(name: str, *shape: int, dim: int = 1) -> Tensor:
    return randn(name, *shape).softmax(dim)


def pairs(golden: Golden) -> None:
    x, target = 2 * randn("pair x", 4, 5), randn("pair t", 4, 5)
    cases = {
        "mse_loss": [{}],
        "l1_loss": [{}],
        "smooth_l1_loss": [{"beta": 1.0}, {"beta": 0.3}, {"beta": 0.0}],
        "huber_loss": [{"delta": 1.0}, {"delta": 0.4}],
    }
    for op, options in cases.items():
        for (k, one), reduction in product(enumerate(options), REDUCTIONS):
            function = lambda a, b: getattr(functional, op)(a, b, reduction=reduction, **one)
            golden.case(f"{op}/{k}_{reduction}", function, [x, target], reduction=reduction, **one)
    for reduction in (*REDUCTIONS, "batchmean"):
        logs, other = randn("kl x", 4, 5).log_softmax(1), probabilities("kl t", 4, 5)
        for log_target in (False, True):
            function = lambda a, b: functional.kl_div(a, b, reduction=reduction, log_target=log_target)
            inputs = [logs, other.log() if log_target else other]
            name = f"kl_div/{reduction}_{'log' if log_target else 'plain'}"
            golden.case(name, function, inputs, reduction=reduction, log_target=log_target)


def binary(golden: Golden) -> None:
    logits = 3 * randn("binary x", 4, 5)
    target = randn("binary t", 4, 5).sigmoid()
    weights = {"": [], "_weight": [randn("binary weight", 5).exp()]}
    for reduction, (case, weight) in product(REDUCTIONS, weights.items()):
        function = lambda x, t, w=None: functional.binary_cross_entropy(x, t, w, reduction=reduction)
        inputs = [logits.sigmoid(), target, *weight]
        golden.case(
            f"binary_cross_entropy/{reduction}{case}", function, inputs, no_gradient=(2,), reduction=reduction
        )
        positive = randn("positive weight", 5).exp()
        op = "binary_cross_entropy_with_logits"
        for suffix, pos_weight in (("", None), ("_positive", positive)):
            function = lambda x, t, *rest: functional.binary_cross_entropy_with_logits(
                x,
                t,
                rest[0] if weight else None,
                None,
                None,
                reduction,
                rest[-1] if pos_weight is not None else None,
            )
            inputs = [logits, target, *weight] + ([positive] if pos_weight is not None else [])
            parameters = {
                "reduction": reduction,
                "weight": bool(weight),
                "pos_weight": pos_weight is not None,
            }
            golden.case(f"{op}/{reduction}{case}{suffix}", function, inputs, no_gradient=(2, 3), **parameters)


def classes(golden: Golden) -> None:
    for case, shape in {"rows": (6, 4), "one": (4,), "spatial": (2, 4, 3, 2)}.items():
        logits = randn(f"class x {case}", *shape)
        rest = shape[:1] + shape[2:] if len(shape) > 1 else ()
        dim = 1 if len(shape) > 1 else 0
        target = (randn(f"class t {case}", *rest).abs() * 10).long() % 4
        ignoring = torch.where(torch.arange(target.numel()).reshape(target.shape) % 3 == 1, -7, target)
        weight = randn("class weight", 4).exp()
        for reduction in REDUCTIONS:
            options = {"reduction": reduction, "ignore_index": -100}
            nll = lambda x, t, w=None: functional.nll_loss(x, t, w, **options)
            golden.case(f"nll_loss/{case}_{reduction}", nll, [logits, target], **options)
            options = {"reduction": reduction, "ignore_index": -7}
            inputs = [logits, ignoring, weight]
            golden.case(f"nll_loss/{case}_{reduction}_weight", nll, inputs, no_gradient=(2,), **options)
            for smoothing, weights in ((0.0, []), (0.2, [weight])):
                options = {"reduction": reduction, "label_smoothing": smoothing}
                entropy = lambda x, t, w=None: functional.cross_entropy(x, t, w, **options)
                name = f"cross_entropy/{case}_{reduction}_{smoothing}{'_weight' if weights else ''}"
                inputs = [logits, probabilities(f"class p {case}", *shape, dim=dim), *weights]
                golden.case(name, entropy, inputs, no_gradient=(2,), **options)


def similarity(golden: Golden) -> None:
    x, other = randn("similar x", 3, 4, 5), randn("similar y", 4, 1)
    for p, dim in ((2.0, 1), (1.0, 0), (3.0, -1)):
        function = lambda t: functional.normalize(t, p, dim)
        golden.case(f"normalize/{p}_{dim}", function, [x], p=p, dim=dim, eps=1e-12)
    golden.case("normalize/eps", lambda t: functional.normalize(t, eps=3.0), [x], p=2.0, dim=1, eps=3.0)
    for dim in (0, 1, -1):
        function = lambda a, b: functional.cosine_similarity(a, b, dim)
        golden.case(f"cosine_similarity/{dim}", function, [x, randn("similar z", 3, 4, 5)], dim=dim)
    function = lambda a, b: functional.cosine_similarity(a, b, 1)
    golden.case("cosine_similarity/broadcast", function, [x, other], dim=1)


def losses_golden() -> tuple[dict[str, Tensor], dict[str, str]]:
    golden = Golden()
    for part in (pairs, binary, classes, similarity):
        part(golden)
    return finished(golden)
