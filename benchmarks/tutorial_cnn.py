"""The tutorial's CNN for CIFAR-10 in PyTorch, shared by the scripts that compare Tern with PyTorch."""

import torch


def tutorial_cnn() -> torch.nn.Sequential:
    """Conv(3→32) – ReLU – Conv(32→64) – ReLU – MaxPool(2) – Flatten – Linear(16384→10)."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 64, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(64 * 16 * 16, 10),
    )
