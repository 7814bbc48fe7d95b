# SPDX-License-Identifier: Apache-2.0
"""Tensor: the one class of tensors. tf.Tensor adds the methods and the printing of TensorFlow.

A tensor holds one of these in its slot `_value`:

- a NumPy array: its values are known;
- a symbol: it belongs to a model that is recorded or traced, and its values are known when a program runs.
"""
from __future__ import annotations

import typing
from typing import Any, Iterator

import numpy as np

from pando import _core
from pando.core import dtypes
from pando.core.errors import no_value
from pando.core.nearest import missing_attribute


# What operators call, by name: core/ops.py and core/indexing.py, which are written with tensors, put their functions here.
FUNCTIONS: dict[str, Any] = {}


def _operator(name: str) -> Any:
    def method(self, other):
        if not _is_operand(other):
            return NotImplemented
        return FUNCTIONS[name](self, other)
    return method


def _reflected(name: str) -> Any:
    def method(self, other):
        if not _is_operand(other) or (isinstance(other, (list, tuple)) and not self._takes_lists):
            return NotImplemented
        return FUNCTIONS[name](self._result_class(np.asarray(other)) if isinstance(other, np.ndarray) else other, self)
    return method


def _is_operand(other):
    return isinstance(other, (Tensor, int, float, np.ndarray, np.generic, list, tuple))


class Tensor(_core.Buffer):
    """An array of numbers, or a value of a model that is known later."""
    __slots__ = ("_value", "__weakref__")
    # NumPy leaves operators with a tensor to the tensor.
    __array_priority__ = 1000
    # Whether a list on the left of an operator is a tensor; otherwise a list takes the elements of a tensor.
    _takes_lists = True
    # Whether a number that its type has not got wraps; otherwise it is an error.
    _wraps_numbers = False
    _prefix = ""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __init_subclass__(cls, **arguments):
        super().__init_subclass__(**arguments)
        if "_result_class" not in cls.__dict__:
            cls._result_class = cls

    def _symbol(self, like):
        """What it holds, for an op with the symbol `like`."""
        return self._value

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return tuple(self._value.shape)

    @property
    def dtype(self) -> dtypes.DType:
        """The type of the elements."""
        return dtypes.of(self._value.dtype, self._prefix)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._value.shape)

    def _array(self, what):
        """Its values, as an array. Raises TraceError naming `what` if they are not known."""
        value = self._value
        if isinstance(value, np.ndarray):
            return value
        raise no_value(what)

    def numpy(self) -> np.ndarray:
        """The values as a NumPy array, which shares its memory with the tensor."""
        return self._array("numpy")

    def __array__(self, dtype=None):
        array = self._array("numpy")
        return array if dtype is None else array.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc, method, *inputs, **arguments):
        if method != "__call__" or arguments.get("out") is not None:
            return NotImplemented
        name = _UFUNCS.get(ufunc.__name__)
        if name is not None and not arguments and len(inputs) <= 2:
            return FUNCTIONS[name](*(self._result_class(x) if isinstance(x, np.ndarray) else x for x in inputs))
        arrays = [x._array(ufunc.__name__) if isinstance(x, Tensor) else x for x in inputs]
        result = ufunc(*arrays, **arguments)
        return self._result_class(np.asarray(result)) if not isinstance(result, tuple) else result

    def item(self) -> Any:
        """The value of a tensor of one element, as a Python number."""
        array = self._array("item")
        if array.size != 1:
            raise ValueError(f"only one element tensors can be converted to Python scalars; this one has {array.size}")
        return array.item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers."""
        return self._array("tolist").tolist()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if not self.dtype.is_integer:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __bool__(self) -> bool:
        array = self._array("bool")
        if array.size != 1:
            raise ValueError("The truth value of a tensor with more than one element is ambiguous; use any() or all()")
        return bool(array.item())

    def __format__(self, spec):
        return format(self.item(), spec) if spec and self.ndim == 0 else str(self)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        if self.shape[0] is None:
            raise no_value("len")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(len(self)))

    if not typing.TYPE_CHECKING:
        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            raise missing_attribute(f"{self._prefix or 'pando'}.Tensor", name, dir(type(self)))

    def __getitem__(self, index: Any) -> Any:
        return FUNCTIONS["get"](self, index)

    def __contains__(self, number):
        return bool((self._array("in") == number).any())

    def __hash__(self):
        return id(self)

    def __dlpack__(self, stream=None):
        return self._array("dlpack").__dlpack__()

    def __dlpack_device__(self):
        return self._array("dlpack").__dlpack_device__()

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _operator("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _operator("remainder"), _reflected("remainder")
    __pow__, __rpow__ = _operator("power"), _reflected("power")
    __matmul__, __rmatmul__ = _operator("matmul"), _reflected("matmul")
    __eq__, __ne__ = _operator("equal"), _operator("not_equal")
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __and__, __rand__ = _operator("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _operator("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _operator("bitwise_xor"), _reflected("bitwise_xor")

    def __invert__(self) -> Any:
        return FUNCTIONS["invert"](self)

    def __neg__(self) -> Any:
        return FUNCTIONS["negate"](self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return FUNCTIONS["abs"](self)

    def __repr__(self):
        if isinstance(self._value, np.ndarray):
            return f"Tensor({self._value!r})"
        return f"<Tensor of {self.dtype.name}{list(self.shape)}>"


Tensor._result_class = Tensor

# What NumPy's functions do with tensors; the others compute arrays.
_UFUNCS = {"add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "true_divide": "divide",
           "power": "power", "negative": "negate", "absolute": "abs", "sqrt": "sqrt", "exp": "exp", "log": "log",
           "sin": "sin", "cos": "cos", "tanh": "tanh", "square": "square", "maximum": "maximum", "minimum": "minimum",
           "floor_divide": "floor_divide", "remainder": "remainder", "bitwise_and": "bitwise_and",
           "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "invert": "invert", "floor": "floor",
           "ceil": "ceil", "rint": "round", "matmul": "matmul", "equal": "equal", "not_equal": "not_equal", "less": "less",
           "less_equal": "less_equal", "greater": "greater", "greater_equal": "greater_equal"}
