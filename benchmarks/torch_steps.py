#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The training steps of train_step in PyTorch: a line "NAME MICROSECONDS" for each model.

Usage: torch_steps.py [--device cpu|cuda] [--graph | --compile] [MODEL...]

The steps are eager ones, on two threads or on a GPU; with --graph the GPU replays one CUDA graph for a step, with --compile
torch.compile makes the module's passes. All of them compute in float32, without tf32. Exit status 3 if there is no PyTorch.
"""
import argparse
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


class Residual(nn.Module):
    """relu(x + two convolutions of x)."""

    def __init__(self, channels):
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.first(x))))


def models(graph):
    sgd = lambda module: torch.optim.SGD(module.parameters(), lr=0.01)
    # A graph cannot count steps on the host.
    adam = lambda module: torch.optim.Adam(module.parameters(), lr=0.01, **({"capturable": True} if graph else {}))
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
        "strided": (48, (2, 24, 24), sgd, [
            nn.Conv2d(2, 12, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(12, 20, 3, stride=2), nn.ReLU(), nn.Flatten(),
            nn.Linear(500, 7)]),
        "residual": (16, (3, 16, 16), adam, [
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), Residual(16), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1024, 40),
            nn.ReLU(), nn.Linear(40, 5)]),
    }


def captured(step):
    """The step as a CUDA graph, after a few steps in which PyTorch chooses kernels and allocates."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(5):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def microseconds(batch, shape, optimizer, layers, device, graph, compiled):
    module = nn.Sequential(*layers).to(device)
    mode = "reduce-overhead" if device == "cuda" else "default"
    forward = torch.compile(module, mode=mode) if compiled else module
    update = optimizer(module)
    loss = nn.CrossEntropyLoss()
    x = torch.rand(batch, *shape, device=device)
    labels = torch.zeros(batch, dtype=torch.int64, device=device)

    def step():
        update.zero_grad()
        loss(forward(x), labels).backward()
        update.step()

    run = captured(step) if graph else step
    # A GPU works while the host goes on, so only many steps together can be measured.
    steps = 50 if device == "cuda" else 1
    times = []
    begin = time.perf_counter()
    for _ in range(10):
        run()
    while len(times) < 15 or time.perf_counter() - begin < 0.5:
        start = time.perf_counter()
        for _ in range(steps):
            run()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / steps * 1e6)
    return statistics.median(times[3:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    for name, description in models(options.graph).items():
        if not options.models or name in options.models:
            print(name, f"{microseconds(*description, options.device, options.graph, options.compile):.1f}", flush=True)


main()
