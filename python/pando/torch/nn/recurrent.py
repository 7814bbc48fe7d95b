# SPDX-License-Identifier: Apache-2.0
"""RNN, LSTM and GRU, unrolled over the steps of their input: a program has one part for each step, so inputs must have
one length."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from pando.core import ops
from pando.core.hints import ArrayLike
from pando.torch.creation import rand
from pando.torch.nn import functional
from pando.torch.nn.module import Module
from pando.torch.nn.parameter import Parameter
from pando.torch.tensor import Tensor


def _cell_lstm(x, state, gates_of, size):
    h, c = state
    i, f, g, o = ops.split(gates_of(x, h), [size] * 4, -1)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    return ops.sigmoid(o) * ops.tanh(c), c


class _Gated(Module):
    """Weights of gates: those of the input and those of the state, each with a bias."""
    _gates = 1

    def _add_weights(self, suffix, inputs, hidden, bias):
        limit = 1 / math.sqrt(hidden)
        shapes = {f"weight_ih{suffix}": (self._gates * hidden, inputs), f"weight_hh{suffix}": (self._gates * hidden, hidden)}
        if bias:
            shapes.update({f"bias_ih{suffix}": (self._gates * hidden,), f"bias_hh{suffix}": (self._gates * hidden,)})
        for name, shape in shapes.items():
            setattr(self, name, Parameter(rand(*shape) * 2 * limit - limit))

    def _products(self, suffix, x, h):
        bias = f"bias_ih{suffix}" in self._parameters
        return (functional.linear(x, getattr(self, f"weight_ih{suffix}"),
                                  getattr(self, f"bias_ih{suffix}") if bias else None),
                functional.linear(h, getattr(self, f"weight_hh{suffix}"),
                                  getattr(self, f"bias_hh{suffix}") if bias else None))

    def _step(self, suffix, x, state):
        raise NotImplementedError

    def _zeros(self, x):
        return Tensor(np.zeros((x.shape[0], self.hidden_size), np.float32))


class _Rnn(_Gated):
    _activation = staticmethod(ops.tanh)

    def _step(self, suffix, x, state):
        return (self._activation(sum(self._products(suffix, x, state[0]))),)


class _Lstm(_Gated):
    _gates = 4

    def _step(self, suffix, x, state):
        return _cell_lstm(x, state, lambda x, h: sum(self._products(suffix, x, h)), self.hidden_size)


class _Gru(_Gated):
    _gates = 3

    def _step(self, suffix, x, state):
        of_input, of_state = (ops.split(part, [self.hidden_size] * 3, -1) for part in self._products(suffix, x, state[0]))
        reset, update = ops.sigmoid(of_input[0] + of_state[0]), ops.sigmoid(of_input[1] + of_state[1])
        new = ops.tanh(of_input[2] + reset * of_state[2])
        return ((1 - update) * new + update * state[0],)


class _Layers(_Gated):
    """Layers of cells over a sequence: [length, batch, features], or [batch, length, features] if batch_first."""
    _states = 1

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: Any = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, **options: Any) -> None:
        super().__init__()
        if bidirectional or options.pop("proj_size", 0):
            raise ValueError(f"{type(self).__name__}: bidirectional and proj_size are not in Pando; leave them out")
        if options.pop("nonlinearity", "tanh") == "relu":
            self._activation = ops.relu
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.batch_first, self.dropout = batch_first, dropout
        for layer in range(num_layers):
            self._add_weights(f"_l{layer}", input_size if layer == 0 else hidden_size, hidden_size, bias)

    def flatten_parameters(self) -> Any:
        """Without effect: the weights of a layer are matrices already."""

    def forward(self, input: ArrayLike, hx: Any = None) -> Any:  # noqa: A002
        if len(input.shape) != 3:
            raise RuntimeError(f"{type(self).__name__}: the input has shape {list(input.shape)} but must have the axes "
                               "[length, batch, features]")
        axis = 1 if self.batch_first else 0
        steps = [ops.squeeze(part, axis) for part in ops.split(input, [1] * input.shape[axis], axis)]
        given = None if hx is None else hx if isinstance(hx, tuple) else (hx,)
        last = [[] for _ in range(self._states)]
        for layer in range(self.num_layers):
            state = tuple(self._zeros(steps[0]) if given is None else given[i][layer] for i in range(self._states))
            made = []
            for x in steps:
                state = self._step(f"_l{layer}", x, state)
                made.append(state[0])
            between = self.dropout > 0 and layer + 1 < self.num_layers
            steps = [functional.dropout(x, self.dropout, self.training) for x in made] if between else made
            for kept, part in zip(last, state):
                kept.append(part)
        states = tuple(ops.stack(kept, 0) for kept in last)
        return ops.stack(steps, axis), states if len(states) > 1 else states[0]

    def extra_repr(self) -> Any:
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", num_layers={self.num_layers}" if self.num_layers != 1 else ""
        text += ", batch_first=True" if self.batch_first else ""
        return text + (f", dropout={self.dropout}" if self.dropout else "")


class RNN(_Layers, _Rnn):
    """A plain recurrent network."""


class LSTM(_Layers, _Lstm):
    """Long short-term memory."""
    _states = 2


class GRU(_Layers, _Gru):
    """Gated recurrent units."""


class _Cell(_Gated):
    _states = 1

    def __init__(self, input_size: int, hidden_size: int, bias: Any = True, **_: Any) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self._add_weights("", input_size, hidden_size, bias)

    def forward(self, input: ArrayLike, hx: Any = None) -> Any:  # noqa: A002
        given = tuple(self._zeros(input) for _ in range(self._states)) if hx is None else hx if isinstance(
            hx, tuple) else (hx,)
        state = self._step("", input, given)
        return state if self._states > 1 else state[0]

    def extra_repr(self) -> Any:
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell, _Rnn):
    """One step of RNN."""


class LSTMCell(_Cell, _Lstm):
    """One step of LSTM."""
    _states = 2


class GRUCell(_Cell, _Gru):
    """One step of GRU."""
