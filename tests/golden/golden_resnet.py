"""Golden losses of ResNet-18 with the CIFAR stem: ten steps of SGD from weights that a hash gives.

    losses/float32, losses/float64     [10], the training loss of each step
    logits/<model>                     [2, 10], of resnet34 (CIFAR stem) and resnet50 (ImageNet stem) in
                                       float64, in evaluation, for the first two images of batch 0
Weights are not stored. Parameter number p of the model (in the order of its state dict, buffers not counted)
with two or more dimensions has at flat index i
    (mix(0x40000000 + p * 0x01000000 + i) & 0xffff) / 32768 - 1, times sqrt(3 / fan_in) rounded to float32,
where fan_in is the product of all sizes but the first; vectors are 1 where their name ends in "weight" and 0
elsewhere.
Batches are the first 16 images of make_golden.py's synthetic ones. SGD with learning rate 2e-4, momentum 0.9,
weight decay 5e-4.
"""

import math

import torch
from torch import nn

BATCH = 16
STEPS = 10


class Block(nn.Module):
    """The basic block (bottleneck: 1x1, 3x3, 1x1) with torchvision's names."""

    def __init__(self, inputs: int, channels: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        outputs = channels * 4 if bottleneck else channels
        convolution = lambda i, o, k, s=1: nn.Conv2d(i, o, k, s, k // 2, bias=False)
        if bottleneck:
            self.conv1, self.bn1 = convolution(inputs, channels, 1), nn.BatchNorm2d(channels)
            self.conv2, self.bn2 = convolution(channels, channels, 3, stride), nn.BatchNorm2d(channels)
            self.conv3, self.bn3 = convolution(channels, outputs, 1), nn.BatchNorm2d(outputs)
        else:
            self.conv1, self.bn1 = convolution(inputs, channels, 3, stride), nn.BatchNorm2d(channels)
            self.conv2, self.bn2 = convolution(channels, outputs, 3), nn.BatchNorm2d(outputs)
        self.bottleneck = bottleneck
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        if self.bottleneck:
            y = self.bn3(self.conv3(y.relu()))
        return (y + (x if self.downsample is None else self.downsample(x))).relu()


class ResNet(nn.Module):
    def __init__(self, blocks: tuple[int, ...], bottleneck: bool, cifar: bool) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, *((3, 1, 1) if cifar else (7, 2, 3)), bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.pool = nn.Identity() if cifar else nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for stage, count in enumerate(blocks):
            channels, layers = 64 << stage, []
            for i in range(count):
                layers.append(Block(inputs, channels, 2 if stage and i == 0 else 1, bottleneck))
                inputs = channels * 4 if bottleneck else channels
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(self.bn1(self.conv1(x)).relu())
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def fill(model: nn.Module, mix) -> None:
    for number, (name, parameter) in enumerate(model.named_parameters()):
        with torch.no_grad():
            if parameter.dim() < 2:
                parameter.fill_(1 if name.endswith("weight") else 0)
                continue
            index = torch.arange(parameter.numel())
            bits = mix((0x40000000 + number * 0x01000000 + index) & 0xFFFFFFFF) & 0xFFFF
            fan_in = math.prod(parameter.shape[1:])
            bound = torch.tensor(math.sqrt(3 / fan_in), dtype=torch.float32)
            values = (bits.float() / 32768 - 1) * bound
            parameter.copy_(values.view(parameter.shape))


def resnet_golden(mix, synthetic_batch) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    tensors = {}
    for dtype in (torch.float32, torch.float64):
        model = ResNet((2, 2, 2, 2), bottleneck=False, cifar=True)
        fill(model, mix)
        model.to(dtype)
        optimizer = torch.optim.SGD(model.parameters(), lr=2e-4, momentum=0.9, weight_decay=5e-4)
        losses = []
        for batch in range(STEPS):
            images, labels = synthetic_batch(batch)
            optimizer.zero_grad()
            logits = model(images[:BATCH].to(dtype))
            loss = nn.functional.cross_entropy(logits, labels[:BATCH])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        name = str(dtype).removeprefix("torch.")
        tensors[f"losses/{name}"] = torch.stack(losses)
        print(name, [f"{loss:.6f}" for loss in losses])
    images = synthetic_batch(0)[0][:2].double()
    for name, model in {
        "resnet34": ResNet((3, 4, 6, 3), bottleneck=False, cifar=True),
        "resnet50": ResNet((3, 4, 6, 3), bottleneck=True, cifar=False),
    }.items():
        fill(model, mix)
        with torch.no_grad():
            tensors[f"logits/{name}"] = model.double().eval()(images)
    return tensors, {"torch": torch.__version__.split("+")[0]}
