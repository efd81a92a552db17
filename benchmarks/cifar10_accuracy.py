#!/usr/bin/env python3
"""PyTorch's test accuracy for the tutorial CNN or ResNet-18: the reference for examples/cifar10.

Trains on files in CIFAR-10's binary format (every data_batch_*.bin; test_batch.bin) with the demo's settings:
batch 128, shuffled, last batch kept, SGD with learning rate 0.01 and momentum 0.9, pixels / 255 normalised
with mean 0.5 and standard deviation 0.5. --augment: crops of 32 pixels from images with a border of 4 zero
pixels, half of them mirrored, as examples/resnet18 does. Prints a line per epoch, and at the end
each seed's final accuracy, their mean and its standard error.

    cifar10_accuracy.py [--data DIR] [--model cnn|resnet18] [--augment] [--epochs 5] [--seeds 3] [--threads N]
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "golden"))
from golden_resnet import ResNet
from tutorial_cnn import tutorial_cnn

RECORD_BYTES = 1 + 3 * 32 * 32


def default_data() -> Path:
    shared = os.environ.get("TERN_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    return Path(shared) / "cifar-10-sample"


def read_batches(paths: list[Path]) -> tuple[torch.Tensor, torch.Tensor]:
    records = numpy.concatenate(
        [numpy.fromfile(path, numpy.uint8).reshape(-1, RECORD_BYTES) for path in paths]
    )
    pixels = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())
    return (pixels.float() / 255 - 0.5) / 0.5, torch.from_numpy(records[:, 0].astype(numpy.int64))


def accuracy(model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    model.eval()
    with torch.no_grad():
        hits = sum(
            (model(x).argmax(1) == y).sum().item() for x, y in zip(images.split(500), labels.split(500))
        )
    return hits / len(labels)


def augmented(images: torch.Tensor) -> torch.Tensor:
    """-1 is what a zero pixel is once it is normalised."""
    padded = torch.nn.functional.pad(images, (4, 4, 4, 4), value=-1.0)
    tops, lefts = torch.randint(0, 9, (2, len(images)))
    crops = torch.stack([x[:, t : t + 32, l : l + 32] for x, t, l in zip(padded, tops, lefts)])
    return torch.where((torch.rand(len(images)) < 0.5)[:, None, None, None], crops.flip(3), crops)


def make_model(name: str) -> torch.nn.Module:
    if name == "cnn":
        model = tutorial_cnn()
    else:
        model = ResNet((2, 2, 2, 2), bottleneck=False, cifar=True)
        for layer in model.modules():  # torchvision's initial values, as Tern's
            if isinstance(layer, torch.nn.Conv2d):
                torch.nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return model.to(memory_format=torch.channels_last)


def train(seed: int, options: argparse.Namespace, train_set: tuple, test_set: tuple) -> float:
    torch.manual_seed(seed)
    epochs, model = options.epochs, make_model(options.model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_function = torch.nn.CrossEntropyLoss()
    images, labels = train_set
    result = 0.0
    for epoch in range(epochs):
        total = 0.0
        model.train()
        for batch in torch.randperm(len(labels)).split(128):
            optimizer.zero_grad()
            inputs = augmented(images[batch]) if options.augment else images[batch]
            loss = loss_function(model(inputs), labels[batch])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        result = accuracy(model, *test_set)
        print(
            f"seed {seed} epoch {epoch + 1} train_loss {total / len(labels):.4f} test accuracy {result:.4f}",
            flush=True,
        )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=default_data())
    parser.add_argument("--model", choices=("cnn", "resnet18"), default="cnn")
    parser.add_argument("--augment", action="store_true")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if not (options.data / "test_batch.bin").exists():
        parser.error(
            f"no test_batch.bin in {options.data}: give --data DIR with files in CIFAR-10's binary format"
        )
    torch.set_num_threads(options.threads)
    train_set = read_batches(sorted(options.data.glob("data_batch_*.bin")))
    test_set = read_batches([options.data / "test_batch.bin"])
    results = [train(seed, options, train_set, test_set) for seed in range(options.seeds)]
    print("final " + " ".join(f"{result:.4f}" for result in results))
    error = statistics.stdev(results) / len(results) ** 0.5 if len(results) > 1 else float("nan")
    print(f"mean {statistics.mean(results):.4f} standard error {error:.4f}")


if __name__ == "__main__":
    main()
