#!/usr/bin/env python3
"""PyTorch's test accuracy for the tutorial CNN: the reference for examples/cifar10.

Trains on files in CIFAR-10's binary format (every data_batch_*.bin; test_batch.bin) with the demo's settings:
batch 128, shuffled, last batch kept, SGD with learning rate 0.01 and momentum 0.9, pixels / 255 normalised
with mean 0.5 and standard deviation 0.5, no augmentation. Prints a line per epoch, and at the end each seed's
final accuracy, their mean and its standard error.

    cifar10_accuracy.py [--data DIR] [--epochs 5] [--seeds 3] [--threads N]
"""

import argparse
import os
import statistics
from pathlib import Path

import numpy
import torch

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
    with torch.no_grad():
        hits = sum(
            (model(x).argmax(1) == y).sum().item() for x, y in zip(images.split(500), labels.split(500))
        )
    return hits / len(labels)


def train(seed: int, epochs: int, train_set: tuple, test_set: tuple) -> float:
    torch.manual_seed(seed)
    model = tutorial_cnn().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_function = torch.nn.CrossEntropyLoss()
    images, labels = train_set
    result = 0.0
    for epoch in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(labels)).split(128):
            optimizer.zero_grad()
            loss = loss_function(model(images[batch]), labels[batch])
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
    results = [train(seed, options.epochs, train_set, test_set) for seed in range(options.seeds)]
    print("final " + " ".join(f"{result:.4f}" for result in results))
    error = statistics.stdev(results) / len(results) ** 0.5 if len(results) > 1 else float("nan")
    print(f"mean {statistics.mean(results):.4f} standard error {error:.4f}")


if __name__ == "__main__":
    main()
