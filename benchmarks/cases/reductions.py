import torch

from cases.cases import Case, both, forward, normal, positive, truth


def reduction_cases() -> dict[str, Case]:
    x = normal(1024, 1024)
    return {
        "sum": forward(torch.sum, x),
        "sum of rows": forward(lambda a: a.sum(1), x),
        "sum of columns": forward(lambda a: a.sum(0), x),
        "sum over the middle dimension": forward(lambda a: a.sum(1), normal(64, 128, 128)),
        "sum and backward": both(lambda a: a.sum(1), x),
        "mean": forward(torch.mean, x),
        "var of rows": forward(lambda a: a.var(1), x),
        "std": forward(torch.std, x),
        "std of rows": forward(lambda a: a.std(1), x),
        "prod of rows": forward(lambda a: a.prod(1), positive(1024, 1024)),
        "logsumexp of rows": forward(lambda a: a.logsumexp(1), x),
        "max of rows": forward(lambda a: a.amax(1), x),
        "argmax of rows": forward(lambda a: a.argmax(1), x),
        "argmax of columns": forward(lambda a: a.argmax(0), x),
        "any": forward(torch.any, truth(False, 1024, 1024)),
        "any of rows": forward(lambda a: a.any(1), truth(False, 1024, 1024)),
        "norm": forward(torch.linalg.vector_norm, x),
    }
