# SPDX-License-Identifier: Apache-2.0
"""Steps of torch.optim's optimizers by programs, for the tests of their rules and of their states."""
import numpy as np
import torch

from pando import _core
from pando.torch.optimizer_states import States
from pando.torch.optimizers import Rules, guard, rates_of

SHAPES = ((3, 4), (5,), ())
IS_OLD = torch.__version__ < "2"
# NAdam of PyTorch 1.13 computes something else without foreach.
NADAM = {"foreach": True} if IS_OLD else {}


class Program:
    """Steps of an optimizer by programs, which read and change the tensors of parameters and states."""

    def __init__(self, optimizer):
        self.optimizer, self.key, self.programs = optimizer, None, {}

    def step(self):
        """As optimizer.step(); parameters without a gradient are left out."""
        if guard(self.optimizer) != self.key:
            self.rules, self.key, self.used, self.programs = Rules(self.optimizer), guard(self.optimizer), None, {}
        used = [p for group in self.optimizer.param_groups for p in group["params"] if p.grad is not None]
        if list(map(id, used)) != self.used or not self.states.current():
            self.states, self.used, self.programs = States(self.rules, used), list(map(id, used)), {}
        classes, numbers = self.states.numbers()
        if classes not in self.programs:
            self.programs[classes] = self.compiled(used, classes, len(numbers))
        kept = [tensor for tensors in self.states.tensors for tensor in tensors]
        feeds = [*rates_of(self.optimizer), *numbers, *used, *[p.grad for p in used], *kept]
        found = self.programs[classes]([np.asarray(x.detach() if torch.is_tensor(x) else x) for x in feeds])
        with torch.no_grad():
            for tensor, value in zip([*used, *kept], found):
                tensor.copy_(torch.from_numpy(np.asarray(value)))
        self.states.advance()

    def compiled(self, used, classes, count):
        tensors, rules = self.states.tensors, self.rules

        def function(symbols):
            symbols = iter(symbols)
            rates, numbers, values, gradients, kept = (
                [next(symbols) for _ in range(n)]
                for n in (len(rates_of(self.optimizer)), count, len(used), len(used), sum(map(len, tensors))))
            kept = iter(kept)
            values, states = rules.emit(used, classes, rates, numbers, values, gradients,
                                        [[next(kept) for _ in state] for state in tensors])
            return [*values, *[symbol for state in states for symbol in state]]
        return _core.TensorProgram("update", function)


def parameters(dtype=torch.float32, shapes=SHAPES):
    made = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=made).to(dtype).requires_grad_() for shape in shapes]


def set_gradients(values, step, scale=1.0):
    made = torch.Generator().manual_seed(100 + step)
    for value in values:
        value.grad = (torch.randn(value.shape, generator=made) * scale).to(value.dtype)


def trained(make, by, dtype=torch.float32, steps=10):
    """Parameters and optimizer after some steps: `by` makes what steps of the optimizer."""
    values = parameters(dtype)
    optimizer = make(values)
    stepping = by(optimizer)
    for step in range(steps):
        set_gradients(values, step)
        stepping.step()
    return values, optimizer


def plainly(optimizer):
    return optimizer


def assert_same_states(found, expected, tolerance):
    """The same keys and kinds of values, and nearly the same numbers."""
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert list(found[key]) == list(value)
        for name, number in value.items():
            assert type(found[key][name]) is type(number), name
            if torch.is_tensor(number):
                assert (found[key][name].dtype, found[key][name].shape) == (number.dtype, number.shape), name
                torch.testing.assert_close(found[key][name], number, rtol=tolerance, atol=tolerance)
            else:
                assert found[key][name] == number, name
