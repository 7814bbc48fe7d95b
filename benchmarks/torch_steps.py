#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The training steps of train_step in PyTorch: a line "NAME MICROSECONDS" for each model, the lowest of some.

Usage: torch_steps.py [--device cpu|cuda] [--graph | --compile] [MODEL...]

The steps are eager ones, on two threads or on a GPU; with --graph the GPU replays one CUDA graph for a step, with --compile
torch.compile makes the module's passes. All of them compute in float32, without tf32. Exit status 3 if there is no PyTorch.
"""
import argparse
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


class ResidualNorm(nn.Module):
    """relu(x + two convolutions of x), each with a normalisation; a convolution of x where its shape changes."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.both = nn.Sequential(*convolution_norm(channels, filters, 3, stride), nn.ReLU(),
                                  *convolution_norm(filters, filters, 3, 1))
        self.same = nn.Sequential(*convolution_norm(channels, filters, 1, stride)) if stride > 1 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.both(x) + self.same(x))


def convolution_norm(channels, filters, size, stride):
    return [nn.Conv2d(channels, filters, size, stride, size // 2, bias=False), nn.BatchNorm2d(filters)]


def resnet18():
    layers, channels = [*convolution_norm(3, 64, 3, 1), nn.ReLU()], 64
    for filters in (64, 128, 256, 512):
        for _ in range(2):
            layers.append(ResidualNorm(channels, filters, 1 if filters == channels else 2))
            channels = filters
    return layers + [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]


class Embedding(nn.Module):
    """A vector for each token and its place."""

    def __init__(self, vocabulary, length, width):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Parameter(torch.rand(length, width))

    def forward(self, x):
        return self.tokens(x) + self.places


class Attention(nn.Module):
    """x + what its earlier places tell each place."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.inner(self.norm(x)).split(width, 2))
        if hasattr(nn.functional, "scaled_dot_product_attention"):
            told = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            later = torch.full((length, length), -1e9, device=x.device).triu(1)
            told = torch.softmax(q @ k.transpose(2, 3) * (width // self.heads) ** -0.5 + later, 3) @ v
        return x + self.outer(told.transpose(1, 2).reshape(x.shape))


class Thought(nn.Module):
    """x + two dense layers of each place."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"),
                                    nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.layers(x)


def gpt_nano():
    return [Embedding(65, 64, 48), *(layer for _ in range(3) for layer in (Attention(48, 3), Thought(48))),
            nn.LayerNorm(48), nn.Linear(48, 65), nn.Flatten(0, 1)]


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
        "resnet18": (32, (3, 32, 32), sgd, resnet18()),
        "gpt_nano": (32, (64,), adam, gpt_nano()),
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


def goes_on(measured, seconds):
    """Long steps are measured less often, as train_step does it with its own."""
    return seconds < 0.5 or measured < 3 or (measured < 15 and seconds < 5)


def microseconds(batch, shape, optimizer, layers, device, graph, compiled):
    module = nn.Sequential(*layers).to(device)
    mode = "reduce-overhead" if device == "cuda" else "default"
    forward = torch.compile(module, mode=mode) if compiled else module
    update = optimizer(module)
    loss = nn.CrossEntropyLoss()
    has_tokens = isinstance(layers[0], Embedding)
    if has_tokens:
        x = torch.randint(layers[0].tokens.num_embeddings, (batch, *shape), device=device)
    else:
        x = torch.rand(batch, *shape, device=device)
    labels = torch.zeros(x.numel() if has_tokens else batch, dtype=torch.int64, device=device)

    def step():
        update.zero_grad()
        loss(forward(x), labels).backward()
        update.step()

    run = captured(step) if graph else step
    # A GPU works while the host goes on, so only many steps together can be measured.
    steps = 50 if device == "cuda" else 1
    for _ in range(2):
        run()
    begin = time.perf_counter()
    for _ in range(8):
        if time.perf_counter() - begin < 1:
            run()
    times = []
    begin = time.perf_counter()
    while goes_on(len(times), time.perf_counter() - begin):
        start = time.perf_counter()
        for _ in range(steps):
            run()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / steps * 1e6)
    return min(times)


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
