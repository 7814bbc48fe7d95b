# SPDX-License-Identifier: Apache-2.0
"""Variable: a weight of a layer, seen from outside of its model."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando import _core
from pando.core.calls import current_call
from pando.tensors.tensor import Tensor


class Variable(Tensor):
    """A weight. Its value is read when it is used."""

    __slots__ = ("_parameter",)
    _result_class = Tensor

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter

    @property
    def _value(self):
        # A layer that is traced gets the weight itself, which is trained, not the numbers of this moment.
        call = current_call()
        return self._parameter.value() if call is None else call[1].parameter(self._parameter)

    def _symbol(self, like):
        """The weight as a tensor of the model that the symbol `like` belongs to."""
        return _core.weight(like, self._parameter) if current_call() is None else self._value

    @property
    def name(self) -> str:
        """The name, with that of its layer."""
        return self._parameter.name + ":0"

    @property
    def path(self) -> str:
        """The same name, as Keras 3 calls it."""
        return self._parameter.name

    @property
    def trainable(self) -> bool:
        """Whether ``fit`` may change it."""
        return self._parameter.trainable

    def value(self) -> Tensor:
        """The value as a tensor."""
        return Tensor(self._value)

    read_value = value

    def assign(self, value: Any) -> Variable:
        """Gives the weight another value, of the same shape."""
        self._parameter.set_value(np.asarray(value, dtype=np.float32))
        return self

    def assign_add(self, value: Any) -> Variable:
        """Adds to the value."""
        return self.assign(self._value + np.asarray(value))

    def assign_sub(self, value: Any) -> Variable:
        """Subtracts from the value."""
        return self.assign(self._value - np.asarray(value))

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    __str__ = __repr__
    __hash__ = Tensor.__hash__
