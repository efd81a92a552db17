import torch
from torch.nn import functional

from cases.cases import Case, both, forward, integers, normal


def indexing_cases() -> dict[str, Case]:
    x, places, rows = normal(1024, 1024), integers(1024, 1024, 1024), integers(1024, 1024)

    def gathered(a, index):
        return a.gather(1, index)

    def scattered(a, index, src):
        return a.scatter_add(1, index, src)

    def selected(a, index):
        return a.index_select(0, index)

    return {
        "gather": forward(gathered, x, places),
        "gather and backward": both(gathered, x, places),
        "scatter_add": forward(scattered, x, places, x),
        "scatter_add and backward": both(scattered, x, places, x),
        "index_select": forward(selected, x, rows),
        "index_select and backward": both(selected, x, rows),
        "sort": forward(torch.sort, x),
        "sort int64": forward(torch.sort, places),
        "topk": forward(lambda a: a.topk(10), x),
        "cumsum": forward(lambda a: a.cumsum(1), x),
        "cumsum of columns": forward(lambda a: a.cumsum(0), x),
    }


def copy_cases() -> dict[str, Case]:
    x, planes, half = normal(1024, 1024), normal(32, 64, 32, 32), normal(1024, 1024, dtype=torch.float16)
    return {
        "transposed copy": forward(lambda a: a.t().contiguous(), x),
        "permute NCHW to NHWC": forward(lambda a: a.permute(0, 2, 3, 1).contiguous(), planes),
        "clone": forward(torch.clone, x),
        "to float16": forward(lambda a: a.to(torch.float16), x),
        "to bfloat16": forward(lambda a: a.to(torch.bfloat16), x),
        "to float64": forward(lambda a: a.to(torch.float64), x),
        "float16 to float32": forward(lambda a: a.to(torch.float32), half),
        "flip": forward(lambda a: a.flip(1), x),
        "roll": forward(lambda a: a.roll(100, 1), x),
        "pad": forward(lambda a: functional.pad(a, (1, 1, 1, 1)), planes),
        "pad reflect": forward(lambda a: functional.pad(a, (1, 1, 1, 1), "reflect"), planes),
        "cat": forward(lambda a, b: torch.cat((a, b), 1), x, x),
        "cat and backward": both(lambda a, b: torch.cat((a, b), 1), x, x),
        "stack": forward(lambda a, b: torch.stack((a, b)), x, x),
    }
