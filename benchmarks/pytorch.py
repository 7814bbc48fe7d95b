#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of PyTorch models: eager, by torch.compile and by pando.torch.compile_step, in turns in one process.

    PYTHONPATH=build/release/python python3 benchmarks/pytorch.py [MODEL...] [--device cuda] [--threads 2] [--loop 50]

Prints the shortest time of a step for each, and how many times as long as compile_step the others take. torch.compile needs
PyTorch 2 and a C++ compiler; it is left out where it fails."""
import argparse
import json
import time
import warnings

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812


class Cnn(nn.Module):
    """Keras's example for MNIST."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3), nn.Linear(1600, 10)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        return self.head(self.dropout(x.flatten(1)))


class Block(nn.Module):
    """A layer of a transformer that sees no later position."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.ahead, self.after = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.attend(self.ahead(x)).split(width, 2))
        scores = q @ k.transpose(2, 3) * (q.shape[-1] ** -0.5)
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        x = x + self.project((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.wide(self.after(x))))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, words, length):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.words(x) + self.places.weight[:x.shape[1]])))


class Residual(nn.Module):
    """Two convolutions beside a way past them."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.first, self.second = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(after), nn.BatchNorm2d(after)])
        self.past = nn.Identity() if before == after else nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False),
                                                                        nn.BatchNorm2d(after))

    def forward(self, x):
        return F.relu(self.past(x) + self.norms[1](self.second(F.relu(self.norms[0](self.first(x))))))


def resnet18():
    layers, before = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()], 64
    for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        layers.append(Residual(before, width, stride))
        before = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Lstm(nn.Module):
    """Reads an image row by row."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(28, 64, batch_first=True), nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def images(*shape, count=32, classes=10):
    return lambda: (torch.randn(count, *shape), torch.randint(0, classes, (count,)))


def text(count, length, words):
    return lambda: tuple(torch.randint(0, words, (count, length)) for _ in range(2))


def loss_of_words(scores, words):
    return F.cross_entropy(scores.flatten(0, 1), words.flatten())


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), images(784), F.cross_entropy),
    "cnn": (Cnn, images(1, 28, 28), F.cross_entropy),
    "gpt": (lambda: Gpt(2, 64, 4, 65, 32), text(16, 32, 65), loss_of_words),
    "resnet18": (resnet18, images(3, 32, 32), F.cross_entropy),
    "lstm": (Lstm, images(28, 28), F.cross_entropy),
}


def eager_step(model, loss, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        return value
    return step


def steps_of(name, device, loop):
    """A function for each way to train, which runs one step, and how many seconds the first one took."""
    make, data, loss = MODELS[name]
    torch.manual_seed(0)
    batch = tuple(part.to(device) for part in data())
    ways = {}

    def add(way, build, steps=1):
        model = make().to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        begin = time.perf_counter()
        try:
            step = build(model, optimizer)
            step()
        except Exception as error:  # noqa: BLE001, what cannot run is left out, and told
            print(f"{name}: {way} is left out: {type(error).__name__}: {str(error).splitlines()[0][:100]}")
            return
        ways[way] = step, steps, time.perf_counter() - begin

    def plain(model, optimizer):
        step = eager_step(model, loss, optimizer)
        return lambda: step(*batch)

    def compiled(model, optimizer):
        step = eager_step(torch.compile(model), loss, optimizer)
        return lambda: step(*batch)

    def pando(model, optimizer):
        from pando.torch import compile_step
        step = compile_step(model, loss, optimizer, strict=True)
        return lambda: step(*batch)

    def looped(model, optimizer):
        from pando.torch import compile_step
        step = compile_step(model, loss, optimizer, strict=True)
        return lambda: list(step.run([batch] * loop, steps_per_execution=loop))

    add("eager", plain)
    if hasattr(torch, "compile"):
        add("torch.compile", compiled)
    add("compile_step", pando)
    add(f"loop of {loop}", looped, loop)
    return ways


def shortest(ways, device, seconds):
    """Microseconds of the shortest step of each way, measured in turns."""
    best = dict.fromkeys(ways, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for way, (step, steps, _) in ways.items():
            begin = time.perf_counter()
            for _ in range(3):
                step()
            if device == "cuda":
                torch.cuda.synchronize()
            best[way] = min(best[way], (time.perf_counter() - begin) / 3 / steps * 1e6)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS), help=", ".join(MODELS))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, help="the threads that PyTorch uses")
    parser.add_argument("--loop", type=int, default=50, help="the steps of an execution of the loop")
    parser.add_argument("--seconds", type=float, default=10, help="how long a model is measured")
    parser.add_argument("--json", help="also writes the times to this file")
    arguments = parser.parse_args()
    for name in arguments.models:
        if name not in MODELS:
            parser.error(f"there is no model named '{name}'; there are {', '.join(MODELS)}")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    warnings.filterwarnings("ignore", message=".*TensorFloat32.*")
    print(f"PyTorch {torch.__version__} on {arguments.device}, {torch.get_num_threads()} threads; microseconds a step with Adam")
    found = {}
    for name in arguments.models:
        ways = steps_of(name, arguments.device, arguments.loop)
        best = shortest(ways, arguments.device, arguments.seconds)
        unit = best.get("compile_step", float("nan"))
        print(f"{name:9s} " + "   ".join(f"{way} {best[way]:,.0f} ({best[way] / unit:.2f} x, first {ways[way][2]:.2f} s)"
                                         for way in ways), flush=True)
        found[name] = {way: {"microseconds": best[way], "first_seconds": ways[way][2]} for way in ways}
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"pytorch": torch.__version__, "device": arguments.device, "models": found}, file, indent=2)


if __name__ == "__main__":
    main()
