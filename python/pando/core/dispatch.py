# SPDX-License-Identifier: Apache-2.0
"""The ops on tensors of any kind. What an op does depends on what its tensors hold:

- NumPy arrays: NumPy computes it at once (core/eager.py).
- a symbol of a model that is recorded or traced: C++ adds it to the graph; arrays and numbers become constants.
- what must wait, such as a parameter outside of a trace: the recorder of pando.torch notes it and computes later.

All packages call ops by the functions here and in core/ops.py; none calls C++ itself.
"""
import threading

import numpy as np

from pando import _core
from pando.core import eager
from pando.core.tensor import Tensor

Symbol = _core.Symbol
_NUMBERS = (bool, int, float, np.number, np.bool_)
_PLAIN = (np.ndarray, *_NUMBERS)
# Types that programs compute with; others are stored, and cast to these.
_COMPUTED = {"uint8": "int32", "int64": "int32", "bfloat16": "float32", "int8": "int32", "int16": "int32",
             "float16": "float32", "uint16": "int32", "uint32": "int32"}
_FLOATS = ("float32", "float64", "bfloat16", "float16")
_FLOAT_ONLY = frozenset(eager.FLOAT_UNARY) | frozenset(eager.FLOAT_BINARY)
_ARITHMETIC = frozenset(eager.BINARY) | frozenset(eager.FLOAT_BINARY) | frozenset(eager.COMPARISONS)
_LOGICAL = frozenset(eager.LOGICAL)


class _Mode(threading.local):
    # Whether a forward() is being traced on this thread: parameters are then symbols.
    tracing = False
    # record(name, values, attributes) -> value, for what can neither be computed nor traced now.
    record = None


mode = _Mode()


def set_recorder(record):
    """Makes `record` what notes ops that wait; pando.torch calls it when it is imported."""
    _Mode.record = staticmethod(record)


def value_of(source):
    """What a tensor holds; of anything else, the number itself or an array of it."""
    if isinstance(source, Tensor):
        return source._value
    if isinstance(source, _NUMBERS) or isinstance(source, (np.ndarray, Symbol)):
        return source
    if isinstance(source, (list, tuple)) and any(isinstance(part, Tensor) for part in source):
        return value_of(stack_values(source))
    if hasattr(source, "_pando_value"):
        return source._pando_value()
    return np.asarray(source)


def stack_values(parts):
    from pando.core import ops
    return ops.stack(list(parts))


def result_class(inputs):
    """The class of a result: that of the first tensor."""
    for source in inputs:
        if isinstance(source, Tensor):
            return source._result_class
        if isinstance(source, (list, tuple)):
            found = result_class(source)
            if found is not Tensor:
                return found
    return Tensor


def dtype_name(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.name
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float32"
    dtype = getattr(value, "dtype", "float32")
    return dtype if isinstance(dtype, str) else dtype.name


def is_number(value):
    """Whether it is a number rather than a tensor: its type does not decide that of a result."""
    return isinstance(value, _NUMBERS) and not isinstance(value, np.ndarray)


def common_type(values):
    """The type that operands are brought to: the largest of the tensors' types, a float before an integer."""
    names = [dtype_name(value) for value in values if not is_number(value)]
    numbers = [dtype_name(value) for value in values if is_number(value)]
    floats = [name for name in names if name in _FLOATS]
    if floats:
        return "float64" if "float64" in floats else "float32" if "float32" in floats else floats[0]
    if any(name in _FLOATS for name in numbers):
        return "float32"
    integers = [name for name in names + (numbers if not names else []) if name != "bool"]
    if not integers:
        return "int64" if any(name == "int64" for name in numbers) else "bool"
    return max(integers, key=lambda name: (np.dtype(name).itemsize, name.startswith("i")))


def _operand_type(name, values):
    """The type that the operands of this op take, or None if they stay as they are."""
    if name in _LOGICAL:
        return "bool"
    if name == "select":
        return common_type(values[1:])
    if name not in _ARITHMETIC and name not in _FLOAT_ONLY and name != "concat" and not name.startswith("reduce_"):
        return None
    found = common_type(values)
    if name in _FLOAT_ONLY and found not in _FLOATS:
        return found if name == "power" and all(dtype_name(value) not in _FLOATS for value in values) else "float32"
    return found


def call(name, *inputs, title="", **attributes):
    """The tensor that the op of this name makes; `title` is the name that summaries show."""
    values = [value_of(source) for source in inputs]
    like = next((value for value in values if isinstance(value, Symbol)), None)
    if like is not None:
        # A weight outside of its layer is the weight, not the numbers that it has now.
        values = [source._symbol(like) if isinstance(source, Tensor) else value for source, value in zip(inputs, values)]
    made = call_values(name, values, attributes, title)
    cls = result_class(inputs)
    return cls(made)


def call_values(name, values, attributes, title=""):
    """The same for what tensors hold."""
    kinds = _kinds(values)
    if kinds == "symbol":
        return traced(name, values, attributes, title)
    if kinds == "array" and eager.FUNCTIONS.get(name) is not None:
        return computed(name, values, attributes)
    if mode.record is None:
        import pando.torch.lazy  # noqa: F401, the recorder
    return mode.record(name, values, attributes)


def _kinds(values):
    kind = "array"
    for value in values:
        if isinstance(value, Symbol):
            return "symbol"
        if not isinstance(value, _PLAIN):
            kind = "waiting"
    return "symbol" if kind == "waiting" and mode.tracing else kind


def computed(name, values, attributes):
    """The array that NumPy makes of arrays and numbers."""
    wanted = _operand_type(name, values)
    arrays = [np.asarray(value) for value in values]
    if wanted is not None:
        first = 1 if name == "select" else 0
        arrays[first:] = [a if a.dtype == wanted else a.astype(wanted) for a in arrays[first:]]
    with np.errstate(all="ignore"):
        try:
            result = np.asarray(eager.FUNCTIONS[name](*arrays, **attributes))
        except ValueError as error:
            raise ValueError(_mismatch(name, arrays, attributes)) from error
    if name in eager.COMPARISONS or name in _LOGICAL or wanted is None:
        return result
    if name == "reduce_sum" and wanted == "bool":
        return result
    return result if result.dtype == wanted else result.astype(wanted)


def _mismatch(name, arrays, attributes):
    """What is said instead of NumPy's own words about shapes."""
    shapes = [str(array.shape) for array in arrays]
    given = ", ".join(f"{key}={value!r}" for key, value in attributes.items() if value not in (None, False))
    what = (f"a tensor of shape {shapes[0]}" if len(shapes) == 1 else
            f"tensors of shapes {', '.join(shapes[:-1])} and {shapes[-1]}")
    return f"{name}: cannot take {what}" + (f", with {given}" if given else "")


def symbols_of(values):
    """The values as symbols of one model."""
    values = [value if isinstance(value, (Symbol, np.ndarray, *_NUMBERS)) else value.symbol() for value in values]
    like = next(value for value in values if isinstance(value, Symbol))
    return [value if isinstance(value, Symbol) else _core.constant(like, _constant(value)) for value in values]


def _constant(value):
    array = np.asarray(value)
    if array.dtype == np.float64:
        return array.astype(np.float32)
    return array.astype(np.int32) if array.dtype.kind in "iu" else array


def traced(name, values, attributes, title):
    """The symbol that C++ makes of symbols and constants."""
    wanted = _operand_type(name, values)
    symbols = symbols_of(values)
    if wanted is not None:
        wanted = _COMPUTED.get(wanted, wanted)
        if wanted == "bool" and name not in _LOGICAL and name not in ("select", "concat"):
            wanted = "int32"
        first = 1 if name == "select" else 0
        symbols[first:] = [s if s.dtype == wanted else _core.op("cast", [s], dtype=wanted) for s in symbols[first:]]
    if name == "select" and symbols[0].dtype != "bool":
        symbols[0] = _core.op("cast", [symbols[0]], dtype="bool")
    if name in ("gather", "sparse_softmax_cross_entropy", "one_hot") and symbols[-1].dtype != "int32":
        symbols[-1] = _core.op("cast", [symbols[-1]], dtype="int32")
    if name == "power" and wanted not in _FLOATS:
        symbols = [_core.op("cast", [symbol], dtype="float32") for symbol in symbols]
    return _core.op(name, symbols, title=title, **attributes)
