import inspect
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from cases.cases import Case, Run, both, fastest, integers, normal, target

GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden"


def loss_cases() -> dict[str, Case]:
    logits, labels, x, y = normal(512, 1000), integers(1000, 512), normal(1024, 1024), target(1024, 1024)

    def kl(a, b):
        return functional.kl_div(a, b, reduction="batchmean")

    return {
        "cross_entropy and backward": both(functional.cross_entropy, logits, labels),
        "nll_loss and backward": both(functional.nll_loss, logits, labels),
        "mse_loss and backward": both(functional.mse_loss, x, y),
        "smooth_l1_loss and backward": both(functional.smooth_l1_loss, x, y),
        "bce_with_logits and backward": both(functional.binary_cross_entropy_with_logits, x, y),
        "kl_div and backward": both(kl, x, y),
    }


def parameters_with_gradients() -> list[torch.Tensor]:
    parameters = [torch.randn(100_000, requires_grad=True) for _ in range(20)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    return parameters


def step(optimizer: type[torch.optim.Optimizer], **options: float) -> Case:
    """A step of 20 parameters, in each way in which the optimizer may work."""
    ways = [{"foreach": False}, {"foreach": True}]
    if "fused" in inspect.signature(optimizer).parameters:
        ways.append({"fused": True})
    make = lambda way: optimizer(parameters_with_gradients(), **options, **way).step
    return lambda: fastest([lambda way=way: make(way) for way in ways])


def clipping() -> Run:
    """The bound falls from call to call: each one scales the gradients."""

    def case(foreach: bool) -> Run:
        parameters, bound = parameters_with_gradients(), 1000.0

        def run() -> None:
            nonlocal bound
            nn.utils.clip_grad_norm_(parameters, bound, foreach=foreach)
            bound *= 0.999

        return run

    return fastest([lambda foreach=foreach: case(foreach) for foreach in (False, True)])


def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, classes: int) -> Run:
    """zero_grad, forward, backward and step of a classifier."""
    labels = torch.randint(0, classes, (len(x),))

    def run() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(model(x), labels).backward()
        optimizer.step()

    return run


def mlp() -> Run:
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16))
    return training_step(model, torch.optim.SGD(model.parameters(), lr=0.01), torch.randn(16, 16), 16)


def resnet18() -> Run:
    sys.path.insert(0, str(GOLDEN))
    from golden_resnet import ResNet

    def case(memory_format: torch.memory_format) -> Run:
        model = ResNet((2, 2, 2, 2), bottleneck=False, cifar=True).to(memory_format=memory_format)
        images = torch.randn(32, 3, 32, 32).contiguous(memory_format=memory_format)
        return training_step(model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), images, 10)

    formats = (torch.contiguous_format, torch.channels_last)
    return fastest([lambda memory_format=memory_format: case(memory_format) for memory_format in formats])


def training_cases() -> dict[str, Case]:
    return {
        "SGD step": step(torch.optim.SGD, lr=1e-6, momentum=0.9),
        "Adam step": step(torch.optim.Adam, lr=1e-6),
        "AdamW step": step(torch.optim.AdamW, lr=1e-6),
        "RMSprop step": step(torch.optim.RMSprop, lr=1e-6),
        "Adagrad step": step(torch.optim.Adagrad, lr=1e-6),
        "clip_grad_norm_": clipping,
        "MLP 16-16-16 step": mlp,
        "ResNet-18 step": resnet18,
    }
