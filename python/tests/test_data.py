# SPDX-License-Identifier: Apache-2.0
"""tf.data: structures, functions that are traced and functions that Python calls."""
import numpy as np
import pytest

import pando.tf as tf
from pando import Error

Dataset = tf.data.Dataset


def rows(dataset):
    return list(dataset.as_numpy_iterator())


def test_structures_stay_what_they_are():
    x, y = np.arange(6, dtype="float32").reshape(3, 2), np.arange(3)
    (first, (label, named)) = next(iter(Dataset.from_tensor_slices((x, (y, {"z": x})))))
    assert np.array_equal(first.numpy(), x[0]) and label.numpy() == 0 and np.array_equal(named["z"].numpy(), x[0])
    assert isinstance(first, tf.Tensor)
    spec = Dataset.from_tensor_slices({"a": x, "b": y}).batch(2).element_spec
    assert spec["a"] == tf.TensorSpec((None, 2), tf.float32)
    assert Dataset.from_tensor_slices((x, y)).batch(2, drop_remainder=True).element_spec[0].shape == (2, 2)


def test_a_function_is_traced_once_and_knows_its_types():
    calls = []

    def function(x, y):
        calls.append(1)
        return tf.cast(x, tf.float32) / 255.0, tf.one_hot(y, 4)

    data = Dataset.from_tensor_slices((np.arange(12, dtype="uint8").reshape(6, 2), np.arange(6) % 4))
    mapped = data.batch(3).map(function)
    assert mapped.element_spec[0] == tf.TensorSpec((None, 2), tf.float32)
    before = len(calls)
    (x, y), _ = rows(mapped)
    assert np.allclose(x, np.arange(6).reshape(3, 2) / 255.0) and y.shape == (3, 4)
    assert len(calls) <= before + 1
    assert [len(x) for x, _ in rows(data.batch(4).map(function))] == [4, 2]


def test_a_function_that_looks_at_values_is_called():
    mapped = Dataset.range(5).map(lambda x: x * 2 if int(x) % 2 else x)
    assert [int(x) for x in rows(mapped)] == [0, 2, 2, 6, 4]
    doubled = Dataset.range(3).map(lambda x: tf.py_function(lambda v: v.numpy() * 2, [x], tf.int64))
    assert [int(x) for x in rows(doubled)] == [0, 2, 4]


def test_an_element_of_a_called_function_keeps_its_shape():
    mapped = Dataset.range(3).map(lambda x: x * 2 if int(x) else x)
    assert [x.shape for x in rows(mapped)] == [(), (), ()] and mapped.element_spec.shape == ()


@pytest.mark.parametrize("calls", [None, 1, 3, tf.data.AUTOTUNE])
def test_parallel_calls_keep_the_order(calls):
    data = Dataset.range(200).map(lambda x: x * 2, num_parallel_calls=calls)
    assert [int(x) for x in rows(data.repeat(2))] == [2 * i for i in range(200)] * 2
    called = Dataset.range(20).map(lambda x: x * 2 if int(x) >= 0 else x, num_parallel_calls=calls)
    assert [int(x) for x in rows(called)] == [2 * i for i in range(20)]


@pytest.mark.parametrize("calls", [0, -2])
def test_a_wrong_number_of_parallel_calls_is_refused(calls):
    with pytest.raises(ValueError, match=f"num_parallel_calls is {calls}; it must be at least 1, or AUTOTUNE"):
        Dataset.range(3).map(lambda x: x, num_parallel_calls=calls)


@pytest.mark.parametrize("ahead", ["prefetch", "parallel"])
def test_an_iterator_is_dropped_while_its_threads_call_python(ahead, run_python):
    program = f"""
import time
import pando.tf as tf

def slow(x):
    time.sleep(0.02)
    return x if int(x) >= 0 else -x

data = tf.data.Dataset.range(1000).map(slow)
data = data.prefetch(2) if {ahead == "prefetch"} else data.map(lambda x: x + 0, num_parallel_calls=2)
for _ in range(3):
    iterator = iter(data)
    next(iterator)
    del iterator
print("dropped")
"""
    assert run_python("-c", program, timeout=300).stdout == "dropped\n"


def test_what_a_function_raises_reaches_the_caller():
    def fail(x):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        rows(Dataset.range(3).map(fail))


def test_pipelines():
    data = Dataset.range(10)
    assert len(data) == 10 and len(data.batch(3)) == 4
    assert sorted(int(x) for x in rows(data.shuffle(10, seed=1))) == list(range(10))
    assert [int(x) for x in rows(data.skip(2).take(3))] == [2, 3, 4]
    assert [int(x) for x in rows(data.filter(lambda x: x > 7))] == [8, 9]
    assert [int(x) for x in rows(data.shard(3, 1))] == [1, 4, 7]
    with pytest.raises(ValueError, match="^shard: index is 2, but must be below num_shards, 2, and not below 0$"):
        data.shard(2, 2)
    assert [int(x) for x in rows(data.take(2).repeat(2).prefetch(tf.data.AUTOTUNE).cache())] == [0, 1, 0, 1]
    with pytest.raises(TypeError, match="infinite"):
        len(data.repeat())
    pairs = rows(Dataset.zip((data, data.map(lambda x: x + 1))))
    assert [tuple(map(int, pair)) for pair in pairs[:2]] == [(0, 1), (1, 2)]

    def numbers():
        yield from ((i, [i, i]) for i in range(3))
    made = Dataset.from_generator(numbers, output_signature=(
        tf.TensorSpec((), tf.int32), tf.TensorSpec((2,), tf.float32)))
    assert [x.tolist() for _, x in rows(made.batch(2))] == [[[0, 0], [1, 1]], [[2, 2]]]


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(Error, match="3"):
        Dataset.from_tensor_slices((np.zeros(3), np.zeros(4)))


def test_a_list_is_a_tensor_wherever_it_stands():
    pairs = list(Dataset.from_tensor_slices(([1, 2], {"a": [[1.0, 2.0], [3.0, 4.0]]})))
    assert int(pairs[1][0]) == 2 and pairs[1][1]["a"].numpy().tolist() == [3, 4]
    assert [tensor.dtype.name for tensor in (pairs[0][0], pairs[0][1]["a"])] == ["int32", "float32"]
    stacked = list(Dataset.from_tensor_slices([np.zeros(2), np.ones(2)]))
    assert [row.numpy().tolist() for row in stacked] == [[0, 0], [1, 1]]
    assert list(Dataset.from_tensors([1, 2]))[0].numpy().tolist() == [1, 2]
    number, listed = list(Dataset.from_tensors((1.5, [[1], [2]])))[0]
    assert float(number) == 1.5 and listed.numpy().tolist() == [[1], [2]]
    columns = list(Dataset.from_generator(lambda: iter([(1, 2.5)]), output_types=[tf.int32, tf.float32]))[0]
    assert [float(column) for column in columns] == [1, 2.5]
