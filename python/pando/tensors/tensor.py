# SPDX-License-Identifier: Apache-2.0
"""tf.Tensor: the methods and the printing of TensorFlow's tensors."""
from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from pando import _core
from pando.core import dtypes
from pando.core.hints import DTypeLike
from pando.core.promotion import fitted
from pando.core.tensor import Tensor as _Tensor

# The sessions of TensorFlow 1 that were entered, the innermost one last: the default of `eval`.
sessions: list[Any] = []


class TensorShape(tuple):
    """Sizes, outermost first; None for one that is not known, such as the batch of a recorded model."""

    def as_list(self) -> list[Any]:
        """The sizes as a list."""
        return list(self)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self)

    ndims = rank

    @property
    def dims(self) -> Any:
        """The sizes as a list."""
        return list(self)

    def num_elements(self) -> int | None:
        """The product of the sizes; ``None`` if one is not known."""
        if any(size is None for size in self):
            return None
        return int(np.prod(self, dtype=np.int64))

    def is_fully_defined(self) -> bool:
        """Whether all sizes are known."""
        return all(size is not None for size in self)

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return TensorShape(found) if isinstance(index, slice) else found

    def __add__(self, other):
        return TensorShape(tuple(self) + tuple(other))

    def __repr__(self):
        return f"TensorShape({list(self)})"

    def __str__(self):
        return tuple.__repr__(self)


class Tensor(_Tensor):
    """An array of numbers, or a value of a graph that is known when a program runs."""
    __slots__ = ()
    _prefix = "tf"

    @property
    def shape(self) -> TensorShape:
        """The sizes; ``None`` for the batch of a recorded model."""
        return TensorShape(self._value.shape)

    def get_shape(self) -> TensorShape:
        """The sizes; ``None`` for the batch of a recorded model."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Checks that the shape is the tensor's; shapes are always known here."""
        if len(shape) != len(self.shape) or any(a is not None and b is not None and a != b
                                                for a, b in zip(shape, self.shape)):
            raise ValueError(f"set_shape: the tensor has shape {self.shape}, not {tuple(shape)}")

    @property
    def name(self) -> str:
        """The name, if the graph has one for it."""
        return getattr(self._value, "name", "") or "Tensor"

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> Any:
        """The value in a session, as in TensorFlow 1."""
        if session is None and not sessions:
            raise ValueError("eval: there is no default session; use `with tf.Session():` or give one")
        session = sessions[-1] if session is None else session
        return session.run(self, feed_dict)

    def __repr__(self):
        if isinstance(self._value, np.ndarray):
            text = np.array2string(self._value, separator=", ") if self._value.ndim else str(self._value)
            return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={text}>"
        return f"<Tensor: shape={self.shape}, dtype={self.dtype.name}>"

    def __str__(self):
        if isinstance(self._value, np.ndarray):
            return f"tf.Tensor({self._value}, shape={self.shape}, dtype={self.dtype.name})"
        return self.__repr__()


def wrap(value: Any) -> Any:
    """The tensor that holds a symbol or an array."""
    return Tensor(value)


def is_symbolic(value: Any) -> Any:
    """Whether it is a tensor of a model that is recorded or traced."""
    return isinstance(value, _core.Symbol) or isinstance(getattr(value, "_value", None), _core.Symbol)


def as_symbol(value: Any, like: Any) -> Any:
    """What C++ takes for a tensor; an array becomes a constant of the model that the tensors `like` belong to."""
    inner = getattr(value, "_value", value)
    if isinstance(inner, _core.Symbol):
        return inner
    array = inner if isinstance(inner, np.ndarray) and inner.dtype != np.float64 else default_array(inner)
    symbol = next(tensor._value for tensor in like if isinstance(getattr(tensor, "_value", None), _core.Symbol))
    return _core.constant(symbol, array)


def default_array(value: Any) -> np.ndarray:
    """An array of anything, with TensorFlow's types for Python's numbers: float32, and int32 if they all fit."""
    array = np.asarray(value)
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64 and (not array.size or -2**31 <= array.min() and array.max() < 2**31):
        return array.astype(np.int32)
    return fitted("convert", array, np.int64) if array.dtype.kind == "O" else array


def convert(value: Any, dtype: DTypeLike = None) -> Any:
    """An eager tensor of anything that NumPy makes an array of, with TensorFlow's default types."""
    if isinstance(value, Tensor) and dtype is None:
        return value
    if is_symbolic(value):
        from pando.core import ops
        return value if dtype is None else ops.cast(value, dtypes.of(dtype).name)
    if isinstance(value, (list, tuple)) and any(is_symbolic(part) for part in value):
        from pando.core import ops
        return ops.stack(list(value))
    array = np.asarray(getattr(value, "_value", value))
    if dtype is not None:
        return Tensor(fitted("convert", array, dtypes.of(dtype).numpy))
    return Tensor(array if isinstance(value, (np.ndarray, np.generic, _Tensor)) else default_array(array))
