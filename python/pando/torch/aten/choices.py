# SPDX-License-Identifier: Apache-2.0
"""Choices between elements."""
from pando.torch.aten.table import aten
from pando.torch.symbols import cast, computed, is_nan, is_symbol, maximum, minimum, op, operand, where
from pando.torch.unsupported import refuse


@aten("where")
def where_of(c, condition, a, b):
    return where(condition, a, b, c.dtype)


@aten("masked_fill")
def masked_fill(c, x, mask, value):
    return where(mask, operand(value, x, x.dtype), x, x.dtype)


@aten("maximum")
def maximum_of(c, a, b):
    return maximum(a, b)


@aten("minimum")
def minimum_of(c, a, b):
    return minimum(a, b)


@aten("fmax")
def fmax(c, a, b):
    return where(is_nan(a), b, where(is_nan(b), a, maximum(a, b)), c.dtype)


@aten("fmin")
def fmin(c, a, b):
    return where(is_nan(a), b, where(is_nan(b), a, minimum(a, b)), c.dtype)


@aten("clamp", "hardtanh")
def clamp(c, x, least=None, most=None):
    dtype = c.dtype
    numbers = [limit for limit in (least, most) if limit is not None and not is_symbol(limit)]
    if any(limit != limit for limit in numbers):
        refuse("a limit is NaN")
    x = cast(x, dtype)
    if len(numbers) == 2 and dtype == "float32" and least <= most:
        return op("clip", x, min=least, max=most)
    x = x if least is None else computed("maximum", x, least, dtype=dtype)
    return x if most is None else computed("minimum", x, most, dtype=dtype)


@aten("clamp_min")
def clamp_min(c, x, least):
    return cast(maximum(x, least), c.dtype)


@aten("clamp_max")
def clamp_max(c, x, most):
    return cast(minimum(x, most), c.dtype)
