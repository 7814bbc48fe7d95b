# SPDX-License-Identifier: Apache-2.0
"""The same steps twice: by compile_step and by PyTorch."""
import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from pando.torch import compile_step


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 4))


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def batches(count=6, size=8):
    draw = torch.Generator().manual_seed(0)
    return [(torch.randn(size, 4, 4, generator=draw), torch.randint(0, 4, (size,), generator=draw)) for _ in range(count)]


def twins(model):
    return model, copy.deepcopy(model)


def eager_step(model, optimizer, loss=F.cross_entropy):
    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        return value.item()
    return step


def assert_equal_to_eager(make=mlp, change=None, loss=F.cross_entropy, data=None, optimizer=sgd):
    """Trains one model by compile_step and its twin by PyTorch; `change(model, optimizer, call)` comes before each call."""
    models = []
    for _ in range(2):
        torch.manual_seed(1)
        models.append(make())
    updates = [optimizer(model) for model in models]
    step, eager = compile_step(models[0], loss, updates[0]), eager_step(models[1], updates[1], loss)
    for i, batch in enumerate(data or batches()):
        if change is not None:
            for model, update in zip(models, updates):
                change(model, update, i)
        assert step(*batch).item() == pytest.approx(eager(*batch), rel=2e-5, abs=1e-6), f"call {i}: {step.report()}"
    for (name, a), (_, b) in zip(models[0].state_dict().items(), models[1].state_dict().items()):
        assert a.dtype == b.dtype and torch.allclose(a.double(), b.double(), 2e-5, 2e-5), name
    return models[0], models[1], step


class Scaled(nn.Module):
    """A layer with attributes of its own."""

    def __init__(self):
        super().__init__()
        self.layer, self.scale, self.calls = nn.Linear(16, 4), 1.0, 0

    def forward(self, x):
        return self.layer(x.flatten(1)) * self.scale
