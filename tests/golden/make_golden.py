#!/usr/bin/env python3
"""Writes the golden files of this folder with PyTorch. Run by hand; the tests only read what is committed.

    python3 make_golden.py [NAME…]  (PyTorch 2.15.0, CPU; no other package)

cifar_cnn.safetensors: the tutorial CNN's first ten steps on the CPU.
    0.weight 0.bias 2.weight 2.bias 6.weight 6.bias   initial weights, float32
    losses/float32, losses/float64     [10], the training loss of each step; both runs start from the float32
                                       weights and the float32 pixels, the second computes in float64
    final/<run>/<parameter>/sum        [], float64 sum of the parameter after the ten steps
    final/<run>/<parameter>/abs_sum    [], float64 sum of its absolute values
    final/<run>/<parameter>/head       [8], its first eight values in row-major order
The images are not stored: `synthetic_batch` below computes them with 32-bit integers, and so can a test.
Image n = 128 * batch + image; all integers are unsigned 32-bit:
    mix(h): h ^= h >> 16; h *= 0x7feb352d; h ^= h >> 15; h *= 0x846ca68b; h ^= h >> 16
    label(n) = mix(0x10000000 + n) % 10
    noise(n, channel, row, column) = mix(((3 n + channel) 32 + row) 32 + column) & 127
    block = ((3 label + channel) 4 + row / 8) 4 + column / 8
    pattern(label, channel, row, column) = mix(0x20000000 + block) & 127
    pixel = noise + pattern, in 0..254;  input = (pixel / 255 - 0.5) / 0.5 in float32
Batches 0..9 are used in this order; SGD with learning rate 0.01, momentum 0.9; mean cross entropy.

Families of operations have a file each: see FAMILIES, and golden_cases.py for what a case consists of.
`make_golden.py NAME…` writes those alone.
"""

import sys
from pathlib import Path

import torch

from golden_attention import attention_golden
from golden_images import images_golden
from golden_indexing import indexing_golden
from golden_losses import losses_golden
from golden_normalization import normalization_golden
from golden_ops import ops_golden
from golden_recurrent import recurrent_golden
from golden_resnet import resnet_golden
from golden_shape import shape_golden
from safetensors_writer import write_safetensors

FOLDER = Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[1] / "benchmarks"))
from tutorial_cnn import tutorial_cnn  # noqa: E402

BATCH = 128
STEPS = 10


def mix(h: torch.Tensor) -> torch.Tensor:
    """A 32-bit integer hash; int64 tensors hold the unsigned 32-bit values."""

    def times(value: torch.Tensor, factor: int) -> torch.Tensor:
        low = value * (factor & 0xFFFF)
        high = (value * (factor >> 16) & 0xFFFF) << 16
        return (low + high) & 0xFFFFFFFF

    h = h ^ (h >> 16)
    h = times(h, 0x7FEB352D)
    h = h ^ (h >> 15)
    h = times(h, 0x846CA68B)
    return h ^ (h >> 16)


def synthetic_batch(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    n = BATCH * batch + torch.arange(BATCH)
    labels = mix(0x10000000 + n) % 10
    channel = torch.arange(3).view(3, 1, 1)
    row = torch.arange(32).view(32, 1)
    column = torch.arange(32)
    noise = mix(((3 * n.view(-1, 1, 1, 1) + channel) * 32 + row) * 32 + column) & 127
    block = ((3 * labels.view(-1, 1, 1, 1) + channel) * 4 + row // 8) * 4 + column // 8
    pixels = noise + (mix(0x20000000 + block) & 127)
    return (pixels.float() / 255 - 0.5) / 0.5, labels


def ten_steps(
    weights: dict[str, torch.Tensor], dtype: torch.dtype
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    model = tutorial_cnn().to(dtype)
    model.load_state_dict(weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    losses = []
    for batch in range(STEPS):
        images, labels = synthetic_batch(batch)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images.to(dtype)), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses), model.state_dict()


def cifar_cnn_golden() -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    torch.manual_seed(0)
    weights = tutorial_cnn().state_dict()
    tensors = {name: weight.clone() for name, weight in weights.items()}
    for run, dtype in (("float32", torch.float32), ("float64", torch.float64)):
        losses, final = ten_steps(weights, dtype)
        tensors[f"losses/{run}"] = losses
        for name, weight in final.items():
            tensors[f"final/{run}/{name}/sum"] = weight.double().sum()
            tensors[f"final/{run}/{name}/abs_sum"] = weight.double().abs().sum()
            tensors[f"final/{run}/{name}/head"] = weight.flatten()[:8].clone()
        print(run, [f"{loss:.7f}" for loss in losses.tolist()])
    metadata = {
        "torch": torch.__version__.split("+")[0],
        "steps": str(STEPS),
        "batch": str(BATCH),
        "optimizer": "SGD, lr 0.01, momentum 0.9",
        "images": __doc__[__doc__.index("Image n") : __doc__.index("Batches 0..9")],
    }
    return tensors, metadata


FAMILIES = {
    "attention": attention_golden,
    "cifar_cnn": cifar_cnn_golden,
    "images": images_golden,
    "indexing": indexing_golden,
    "losses": losses_golden,
    "normalization": normalization_golden,
    "ops": ops_golden,
    "recurrent": recurrent_golden,
    "resnet": lambda: resnet_golden(mix, synthetic_batch),
    "shape": shape_golden,
}


def main() -> None:
    torch.set_num_threads(1)
    for name, make in FAMILIES.items():
        if name in sys.argv[1:] or len(sys.argv) == 1:
            write_safetensors(FOLDER / f"{name}.safetensors", *make())


if __name__ == "__main__":
    main()
