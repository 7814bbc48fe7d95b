#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The training steps of train_step in PyTorch eager: a line "NAME MICROSECONDS" for each model.

Usage: torch_steps.py [MODEL...]      Exit status 3 if there is no PyTorch.
"""
import statistics
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit(3)

torch.set_num_threads(2)


def convolutions(channels, *filters):
    layers = []
    for count in filters:
        for _ in range(2):
            layers += [nn.Conv2d(channels, count, 3, padding=1), nn.ReLU()]
            channels = count
        layers.append(nn.MaxPool2d(2))
    return layers


def models():
    sgd = lambda module: torch.optim.SGD(module.parameters(), lr=0.01)
    adam = lambda module: torch.optim.Adam(module.parameters(), lr=0.01)
    image = (1, 28, 28)
    return {
        "mlp": (32, (784,), sgd, [nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)]),
        "keras_cnn": (64, image, sgd, [
            nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(1600, 10)]),
        "fashion": (32, image, adam, [
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(6272, 10)]),
        "poptorch_cnn": (8, image, sgd, [
            nn.Conv2d(1, 32, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.MaxPool2d(2), nn.ReLU(),
            nn.Flatten(), nn.Linear(1600, 128), nn.ReLU(), nn.Linear(128, 10)]),
        "vgg_small": (64, (3, 32, 32), sgd, convolutions(3, 32, 64, 128) + [
            nn.Flatten(), nn.Linear(2048, 128), nn.ReLU(), nn.Linear(128, 10)]),
        "large_mlp": (128, (512,), sgd, [
            nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)]),
        "lenet": (64, image, sgd, [
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]),
    }


def microseconds(batch, shape, optimizer, layers):
    module = nn.Sequential(*layers)
    update = optimizer(module)
    loss = nn.CrossEntropyLoss()
    x, labels = torch.rand(batch, *shape), torch.zeros(batch, dtype=torch.int64)
    times = []
    begin = time.perf_counter()
    while len(times) < 15 or time.perf_counter() - begin < 1:
        start = time.perf_counter()
        update.zero_grad()
        loss(module(x), labels).backward()
        update.step()
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times[3:])


for name, description in models().items():
    if len(sys.argv) == 1 or name in sys.argv[1:]:
        print(name, f"{microseconds(*description):.1f}", flush=True)
