# SPDX-License-Identifier: Apache-2.0
"""The types that ops compute in. Tensors decide them: a float before an integer, and of integers the narrowest type that
has all their values. Numbers take the type of the tensors, unless a float meets integers."""
import numpy as np

from pando.core import eager
from pando.core.errors import TraceError

NUMBERS = (bool, int, float, np.number, np.bool_)
FLOATS = ("float32", "float64", "bfloat16", "float16")
_FLOAT_ONLY = frozenset(eager.FLOAT_UNARY) | frozenset(eager.FLOAT_BINARY)
_LOGICAL = frozenset(eager.LOGICAL)
_ARITHMETIC = frozenset((*eager.BINARY, *eager.BITWISE, *eager.FLOAT_BINARY, *eager.COMPARISONS))
_SAME = frozenset((*eager.UNARY, *eager.REDUCTIONS, "concat"))
# What programs compute these in. An integer result is brought back into its own type, in which it wraps.
_COMPUTED = {"uint8": "int32", "bool": "int32", "bfloat16": "float32", "float16": "float32"}
_IN_PROGRAMS = ("float32", "float64", "int32", "int64")


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
    return isinstance(value, NUMBERS) and not isinstance(value, np.ndarray)


def common_type(values):
    """The type that operands are brought to."""
    names = [dtype_name(value) for value in values if not is_number(value)]
    numbers = [dtype_name(value) for value in values if is_number(value)]
    floats = [name for name in names if name in FLOATS]
    if floats:
        return "float64" if "float64" in floats else "float32" if "float32" in floats else floats[0]
    if any(name in FLOATS for name in numbers):
        return "float32"
    integers = [name for name in names + (numbers if not names else []) if name != "bool"]
    if not integers:
        return "int64" if any(name == "int64" for name in numbers) else "bool"
    found = np.result_type(*map(np.dtype, integers)).name
    if found in FLOATS:
        raise TypeError(f"no type of integers has all values of {' and '.join(sorted(set(integers)))}; cast one of them")
    return found


def operand_type(name, values):
    """The type that the operands of this op take, or None if they stay as they are."""
    if name in _LOGICAL:
        return "bool"
    if name == "select":
        return common_type(values[1:])
    if name not in _ARITHMETIC and name not in _FLOAT_ONLY and name not in _SAME:
        return None
    found = common_type(values)
    if name in eager.COMPARISONS and found in FLOATS:
        # In float32, a large integer would equal its neighbours.
        return found if any(dtype_name(value) in FLOATS for value in values if not is_number(value)) else "float64"
    if name in _FLOAT_ONLY and found not in FLOATS:
        return found if name == "power" and all(dtype_name(value) not in FLOATS for value in values) else "float32"
    return found


def computed_type(wanted):
    """The type in which programs compute those. Raises TraceError if they have none that is wide enough."""
    found = _COMPUTED.get(wanted, wanted)
    if found not in _IN_PROGRAMS:
        raise TraceError(f"programs do not compute in {wanted}; cast the tensor, for instance to int32 or int64")
    return found


def fitted(who, values, dtype):
    """An array of integers as another type of integers. Raises OverflowError if that has not got one of them."""
    values, dtype = np.asarray(values), np.dtype(dtype)
    is_wider = values.dtype.kind == "O" or values.dtype.kind in "iu" and not np.can_cast(values.dtype, dtype)
    if dtype.kind in "iu" and values.size and is_wider:
        limits = np.iinfo(dtype)
        remedy = "; use a wider type, such as int64" if dtype.itemsize < 8 else ""
        for value in (values.min(), values.max()):
            if not limits.min <= value <= limits.max:
                raise OverflowError(f"{who}: {value} is not in {dtype.name}, which has {limits.min} to {limits.max}{remedy}")
    return values.astype(dtype, copy=False)
