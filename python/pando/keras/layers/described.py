# SPDX-License-Identifier: Apache-2.0
"""What layers say about themselves: names, shapes, weights. Layer derives from it."""
from __future__ import annotations

import inspect
import typing
from typing import Any, Sequence

import numpy as np

from pando import _core
from pando.core.hints import ArrayLike
from pando.core.nearest import missing_attribute
from pando.keras.layers.options import attribute_of, options_of
from pando.keras.variables import Variable
from pando.tensors.tensor import wrap


class Described:
    """The properties of a layer, read from its layer of C++."""

    @property
    def name(self) -> str:
        """The name that summaries and files have for it."""
        return self._layer.name

    @property
    def built(self) -> bool:
        """Whether it has its weights."""
        return self._layer.built

    @built.setter
    def built(self, value):
        pass

    @property
    def trainable(self) -> bool:
        """Whether ``fit`` changes its weights; set it before ``compile``."""
        return self._layer.trainable

    @trainable.setter
    def trainable(self, value):
        self._layer.trainable = bool(value)

    @property
    def dtype(self) -> str:
        """The type that it computes in."""
        return "float32"

    @property
    def weights(self) -> list[Any]:
        """All weights, those that are trained first."""
        return [Variable(parameter) for parameter in self._layer.weights()]

    variables = weights

    @property
    def trainable_weights(self) -> list[Any]:
        """The weights that ``fit`` changes."""
        return [Variable(parameter) for parameter in self._layer.trainable_weights()]

    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The weights that ``fit`` does not train, such as moving averages."""
        trained = {weight._parameter for weight in self.trainable_weights}
        return [weight for weight in self.weights if weight._parameter not in trained]

    non_trainable_variables = non_trainable_weights

    @property
    def input(self) -> Any:
        """The symbolic tensor, or the list of them, that it was called on."""
        return _one(self._of_first_call("inputs"))

    @property
    def output(self) -> Any:
        """The symbolic tensor, or the list of them, that it returned."""
        return _one(self._of_first_call("outputs"))

    @property
    def input_shape(self) -> Any:
        """The shape of its input, with ``None`` for the batch."""
        return _one([tuple(tensor.shape) for tensor in self._of_first_call("inputs")])

    @property
    def output_shape(self) -> Any:
        """The shape of its output, with ``None`` for the batch."""
        return _one([tuple(tensor.shape) for tensor in self._of_first_call("outputs")])

    def _of_first_call(self, which):
        try:
            return [wrap(symbol) for symbol in getattr(self._layer, which)()]
        except _core.Error as error:
            raise AttributeError(str(error)) from None

    if not typing.TYPE_CHECKING:
        def __getattr__(self, name):
            if name == "_layer":
                raise AttributeError(f"{type(self).__name__}: call super().__init__() first")
            if name.startswith("_"):
                raise AttributeError(name)
            found = inspect.getattr_static(type(self), name, None)
            if isinstance(found, property):
                # It has failed by an AttributeError of its own: that says what is missing.
                return found.fget(self)
            try:
                return attribute_of(self, name)
            except KeyError:
                known = [*self.__dict__, *options_of(self), *dir(type(self))]
                raise missing_attribute(type(self).__name__, name, known) from None

    def count_params(self) -> int:
        """The number of elements of all weights."""
        return self._layer.count_params()

    def get_weights(self) -> list[np.ndarray]:
        """The values of the weights, as a list of arrays."""
        return self._layer.get_weights()

    def set_weights(self, weights: Sequence[ArrayLike]) -> None:
        """Sets the values of the weights."""
        self._layer.set_weights(list(weights))

    def __repr__(self):
        return f"<{type(self).__module__}.{type(self).__qualname__} object '{self.name}'>"


def _one(values):
    return values[0] if len(values) == 1 else values
