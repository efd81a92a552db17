"""What golden files of single operations consist of, all in float64; tests/support/golden.h reads them.

An operation's case:
    <op>/<case>/input0, input1, …      the tensor arguments in the order of the operation's signature
    <op>/<case>/output, output1, …     the results (output1 may be the indices of max over a dimension)
    <op>/<case>/dy                     a fixed upstream gradient, where the first result is differentiable
    <op>/<case>/dinput0, …             the gradient of each floating-point input; none for class weights
`__metadata__` has, under `<op>/<case>`, a JSON object of the case's other parameters.
"""

import json
import zlib
from collections.abc import Callable

import torch

Tensor = torch.Tensor


class Golden:
    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.metadata: dict[str, str] = {"torch": torch.__version__.split("+")[0]}

    def case(
        self, name: str, function: Callable, inputs: list[Tensor], no_gradient: tuple = (), **parameters
    ) -> None:
        """Stores inputs, output and gradients; integer inputs and those in `no_gradient` get none."""
        torch.manual_seed(zlib.crc32(f"dy {name}".encode()))
        self.metadata[name] = json.dumps(parameters)
        wanted = [i for i, x in enumerate(inputs) if x.is_floating_point() and i not in no_gradient]
        arguments = [x.clone().requires_grad_(i in wanted) for i, x in enumerate(inputs)]
        outputs = function(*arguments)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        for i, x in enumerate(inputs):
            self.tensors[f"{name}/input{i}"] = x
        for i, y in enumerate(outputs):
            self.tensors[f"{name}/output{i or ''}"] = y.detach()
        if not outputs[0].requires_grad:
            return
        dy = torch.randn_like(outputs[0])
        self.tensors[f"{name}/dy"] = dy
        for i, dx in zip(wanted, torch.autograd.grad(outputs[0], [arguments[i] for i in wanted], dy)):
            self.tensors[f"{name}/dinput{i}"] = dx

    def optimizer(self, name: str, optimizer_class: type, **options) -> None:
        torch.manual_seed(zlib.crc32(name.encode()))
        self.metadata[name] = json.dumps(options)
        parameter = torch.randn(3, 4, dtype=torch.float64).requires_grad_()
        optimizer = optimizer_class([parameter], **options)
        self.tensors[f"{name}/step0/param"] = parameter.detach().clone()
        for step in range(1, 6):
            parameter.grad = torch.randn_like(parameter)
            self.tensors[f"{name}/step{step}/grad"] = parameter.grad.clone()
            optimizer.step()
            self.tensors[f"{name}/step{step}/param"] = parameter.detach().clone()


def randn(name: str, *shape: int) -> Tensor:
    """Normal values that depend only on the name and shape, so that a new case leaves the others alone."""
    generator = torch.Generator().manual_seed(zlib.crc32(f"{name} {shape}".encode()))
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def finished(golden: Golden) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of the file. What is not finite belongs into tests of special values."""
    for name, tensor in golden.tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise SystemExit(f"{name} is not finite")
    return golden.tensors, golden.metadata
