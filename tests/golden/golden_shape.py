"""Golden values of joining, splitting, rearranging, padding, products, resizing: shape.safetensors.

A list of results (of split, chunk, unbind) is one row: its tensors, each times its place plus one.
"""

import torch
from torch.nn import functional

from golden_cases import Golden, finished, randn

Tensor = torch.Tensor


def weighted(parts: tuple) -> Tensor:
    return torch.cat([(part * (i + 1)).flatten() for i, part in enumerate(parts)])


def joining(golden: Golden) -> None:
    a, b, c = (randn(f"stack {i}", 2, 3) for i in range(3))
    for dim in (0, 1, 2, -1, -2):
        golden.case(f"stack/dim_{dim}", lambda *t: torch.stack(t, dim), [a, b, c], dim=dim)
    x = randn("split", 5, 4)
    for size, dim in ((2, 0), (3, 1), (5, 0), (9, -1)):
        golden.case(f"split/{size}_{dim}", lambda t: weighted(t.split(size, dim)), [x], size=size, dim=dim)
    for sizes, dim in (([1, 4], 0), ([2, 0, 2], 1)):
        name = f"split_sizes/{len(sizes)}_{dim}"
        golden.case(name, lambda t: weighted(t.split(sizes, dim)), [x], sizes=sizes, dim=dim)
    for chunks, dim in ((2, 0), (3, 0), (4, 0), (7, 1)):
        name = f"chunk/{chunks}_{dim}"
        golden.case(name, lambda t: weighted(t.chunk(chunks, dim)), [x], chunks=chunks, dim=dim)
    for dim in (0, -1):
        golden.case(f"unbind/{dim}", lambda t: weighted(t.unbind(dim)), [x], dim=dim)


def rearranging(golden: Golden) -> None:
    x = randn("rearrange", 3, 4, 5)
    for dims in ([0], [-1], [0, 2], [2, 1, 0]):
        golden.case(f"flip/{len(dims)}_{dims[0]}", lambda t: t.flip(dims), [x], dims=dims)
    for shifts, dims in (([1], [0]), ([-7], [-1]), ([2, -1], [0, 2]), ([3, 4], [1, 1]), ([13], [])):
        name = f"roll/{shifts[0]}_{len(dims)}"
        function = lambda t: t.roll(shifts, dims) if dims else t.roll(shifts[0])
        golden.case(name, function, [x], shifts=shifts, dims=dims)
    y = randn("repeat", 2, 3)
    for i, sizes in enumerate(([2, 1], [1, 3], [2, 3], [4, 1, 2], [2, 2, 2, 1], [0, 2])):
        golden.case(f"repeat/{i}", lambda t: t.repeat(sizes), [y], sizes=sizes)
    for repeats, dim in ((2, 0), (3, 1), (0, 1), (2, None)):
        function = lambda t: torch.repeat_interleave(t, repeats, dim)
        golden.case(f"repeat_interleave/{repeats}_{dim}", function, [y], repeats=repeats, dim=dim)
    z = randn("triangle", 2, 4, 5)
    for diagonal in (-9, -2, 0, 1, 7):
        golden.case(f"tril/{diagonal}", lambda t: t.tril(diagonal), [z], diagonal=diagonal)
        golden.case(f"triu/{diagonal}", lambda t: t.triu(diagonal), [z], diagonal=diagonal)
    for source, destination in ((0, 2), (2, 0), (-1, 1)):
        name = f"movedim/{source}_{destination}"
        golden.case(name, lambda t: t.movedim(source, destination), [x], dims=[source, destination])
    golden.case("swapaxes/0_2", lambda t: t.swapaxes(0, 2), [x], dims=[0, 2])
    for offset, dim1, dim2 in ((0, 0, 1), (1, 1, 2), (-2, 2, 0), (9, 0, 1)):
        name = f"diagonal/{offset}_{dim1}_{dim2}"
        golden.case(name, lambda t: t.diagonal(offset, dim1, dim2), [x], offset=offset, dims=[dim1, dim2])


def padding(golden: Golden) -> None:
    x = randn("pad", 1, 2, 4, 5)
    cases = {
        "constant": ([1, 2], [0, 1, 2, 0], [1, 1, 0, 2, 3, 0], [-1, 2, -2, 0], [0, 0, 0, 0, -1, 1, 1, -1]),
        "reflect": ([1, 4], [2, 0, 3, 1], [-2, 4, 3, -1]),
        "replicate": ([1, 7], [2, 0, 3, 6], [-5, 2, 2, -3]),
        "circular": ([1, 5], [2, 0, 4, 1], [-2, 3, 2, -1]),
    }
    for mode, paddings in cases.items():
        for i, pads in enumerate(paddings):
            inputs = [x if mode == "constant" or len(pads) == 4 else x[0]]
            value = 0.75 if mode == "constant" and i > 0 else 0.0
            function = lambda t: functional.pad(t, pads, mode, value)
            golden.case(f"pad/{mode}_{i}", function, inputs, padding=pads, mode=mode, value=value)


def products(golden: Golden) -> None:
    shapes = [((7,), (7,)), ((3, 4), (4,)), ((4,), (4, 3)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5))]
    shapes += [((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 3, 4), (3, 4, 2))]
    for i, (a, b) in enumerate(shapes):
        golden.case(f"matmul/{i}", torch.matmul, [randn("left", *a), randn("right", *b)])
    golden.case("dot/vectors", torch.dot, [randn("left", 7), randn("right", 7)])
    golden.case("outer/vectors", torch.outer, [randn("left", 4), randn("right", 3)])
    golden.case("bmm/batch", torch.bmm, [randn("left", 2, 3, 4), randn("right", 2, 4, 5)])
    equations = {
        "ij,jk->ik": ((2, 3), (3, 4)),
        "ij,jk": ((2, 3), (3, 4)),
        "ba": ((2, 3),),
        "ij->": ((2, 3),),
        "ij->j": ((2, 3),),
        "ii": ((3, 3),),
        "ii->i": ((3, 3),),
        "iij->ji": ((3, 3, 2),),
        "iii->i": ((3, 3, 3),),
        "i,i->i": ((5,), (5,)),
        "i,i": ((5,), (5,)),
        "i,j->ij": ((3,), (4,)),
        "i,j->ji": ((3,), (4,)),
        "i,j->": ((3,), (4,)),
        "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
        "bij,bkj->bik": ((2, 3, 4), (2, 5, 4)),
        "bhqd,bhkd->bhqk": ((2, 2, 3, 4), (2, 2, 5, 4)),
        "bqhd,bkhd->bhqk": ((2, 3, 2, 4), (2, 5, 2, 4)),
        "bn,anm,bm->ba": ((2, 3), (5, 3, 4), (2, 4)),
        "ij,jk,kl->il": ((2, 3), (3, 4), (4, 2)),
        "a,b,c->cab": ((2,), (3,), (4,)),
        "...ij->...ji": ((2, 3, 4, 5),),
        "...ij,...jk->...ik": ((2, 1, 3, 4), (5, 4, 2)),
        "...ij,...jk": ((2, 1, 3, 4), (5, 4, 2)),
        "i...,i...->...": ((3, 2, 4), (3, 4)),
        "...,...": ((2, 3), (3,)),
        "b...->...": ((3, 2, 4),),
        "...i->i": ((2, 3, 4),),
        " i j , j k -> i k ": ((2, 3), (3, 4)),
        "ij,jk->i": ((2, 3), (3, 4)),
        "ij,ij->ij": ((1, 3), (2, 1)),
        "ij,jk->ik|ones": ((2, 1), (3, 4)),
        ",ij->ij": ((), (2, 3)),
        "Ab,bA": ((2, 3), (3, 2)),
        "ii,ij->j": ((3, 3), (3, 2)),
        "ij->ij": ((2, 3),),
    }
    for i, (equation, shapes) in enumerate(equations.items()):
        equation = equation.split("|")[0]
        inputs = [randn(f"einsum {i} {k}", *shape) for k, shape in enumerate(shapes)]
        golden.case(f"einsum/{i}", lambda *t: torch.einsum(equation, *t), inputs, equation=equation)


def resizing(golden: Golden) -> None:
    x = randn("interpolate", 1, 2, 4, 5)
    ways = [{"size": [8, 10]}, {"size": [3, 7]}, {"size": [1, 1]}, {"size": [4, 5]}, {"size": [9, 2]}]
    ways += [{"scale_factor": [2.0, 2.0]}, {"scale_factor": [0.5, 1.7]}, {"scale_factor": [1.3, 0.7]}]
    for mode, align in (("nearest", None), ("bilinear", False), ("bilinear", True)):
        for i, way in enumerate(ways):
            function = lambda t: functional.interpolate(t, **way, mode=mode, align_corners=align)
            name = f"interpolate/{mode}_{'corners_' if align else ''}{i}"
            golden.case(name, function, [x], **way, mode=mode, align_corners=bool(align))


def shape_golden() -> tuple[dict[str, Tensor], dict[str, str]]:
    golden = Golden()
    for part in (joining, rearranging, padding, products, resizing):
        part(golden)
    return finished(golden)
