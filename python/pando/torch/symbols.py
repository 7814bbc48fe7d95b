# SPDX-License-Identifier: Apache-2.0
"""Functions on symbols, the tensors of a program that is being traced. Numbers may stand for one operand of two. Types are
PyTorch's: integers keep all of their bits, and wrap."""
import math

import numpy as np
import torch

from pando import _core
from pando.torch.unsupported import Unsupported, refuse

_NAMES = {torch.float32: "float32", torch.int64: "int64", torch.int32: "int32", torch.uint8: "uint8", torch.bool: "bool",
          torch.bfloat16: "bfloat16"}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}


def dtype_name(dtype):
    """Pando's name of a type of PyTorch."""
    if dtype in _NAMES:
        return _NAMES[dtype]
    if dtype in (torch.float64, torch.float16):
        raise Unsupported(f"programs compute in float32 and not in {dtype}; use model.float() and inputs of float32")
    raise Unsupported(f"programs have no values of {dtype}; compute with float32, int64, int32, uint8 or bool")


def op(name, *inputs, **attributes):
    """The op of docs/ops.md."""
    return _core.op(name, list(inputs), **attributes)


def is_symbol(x):
    return isinstance(x, _core.Symbol)


def rank(x):
    return len(x.shape)


def size(x):
    return math.prod(x.shape)


def is_float(x):
    return x.dtype == "float32"


def constant(like, values, dtype=None):
    """The values in the program of the symbol `like`."""
    return _core.constant(like, np.asarray(values, dtype, order="C"))


def full(like, shape, value, dtype):
    """A tensor of one value; numbers that an integer type lacks are refused."""
    if dtype in ("int32", "int64", "uint8"):
        limits = np.iinfo(dtype)
        if value != int(value) or not limits.min <= value <= limits.max:
            refuse(f"{dtype} does not have the number {value}")
        value = int(value)
    return op("broadcast", constant(like, value, dtype), shape=[int(n) for n in shape])


# ---- types
def promoted(*inputs):
    """The name of the type in which PyTorch computes with these symbols and numbers."""
    inputs = [x if not is_symbol(x) else torch.empty([1] * rank(x), dtype=_DTYPES[x.dtype], device="meta") for x in inputs]
    if len(inputs) == 1:
        return dtype_name(torch.result_type(inputs[0], inputs[0]))
    common = torch.result_type(*inputs[:2])
    for x in inputs[2:]:
        common = torch.result_type(torch.empty([1], dtype=common, device="meta"), x)
    return dtype_name(common)


def _wrapped(x, dtype):
    """Integers of a wider type cut down to the bits of a narrower one, as C does; a cast alone would take the limits."""
    if dtype == "uint8":
        return op("cast", op("bitwise_and", x, full(x, [], 255, x.dtype)), dtype=dtype)
    bits = op("bitwise_and", op("add", x, full(x, [], 2**31, "int64")), full(x, [], 2**32 - 1, "int64"))
    return op("cast", op("subtract", bits, full(x, [], 2**31, "int64")), dtype=dtype)


def cast(x, dtype):
    """x as another type, by the rules of C for numbers that the other type has not got."""
    if x.dtype == dtype:
        return x
    if dtype == "bool":
        x = op("cast", x, dtype="int32") if x.dtype == "uint8" else x
        return op("not_equal", x, full(x, [], 0, x.dtype))
    if dtype == "uint8" and x.dtype != "bool":
        return _wrapped(x if x.dtype in ("int32", "int64") else op("cast", x, dtype="int32"), dtype)
    if dtype == "int32" and x.dtype == "int64":
        return _wrapped(x, dtype)
    return op("cast", x, dtype=dtype)


def as_indices(x):
    """Integers as Pando's indices; numbers beyond int32 become its limits, which are out of range for every table."""
    return x if x.dtype == "int32" else op("cast", x, dtype="int32")


def operand(x, like, dtype):
    """A symbol or a number as a symbol of the type."""
    return cast(x, dtype) if is_symbol(x) else full(like, [], x, dtype)


# ---- elementwise
def computed(name, *inputs, dtype=None, **attributes):
    """An elementwise op in the type that PyTorch computes in, or in `dtype`. uint8 is computed in int32, and wraps."""
    like = next(x for x in inputs if is_symbol(x))
    dtype = dtype or promoted(*inputs)
    wide = "int32" if dtype == "uint8" else dtype
    made = op(name, *[operand(x, like, wide) for x in inputs], **attributes)
    return cast(made, dtype) if made.dtype == wide != dtype else made


def floating(name, *inputs, **attributes):
    """An elementwise op of floats; integers and truth values become float32 before."""
    return computed(name, *inputs, dtype="float32", **attributes)


def add(a, b):
    return computed("add", a, b)


def subtract(a, b):
    return computed("subtract", a, b)


def multiply(a, b):
    return computed("multiply", a, b)


def divide(a, b):
    return floating("divide", a, b)


def negate(x):
    return computed("negate", x)


def absolute(x):
    return x if x.dtype in ("bool", "uint8") else computed("abs", x)


def square(x):
    return computed("square", x)


def less(a, b):
    return computed("less", a, b)


def greater(a, b):
    return computed("greater", a, b)


def equal(a, b):
    return computed("equal", a, b)


def not_equal(a, b):
    return computed("not_equal", a, b)


def both(a, b):
    return op("logical_and", cast(a, "bool"), cast(b, "bool"))


def either(a, b):
    return op("logical_or", cast(a, "bool"), cast(b, "bool"))


def negation(x):
    return op("logical_not", cast(x, "bool"))


def where(condition, a, b, dtype=None):
    """a where the condition holds, else b, in the type of both, or in `dtype`."""
    dtype = dtype or promoted(a, b)
    condition = cast(condition, "bool")
    wide = "int32" if dtype in ("bool", "uint8") else dtype
    made = op("select", condition, *[cast(operand(x, condition, dtype), wide) for x in (a, b)])
    return op("cast", made, dtype=dtype) if wide != dtype else made


def maximum(a, b):
    dtype = promoted(a, b)
    return either(a, b) if dtype == "bool" else computed("maximum", a, b, dtype=dtype)


def minimum(a, b):
    dtype = promoted(a, b)
    return both(a, b) if dtype == "bool" else computed("minimum", a, b, dtype=dtype)


def is_nan(x):
    return op("not_equal", x, x) if is_float(x) else full(x, x.shape, False, "bool")


# ---- gradients
def vjp(function, inputs, cotangent, wanted=None):
    """The vector-Jacobian product of the function: the gradients in the inputs, or None for those that are not wanted. Every
    backward op is one line for which Pando has the forward op, and its gradient is the one that Pando's passes know."""
    wanted = [True] * len(inputs) if wanted is None else list(wanted)
    held = [op("stop_gradient", x) for x in inputs]
    found = iter(_core.vjp([function(*held)], [cotangent], [x for x, needed in zip(held, wanted) if needed]))
    return [next(found) if needed else None for needed in wanted]
