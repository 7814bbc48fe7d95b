# SPDX-License-Identifier: Apache-2.0
"""Functions that do something else with integers than with floats. Integers keep their type and all of their bits."""
import math

import numpy as np

from pando.core.dispatch import call, value_of
from pando.core.promotion import common_type, dtype_name


def in_reverse_order(x):
    """What has the opposite order. No integer overflows: the negative of the least one would, and all of uint8."""
    return invert(x) if kind_of(x) in "biu" else call("negate", x)


def kind_of(x):
    """NumPy's letter for the kind of its type; bfloat16, which NumPy lacks, is a float."""
    name = dtype_name(value_of(x))
    return "f" if name == "bfloat16" else np.dtype(name).kind


def invert(x):
    """The other bits of integers, and not of truth values."""
    if kind_of(x) == "b":
        return call("logical_not", x)
    return call("bitwise_xor", x, np.iinfo(dtype_name(value_of(x))).max if kind_of(x) == "u" else -1)


def _bitwise(name):
    def function(a, b):
        is_bool = common_type([value_of(a), value_of(b)]) == "bool"
        return call(f"logical_{name}" if is_bool else f"bitwise_{name}", a, b)
    function.__name__ = function.__qualname__ = f"bitwise_{name}"
    function.__doc__ = f"The bits of a {name} b; of truth values, a {name} b."
    return function


bitwise_and, bitwise_or = _bitwise("and"), _bitwise("or")


def _of_floats(name):
    def function(x):
        return x if kind_of(x) in "iu" else call(name, x)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The op {name} of docs/ops.md, for each element; integers stay as they are."
    return function


floor, round = _of_floats("floor"), _of_floats("round")  # noqa: A001


def ceil(x):
    """The smallest whole numbers that are not below x."""
    return x if kind_of(x) in "iu" else call("negate", call("floor", call("negate", x)))


def clip(x, min=-math.inf, max=math.inf):  # noqa: A002, the names of the op's attributes
    """x, limited to the range from min to max."""
    if kind_of(x) not in "iu":
        return call("clip", x, min=min, max=max)
    x = x if min == -math.inf else call("maximum", x, math.ceil(min))
    return x if max == math.inf else call("minimum", x, math.floor(max))
