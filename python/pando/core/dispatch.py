# SPDX-License-Identifier: Apache-2.0
"""The ops on tensors of any kind. What an op does depends on what its tensors hold:

- NumPy arrays: NumPy computes it at once (core/eager.py), or a program does where NumPy has no such function.
- a symbol of a model that is recorded or traced: C++ adds it to the graph; arrays and numbers become constants.

All packages call ops by the functions here and in core/ops.py; none calls C++ itself.
"""
import contextlib
import threading

import numpy as np

from pando import _core
from pando.core import eager
from pando.core.errors import TraceError
from pando.core.promotion import (FLOATS, NUMBERS, common_type, computed_type, dtype_name, fitted, is_number,
                                  operand_type)
from pando.core.tensor import FUNCTIONS, Tensor

Symbol = _core.Symbol


class _Mode(threading.local):
    # Whether integers may be divided only by what is known: a program makes 0 of x // 0, which is an error elsewhere.
    known_divisors = False


mode = _Mode()


@contextlib.contextmanager
def known_divisors():
    """Within it, integers are divided only by what is known when a function is traced."""
    before, mode.known_divisors = mode.known_divisors, True
    try:
        yield
    finally:
        mode.known_divisors = before


def value_of(source):
    """What a tensor holds; of anything else, the number itself or an array of it."""
    if isinstance(source, Tensor):
        return source._value
    if isinstance(source, NUMBERS) or isinstance(source, (np.ndarray, Symbol)):
        return source
    if isinstance(source, (list, tuple)) and any(isinstance(part, Tensor) for part in source):
        return value_of(FUNCTIONS["stack"](list(source)))
    return np.asarray(source)


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


def call(name, *inputs, title="", **attributes):
    """The tensor that the op of this name makes; `title` is the name that summaries show."""
    cls = result_class(inputs)
    values = [value_of(source) for source in inputs]
    like = next((value for value in values if isinstance(value, Symbol)), None)
    if like is not None:
        # A weight outside of its layer is the weight, not the numbers that it has now.
        values = [source._symbol(like) if isinstance(source, Tensor) else value for source, value in zip(inputs, values)]
    if any(isinstance(source, (list, tuple)) for source in inputs):
        values = _with_lists(name, inputs, values)
    if not cls._wraps_numbers:
        _check_numbers(name, values)
    return cls(call_values(name, values, attributes, title))


def _with_lists(name, inputs, values):
    """The values, with the numbers of lists in the type of the tensors beside them, as single numbers are."""
    known = [value for source, value in zip(inputs, values) if not isinstance(source, (list, tuple))]
    known = common_type(known) if any(not is_number(value) for value in known) else None
    for i, source in enumerate(inputs):
        if isinstance(source, (list, tuple)) and isinstance(values[i], np.ndarray):
            if values[i].dtype.kind in "iu" and np.dtype(known or "int32").kind in "iu":
                values[i] = fitted(name, values[i], known) if known else values[i]
            elif values[i].dtype == np.float64 and known != "float64":
                values[i] = values[i].astype(np.float32)
    return values


def _check_numbers(name, values):
    """Raises OverflowError for an integer that the type of the tensors beside it has not got."""
    if any(type(value) is int for value in values) and (wanted := operand_type(name, values)) is not None:
        for value in values:
            if type(value) is int and wanted not in FLOATS and wanted != "bool":
                fitted(name, value, wanted)


def call_values(name, values, attributes, title=""):
    """The same for what tensors hold."""
    if any(isinstance(value, Symbol) for value in values):
        return traced(name, values, attributes, title)
    if name in eager.FUNCTIONS:
        return computed(name, values, attributes)
    return _run(name, values, attributes)


def _run(name, values, attributes):
    """The array that a program of this one op makes of arrays and numbers."""
    arrays = [_constant(value) for value in values]
    program = _core.TensorProgram(name, lambda symbols: [traced(name, symbols, attributes, "")])
    return program(arrays)[0]


def computed(name, values, attributes):
    """The array that NumPy makes of arrays and numbers."""
    wanted = operand_type(name, values)
    arrays = [np.asarray(value) for value in values]
    if wanted is not None:
        first = 1 if name == "select" else 0
        arrays[first:] = [a if a.dtype == wanted else a.astype(wanted) for a in arrays[first:]]
    with np.errstate(all="ignore"):
        try:
            result = np.asarray(eager.FUNCTIONS[name](*arrays, **attributes))
        except ValueError as error:
            raise ValueError(_mismatch(name, arrays, attributes)) from error
    if name in eager.COMPARISONS or name in eager.LOGICAL or wanted is None:
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
    values = [value if isinstance(value, (Symbol, np.ndarray, *NUMBERS)) else value.symbol() for value in values]
    like = next(value for value in values if isinstance(value, Symbol))
    return [value if isinstance(value, Symbol) else _core.constant(like, _constant(value)) for value in values]


def _constant(value):
    array = np.asarray(value)
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if is_number(value) and array.dtype == np.int64 and -2**31 <= value < 2**31:
        return array.astype(np.int32)
    return fitted("constant", array, np.int64) if array.dtype == np.uint64 else array


def traced(name, values, attributes, title):
    """The symbol that C++ makes of symbols and constants."""
    wanted = operand_type(name, values)
    if name == "power" and wanted not in FLOATS:
        return _integer_power(values[0], values[1])
    if mode.known_divisors and name in ("floor_divide", "remainder") and wanted not in FLOATS:
        _check_divisor(name, values[1])
    symbols = symbols_of(values)
    if name == "cast":
        return _cast(symbols[0], getattr(attributes["dtype"], "name", attributes["dtype"]), title)
    if name == "argmax" and symbols[0].dtype in ("bool", "uint8"):
        symbols[0] = _cast(symbols[0], "int32")
    if wanted is not None:
        held = wanted if name in eager.LOGICAL or name == "concat" else computed_type(wanted)
        first = 1 if name == "select" else 0
        symbols[first:] = [_cast(symbol, held) for symbol in symbols[first:]]
    if name == "select":
        symbols[0] = _cast(symbols[0], "bool")
    if name in ("gather", "sparse_softmax_cross_entropy", "one_hot") and symbols[-1].dtype != "int32":
        # Not by _cast(): an index out of range must stay out of range.
        symbols[-1] = _core.op("cast", [symbols[-1]], dtype="int32")
    made = _core.op(name, symbols, title=title, **attributes)
    if wanted not in ("uint8", "bool") or name in eager.COMPARISONS or name in eager.LOGICAL:
        return made
    return made if name in ("reduce_sum", "concat") and wanted == "bool" else _cast(made, wanted)


def _cast(symbol, dtype, title=""):
    """The symbol as another type. Integers keep their low bits, as in NumPy; the op would clip them."""
    if symbol.dtype == dtype:
        return symbol
    if dtype not in ("bfloat16", "bool", "uint8"):
        computed_type(dtype)
    if dtype == "uint8" and symbol.dtype in ("int32", "int64"):
        symbol = _with_number("bitwise_and", symbol, 255)
    elif dtype == "int32" and symbol.dtype == "int64":
        low = _with_number("bitwise_and", _with_number("add", symbol, 2**31), 2**32 - 1)
        symbol = _with_number("subtract", low, 2**31)
    return _core.op("cast", [symbol], title=title, dtype=dtype)


def _with_number(name, symbol, number):
    return _core.op(name, [symbol, _core.constant(symbol, np.asarray(number, symbol.dtype))])


def _check_divisor(name, divisor):
    if isinstance(divisor, Symbol) or not np.all(divisor):
        raise TraceError(f"{name} of integers needs a divisor that is known, and not 0, when the function is traced")


def _integer_power(base, exponent):
    """A product of squares."""
    if not isinstance(exponent, (int, np.integer)) or exponent < 0:
        raise TraceError("power: a program needs an integer that is not below 0 as the power of integers; cast them to "
                         "float32")
    result = None
    for bit in reversed(bin(exponent)[2:]):
        if bit == "1":
            result = base if result is None else traced("multiply", [result, base], {}, "")
        base = traced("square", [base], {}, "")
    return result if result is not None else traced("add", [traced("multiply", [base, 0], {}, ""), 1], {}, "")
