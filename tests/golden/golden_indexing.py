"""Golden values of operations that index, sort and scan: what indexing.safetensors holds."""

import torch
from torch.nn import functional

from golden_cases import Golden, finished, randn

Tensor = torch.Tensor


def positions(size: int, *shape: int) -> Tensor:
    """Indices below `size`, some of them repeated."""
    count = int(torch.tensor(shape).prod())
    return (torch.arange(count) * 5 % 7 % size).view(shape)


def by_position(golden: Golden) -> None:
    x = randn("gather", 3, 4, 5)
    for dim, shape in enumerate(((6, 4, 5), (2, 7, 4), (3, 4, 2))):
        index = positions(x.shape[dim], *shape)
        golden.case(f"gather/dim{dim}", lambda t, i: torch.gather(t, dim, i), [x, index], dim=dim)
        golden.case(
            f"scatter_add/dim{dim}",
            lambda t, i, s: torch.scatter_add(t, dim, i, s),
            [x, index, randn("scatter_add", *shape)],
            dim=dim,
        )
        golden.case(
            f"scatter_value/dim{dim}",
            lambda t, i: torch.scatter(t, dim, i, 1.5),
            [x, index],
            dim=dim,
            value=1.5,
        )
        # Without repetition: PyTorch leaves open which one stays, and its gradient.
        order = torch.argsort(randn("order", *x.shape), dim)
        golden.case(
            f"scatter/dim{dim}",
            lambda t, i, s: torch.scatter(t, dim, i, s),
            [x, order, randn("scatter", *x.shape)],
            dim=dim,
        )
        rows = positions(x.shape[dim], 6)
        source = randn("index_add", *(6 if d == dim else size for d, size in enumerate(x.shape)))
        golden.case(
            f"index_add/dim{dim}", lambda t, i, s: torch.index_add(t, dim, i, s), [x, rows, source], dim=dim
        )
    golden.case(
        "embedding/rows", functional.embedding, [positions(5, 3, 4), randn("embedding", 5, 3)], padding=None
    )
    for padding in (2, -5):
        golden.case(
            f"embedding/padding{padding}",
            lambda i, w: functional.embedding(i, w, padding_idx=padding),
            [positions(5, 3, 4), randn("embedding", 5, 3)],
            padding=padding,
        )


def by_value(golden: Golden) -> None:
    x, column = randn("masked", 4, 5), randn("masked", 4, 1)
    golden.case("masked_select/same", torch.masked_select, [x, randn("mask", 4, 5) > 0])
    golden.case("masked_select/row", torch.masked_select, [x, randn("mask", 5) > 0])
    golden.case("masked_select/column", torch.masked_select, [column, randn("mask", 5) > 0])
    golden.case("nonzero/floats", torch.nonzero, [randn("nonzero", 3, 4, 2).round()])
    golden.case("nonzero/bool", torch.nonzero, [randn("nonzero", 9) > 0])
    golden.case("one_hot/inferred", functional.one_hot, [positions(5, 2, 3)], classes=-1)
    golden.case("one_hot/given", lambda i: functional.one_hot(i, 8), [positions(5, 2, 3)], classes=8)
    golden.case("bincount/plain", torch.bincount, [positions(5, 9)], minlength=0)
    golden.case("bincount/longer", lambda i: torch.bincount(i, minlength=8), [positions(5, 9)], minlength=8)
    weights = randn("bincount", 9)
    golden.case("bincount/weights", torch.bincount, [positions(5, 9), weights], (1,), minlength=0)


def by_order(golden: Golden) -> None:
    x = randn("sort", 3, 7, 4)
    for dim in (0, 1, -1):
        for descending in (False, True):
            golden.case(
                f"sort/dim{dim}_{descending}",
                lambda t: tuple(torch.sort(t, dim=dim, descending=descending, stable=True)),
                [x],
                dim=dim,
                descending=descending,
            )
            golden.case(
                f"topk/dim{dim}_{descending}",
                lambda t: tuple(torch.topk(t, 3, dim, descending)),
                [x],
                dim=dim,
                k=3,
                largest=descending,
            )
        golden.case(f"cumsum/dim{dim}", lambda t: torch.cumsum(t, dim), [x], dim=dim)
    ties = randn("ties", 4, 9).round()
    golden.case("argsort/ties", lambda t: torch.argsort(t, stable=True), [ties], dim=-1, descending=False)
    golden.case(
        "argsort/descending_ties",
        lambda t: torch.argsort(t, dim=0, descending=True, stable=True),
        [ties],
        dim=0,
        descending=True,
    )
    golden.case("cumsum/int64", lambda t: torch.cumsum(t, 0), [positions(5, 6, 2)], dim=0)
    golden.case("prod/all", torch.prod, [x])
    zeros = randn("prod", 4, 5)
    zeros[0, 2] = zeros[1, 1] = zeros[1, 4] = 0
    golden.case("prod/rows", lambda t: torch.prod(t, 1), [zeros], dims=[1], keepdim=False)
    golden.case("prod/columns", lambda t: torch.prod(t, 0, keepdim=True), [zeros], dims=[0], keepdim=True)
    golden.case("prod/int64", torch.prod, [positions(5, 6) + 1])


def indexing_golden() -> tuple[dict[str, Tensor], dict[str, str]]:
    golden = Golden()
    by_position(golden)
    by_value(golden)
    by_order(golden)
    return finished(golden)
