# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays on their way to programs. A cast of a large array is made once and remembered for as long as the array
lives, so that a second fit neither casts a data set again nor holds it twice. Before a cast is used again, it is compared
with the array, in case that was changed in place."""
import weakref

import numpy as np

from pando import _core

_REMEMBERED_BYTES = 1 << 20
_casts = {}


def _key(array, dtype):
    return id(array), array.__array_interface__["data"][0], array.shape, array.strides, dtype


def cast(array, dtype):
    """The array as this NumPy type; of a large array the same cast is returned until the array is gone."""
    dtype = np.dtype(dtype)
    if array.dtype == dtype:
        return array
    if array.nbytes < _REMEMBERED_BYTES:
        return array.astype(dtype)
    key = _key(array, dtype)
    found = _casts.get(key)
    if found is not None and found[0]() is array and _is_current(found[1], array):
        return found[1]
    made = array.astype(dtype)
    made.flags.writeable = False
    _casts[key] = (weakref.ref(array, lambda _: _casts.pop(key, None)), made)
    return made


def _is_current(made, array):
    if made.dtype == np.float32 and array.dtype == np.float64 and array.flags.c_contiguous:
        return _core.is_cast_of(made, array)
    return np.array_equal(array.astype(made.dtype), made)


def as_array(value):
    """Anything as an array of a type that programs take: float64 becomes float32."""
    if not isinstance(value, np.ndarray):
        value = np.asarray(value)
    return cast(value, np.float32) if value.dtype in (np.float64, np.float16) else value
