# SPDX-License-Identifier: Apache-2.0
"""Arrays go in and out of the library without copying where types agree, and with their values everywhere."""
import gc
import weakref

import numpy as np
import pytest

import pando.tf as tf
from pando import _core, keras
from pando.core.arrays import as_array
from pando.core.errors import TraceError

SAME = ["float32", "float64", "int32", "int64", "uint8", "bool"]
STORED = {"float16": "float32", "int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64",
          "uint64": "int64"}


@pytest.mark.parametrize("dtype", SAME)
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3, 4)])
def test_an_array_is_not_copied(dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    back = _core.round_trip(array)
    assert back.dtype == array.dtype and back.shape == array.shape
    np.testing.assert_array_equal(back, array)
    if array.size:
        assert _core.address_of(array) == array.ctypes.data == back.ctypes.data


@pytest.mark.parametrize("dtype", STORED)
def test_a_type_that_the_library_lacks_is_stored_as_a_wider_one(dtype):
    back = _core.round_trip(np.array([0, 1, 100], dtype))
    assert back.dtype == STORED[dtype]
    assert back.tolist() == [0, 1, 100]


@pytest.mark.parametrize("array", [
    np.arange(12, dtype=np.float32).reshape(3, 4).T,
    np.arange(12, dtype=np.float32)[::2],
    np.arange(6, dtype=np.float32)[::-1],
    np.arange(6, dtype=">i4"),
    np.frombuffer(b"\0" + np.arange(3, dtype=np.float32).tobytes(), np.uint8)[1:].view(np.float32),
])
def test_memory_that_does_not_suit_is_copied(array):
    back = _core.round_trip(array)
    np.testing.assert_array_equal(back, array)
    assert back.ctypes.data != array.ctypes.data


def test_a_read_only_array_stays_read_only():
    array = np.zeros(3, np.float32)
    array.flags.writeable = False
    assert not _core.round_trip(array).flags.writeable


@pytest.mark.parametrize("value, shape", [(1.5, ()), ([1, 2], (2,)), ([[True], [False]], (2, 1)), (range(3), (3,))])
def test_numbers_and_lists_become_arrays(value, shape):
    assert _core.round_trip(value).shape == shape


def test_the_buffer_protocol_is_understood():
    assert _core.round_trip(memoryview(b"abc")).tolist() == [97, 98, 99]


@pytest.mark.parametrize("value", ["text", [object()], np.array(["2026-01-01"], "datetime64[D]"), 1j])
def test_what_is_not_numbers_is_a_type_error_with_the_remedy(value):
    with pytest.raises(TypeError, match="cannot be used; make it an array of numbers"):
        _core.round_trip(value)


def test_a_large_float64_array_is_cast_once():
    array = np.random.default_rng(1).random((300, 1000))
    first = as_array(array)
    assert first.dtype == np.float32 and as_array(array) is first
    life = weakref.ref(first)
    del first
    gc.collect()
    assert life() is not None
    del array
    gc.collect()
    assert life() is None


@pytest.mark.parametrize("place", [0, 12345, -1])
def test_an_array_that_was_changed_is_cast_again(place):
    array = np.zeros((300, 1000))
    assert as_array(array).max() == 0
    array.reshape(-1)[place] = 7
    assert as_array(array).max() == 7
    array.reshape(-1)[place] = np.nan
    assert as_array(array) is as_array(array)
    strided = np.zeros((1000, 300)).T
    assert as_array(strided) is as_array(strided)
    strided[1, 1] = 2
    assert as_array(strided).max() == 2


def test_tensors_share_memory_with_buffers():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = tf.Tensor(array)
    view = memoryview(tensor)
    assert (view.shape, view.format, view.readonly) == ((2, 3), "f", False)
    assert np.asarray(view).ctypes.data == array.ctypes.data == np.asarray(tensor).ctypes.data
    assert bytes(tensor) == array.tobytes()
    array.flags.writeable = False
    assert memoryview(tensor).readonly


def test_tensors_share_memory_by_dlpack():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    back = np.from_dlpack(tf.Tensor(array))
    assert back.ctypes.data == array.ctypes.data and back.tolist() == array.tolist()


def test_tensorflow_takes_memory_by_dlpack():
    array = np.arange(6, dtype=np.float32)
    capsule = tf.experimental.dlpack.to_dlpack(tf.convert_to_tensor(array))
    tensor = tf.experimental.dlpack.from_dlpack(capsule)
    assert isinstance(tensor, tf.Tensor) and tensor.numpy().ctypes.data == array.ctypes.data


def test_a_symbol_has_no_buffer():
    symbol = keras.Input(shape=(3,))
    with pytest.raises(TraceError):
        memoryview(symbol)


def test_a_buffer_goes_in_without_copying():
    memory = bytearray(np.arange(4, dtype=np.float32).tobytes())
    view = memoryview(memory).cast("f")
    assert _core.address_of(view) == np.frombuffer(memory, np.uint8).ctypes.data


def test_both_sides_keep_the_memory_alive():
    class Owned(np.ndarray):
        pass

    array = np.arange(1000, dtype=np.float32).view(Owned)
    life = weakref.ref(array)
    back = _core.round_trip(array)
    del array
    gc.collect()
    assert life() is not None and back[999] == 999
    del back
    gc.collect()
    assert life() is None
