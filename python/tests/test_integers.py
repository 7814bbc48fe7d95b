# SPDX-License-Identifier: Apache-2.0
"""Integers keep their type and all of their bits: every op on every type of integers against NumPy, as TensorFlow has it.
Types wrap in their own width. Each op is computed three times: at once, by a function of a data set, and in a program."""
import functools
import operator

import numpy as np
import pytest

import pando.tf as tf
import pando.tf.compat.v1 as tf1
from pando import keras
from pando.core import eager, ops
from pando.core.errors import TraceError

DTYPES = ("uint8", "int8", "int16", "int32", "int64", "bool")
# Types of integers that programs have; functions of data sets compute the others by NumPy.
IN_PROGRAMS = ("uint8", "int32", "int64", "bool")


def values(dtype):
    """Both ends of the type and what lies around 0, 2^24, from where float32 has gaps, 2^31 and 2^53."""
    if dtype == "bool":
        return np.array([True, False, True, True, False, False])
    limits = np.iinfo(dtype)
    marks = [limits.min, limits.min + 1, limits.max - 1, limits.max, -7, -1, 0, 1, 2, 5, 10, 100, 123456789,
             2**24 + 1, 2**31 - 1, 2**31, 3000000000, -3000000001, 2**53 + 1, 1700000000123]
    return np.array([mark for mark in marks if limits.min <= mark <= limits.max], dtype)


def pairs(dtype):
    """Every value with every other one."""
    first, second = np.meshgrid(values(dtype), values(dtype))
    return first.ravel(), second.ravel()


def with_divisors(dtype):
    first, second = pairs(dtype)
    return first[second != 0], second[second != 0]


def reference_mean(x):
    total = sum(int(one) for one in x)
    return np.asarray(abs(total) // len(x) * (1 if total >= 0 else -1), x.dtype)


def reference_power(exponent):
    return lambda x: functools.reduce(np.multiply, [x] * exponent, np.ones_like(x))


def limited(x):
    return np.clip(x, 1, 100)


# Name of the op: (what users write, what NumPy makes of it, the operands for a type, whether bool has it).
ELEMENTWISE = {
    "add": (operator.add, np.add, pairs, True), "subtract": (operator.sub, np.subtract, pairs, False),
    "multiply": (operator.mul, np.multiply, pairs, True),
    "maximum": (tf.maximum, np.maximum, pairs, True), "minimum": (tf.minimum, np.minimum, pairs, True),
    "floor_divide": (operator.floordiv, np.floor_divide, with_divisors, False),
    "remainder": (operator.mod, np.remainder, with_divisors, False),
    "bitwise_and": (operator.and_, np.bitwise_and, pairs, True), "bitwise_or": (operator.or_, np.bitwise_or, pairs, True),
    "bitwise_xor": (operator.xor, np.bitwise_xor, pairs, True),
    "equal": (operator.eq, np.equal, pairs, True), "not_equal": (operator.ne, np.not_equal, pairs, True),
    "less": (operator.lt, np.less, pairs, True), "less_equal": (operator.le, np.less_equal, pairs, True),
    "greater": (operator.gt, np.greater, pairs, True), "greater_equal": (operator.ge, np.greater_equal, pairs, True),
    "negate": (operator.neg, np.negative, lambda dtype: (values(dtype),), False),
    "abs": (abs, np.abs, lambda dtype: (values(dtype),), True),
    "sign": (tf.sign, np.sign, lambda dtype: (values(dtype),), False),
    "square": (tf.square, np.square, lambda dtype: (values(dtype),), False),
    "clip": (lambda x: tf.clip_by_value(x, 1, 100), limited, lambda dtype: (values(dtype),), False)}
# What is made of several ops.
COMPOSED = {
    "invert": (operator.invert, np.invert, lambda dtype: (values(dtype),), True),
    "select": (lambda a, b: tf.where(a > b, a, b), lambda a, b: np.where(a > b, a, b), pairs, True),
    "where": (lambda x: tf.where(x > 0, x, 0), lambda x: np.where(x > 0, x, 0).astype(x.dtype),
              lambda dtype: (values(dtype),), False),
    **{f"power {k}": (lambda x, k=k: x ** k, reference_power(k), lambda dtype: (values(dtype),), False)
       for k in range(8)},
    "round": (tf.round, lambda x: x, lambda dtype: (values(dtype),), False),
    "floor": (tf.floor, lambda x: x, lambda dtype: (values(dtype),), False),
    "known divisor": (lambda x: x // 10, lambda x: x // x.dtype.type(10), lambda dtype: (values(dtype),), False),
    "known modulus": (lambda x: x % 10, lambda x: x % x.dtype.type(10), lambda dtype: (values(dtype),), False),
    "concat": (lambda a, b: tf.concat([a, b], 0), lambda a, b: np.concatenate([a, b]), pairs, True),
    "stack": (lambda a, b: tf.stack([a, b]), lambda a, b: np.stack([a, b]), pairs, True),
    "gather": (lambda x: tf.gather(x, [1, 0, 1]), lambda x: x[[1, 0, 1]], lambda dtype: (values(dtype),), True)}
REDUCTIONS = {
    "reduce_sum": (tf.reduce_sum, lambda x: np.sum(x, dtype=x.dtype), False),
    "reduce_mean": (tf.reduce_mean, reference_mean, False),
    "reduce_max": (tf.reduce_max, np.max, True), "reduce_min": (tf.reduce_min, np.min, True),
    "argmax": (tf.argmax, np.argmax, True), "argmin": (lambda x: tf.cast(ops.argmin(x), "int64"), np.argmin, True),
    "reduce_any": (lambda x: tf.reduce_any(x != 0), np.any, True),
    "reduce_all": (lambda x: tf.reduce_all(x != 0), np.all, True)}
CASES = {**ELEMENTWISE, **COMPOSED, **{name: (function, reference, lambda dtype: (values(dtype),), has_bool)
                                       for name, (function, reference, has_bool) in REDUCTIONS.items()}}
CALLS = [(name, dtype) for name, case in CASES.items() for dtype in DTYPES if case[3] or dtype != "bool"]


def parts(name, dtype):
    function, reference, operands, _ = CASES[name]
    arrays = operands(dtype)
    with np.errstate(all="ignore"):
        return function, arrays, reference(*arrays)


def check(found, expected):
    assert found.dtype == expected.dtype and np.array_equal(found, expected)


def in_a_program(function, arrays):
    """What the function makes of the arrays as placeholders of a session."""
    tf1.reset_default_graph()
    with tf1.Session() as session:
        places = [tf1.placeholder(array.dtype.name, array.shape) for array in arrays]
        return np.asarray(session.run(function(*places), dict(zip(places, arrays))))


def test_the_cases_are_all_ops_that_take_integers():
    assert {*eager.BINARY, *eager.BITWISE, *eager.COMPARISONS, *eager.UNARY} == set(ELEMENTWISE)
    assert set(eager.REDUCTIONS) <= set(REDUCTIONS)


@pytest.mark.parametrize("name, dtype", CALLS)
def test_at_once(name, dtype):
    function, arrays, expected = parts(name, dtype)
    check(function(*map(tf.constant, arrays)).numpy(), np.asarray(expected))


@pytest.mark.parametrize("name, dtype", CALLS)
def test_by_a_function_of_a_data_set(name, dtype):
    function, arrays, expected = parts(name, dtype)
    data = tf.data.Dataset.from_tensors(arrays).map(function)
    assert data.element_spec.dtype == np.asarray(expected).dtype
    check(np.asarray(next(data.as_numpy_iterator())), np.asarray(expected))


@pytest.mark.parametrize("name, dtype", [call for call in CALLS if call[1] in IN_PROGRAMS])
def test_in_a_program(name, dtype):
    function, arrays, expected = parts(name, dtype)
    check(in_a_program(function, arrays), np.asarray(expected))


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_casts_keep_the_low_bits(source, to):
    x = values(source)
    check(tf.cast(tf.constant(x), to).numpy(), x.astype(to))
    data = tf.data.Dataset.from_tensors(x).map(lambda row: tf.cast(row, to))
    check(next(data.as_numpy_iterator()), x.astype(to))
    if source in IN_PROGRAMS and to in IN_PROGRAMS:
        check(in_a_program(lambda row: tf.cast(row, to), [x]), x.astype(to))


@pytest.mark.parametrize("other", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_types_meet_in_one_that_has_all_their_values(dtype, other):
    a, b = np.ones(1, dtype), np.ones(1, other)
    assert (tf.constant(a) * tf.constant(b)).dtype == np.result_type(a, b)


def test_types_without_a_common_one_are_refused():
    with pytest.raises(TypeError) as caught:
        tf.constant(np.ones(1, np.uint64)) + tf.constant(np.ones(1, np.int64))
    assert str(caught.value) == "no type of integers has all values of int64 and uint64; cast one of them"


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32"])
def test_a_number_that_a_type_does_not_have_is_an_error(dtype):
    limits = np.iinfo(dtype)
    for number in (limits.max + 1, limits.min - 1):
        for compute in (operator.add, operator.lt, lambda x, y: tf.where(x > 0, x, y)):
            with pytest.raises(OverflowError, match=f"{number} is not in {dtype}, which has {limits.min} to {limits.max};"):
                compute(tf.constant(values(dtype)), number)
        with pytest.raises(OverflowError):
            tf.constant([number], dtype)
    with pytest.raises(OverflowError) as caught:
        tf.constant(np.array([1], np.uint8)) + 300
    assert str(caught.value) == "add: 300 is not in uint8, which has 0 to 255; use a wider type, such as int64"


def test_numbers_are_int32_if_they_fit():
    assert tf.constant([1, 2]).dtype == "int32" and tf.constant(3000000000).dtype == "int64"
    assert tf.constant([1, 3000000000]).numpy().tolist() == [1, 3000000000]
    assert tf.data.Dataset.from_tensor_slices([1, 2]).element_spec.dtype == "int32"
    assert tf.data.Dataset.from_tensor_slices([3000000000]).element_spec.dtype == "int64"
    assert (tf.constant(np.array([1], np.int16)) + [7]).dtype == "int16"
    assert tf.where([True, False], 1, 0).dtype == "int32" and tf.fill([2], 7).dtype == "int32"


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_division_by_0_is_an_error_and_0_in_a_program(name):
    compute = ELEMENTWISE[name][0]
    x, zeros = np.array([7, -7], np.int64), np.array([2, 0], np.int64)
    message = (f"{name}: an integer is divided by 0; put another number in its place with where(), or cast to float32")
    with pytest.raises(ZeroDivisionError) as caught:
        compute(tf.constant(x), tf.constant(zeros))
    assert str(caught.value) == message
    with pytest.raises(ZeroDivisionError) as caught:
        next(iter(tf.data.Dataset.from_tensors((x, zeros)).map(compute)))
    assert str(caught.value) == message
    assert in_a_program(compute, [x, zeros]).tolist() == [compute(7, 2), 0]


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype not in IN_PROGRAMS])
def test_data_sets_keep_types_that_programs_lack(dtype):
    x = values(dtype)
    data = tf.data.Dataset.from_tensor_slices(x).batch(4).shuffle(9).filter(lambda row: row.dtype == dtype)
    both = tf.data.Dataset.zip((data, data)).map(lambda a, b: (a, b + 1))
    for a, b in both.repeat(2).prefetch(1):
        assert a.dtype == dtype and b.dtype == dtype
    assert [spec.dtype for spec in both.element_spec] == [dtype, dtype]
    made = tf.data.Dataset.from_generator(lambda: iter(x), output_signature=tf.TensorSpec((), dtype))
    assert [row.dtype.name for row in made.as_numpy_iterator()] == [dtype] * len(x)


def test_a_generator_that_yields_what_its_type_does_not_have_is_an_error():
    made = tf.data.Dataset.from_generator(lambda: iter([300]), output_signature=tf.TensorSpec((), "uint8"))
    with pytest.raises(OverflowError) as caught:
        next(iter(made))
    assert str(caught.value) == ("from_generator: 300 is not in uint8, which has 0 to 255; use a wider type, such as "
                                 "int64")


def test_traced_functions_of_integers_run_without_python():
    calls = []

    def function(x):
        calls.append(1)
        return x // 1000 % 60, x & 255
    rows = list(tf.data.Dataset.range(1700000000000, 1700000000010).map(function).as_numpy_iterator())
    assert len(calls) == 1
    assert [tuple(map(int, row)) for row in rows] == [(t // 1000 % 60, t & 255)
                                                      for t in range(1700000000000, 1700000000010)]


def test_arrays_on_the_left_leave_operators_to_the_tensor():
    x, symbols = np.array([3000000007, -5]), (operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor)
    for compute in symbols:
        expected = compute(x, np.array([7, 3]))
        check(compute(x, tf.constant(np.array([7, 3]))).numpy(), expected)
        check(in_a_program(lambda y, compute=compute: compute(x, y), [np.array([7, 3])]), expected)
    with pytest.raises(ZeroDivisionError):
        x // tf.constant(np.array([1, 0]))


def test_halves_are_rounded_to_even():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388609.0], np.float32)
    for found in (tf.round(tf.constant(x)).numpy(), in_a_program(tf.round, [x]),
                  next(tf.data.Dataset.from_tensors(x).map(tf.round).as_numpy_iterator())):
        check(found, np.round(x))


def test_large_integers_differ_from_the_floats_beside_them():
    x = np.array([2**24, 2**24 + 1], np.int32)
    for compute in (lambda t: t > 2.0**24, lambda t: t == 2.0**24):
        check(compute(tf.constant(x)).numpy(), compute(x))
        check(in_a_program(compute, [x]), compute(x))


def test_a_power_that_is_not_known_is_refused_in_a_program():
    with pytest.raises(TraceError) as caught:
        in_a_program(operator.pow, [np.array([2], np.int32), np.array([3], np.int32)])
    assert str(caught.value) == ("power: a program needs an integer that is not below 0 as the power of integers; cast "
                                 "them to float32")
    data = tf.data.Dataset.from_tensors((np.array([3]), np.array([40]))).map(operator.pow)
    assert next(data.as_numpy_iterator()).tolist() == [3**40 - 2**64 if 3**40 >= 2**63 else 3**40]


def test_integers_have_no_negative_powers():
    with pytest.raises(TypeError) as caught:
        tf.constant([2, 3]) ** -1
    assert str(caught.value) == "power: integers have no negative powers; cast them to float32"


def test_programs_say_which_types_they_lack():
    with pytest.raises(TraceError) as caught:
        in_a_program(lambda x: tf.cast(x, "int16"), [np.array([1], np.int32)])
    assert str(caught.value) == "programs do not compute in int16; cast the tensor, for instance to int32 or int64"


def test_a_model_of_int64_has_all_bits():
    inputs = keras.Input((2,), dtype="int64")
    model = keras.Model(inputs, keras.layers.Lambda(lambda x: x // 1000 + 1)(inputs))
    x = np.array([[1700000000123, -3000000001]])
    check(model.predict(x, verbose=0), x // 1000 + 1)


def narrowing_model():
    inputs = keras.Input((1,), dtype="int32")
    model = keras.Model(inputs, keras.layers.Lambda(lambda x: tf.cast(x, "float32") * 2.0)(inputs))
    model.compile("sgd", lambda y_true, y_pred: tf.cast(y_true, "float32") * tf.reduce_mean(y_pred, -1, keepdims=True))
    return model


@pytest.mark.parametrize("method, kind", [(method, kind) for method in ("fit", "evaluate", "predict")
                                          for kind in ("arrays", "data set")])
def test_samples_that_a_model_cannot_hold_are_an_error(method, kind):
    x = np.array([[1], [3000000000]])
    given = (x, x[:, 0]) if kind == "arrays" else (tf.data.Dataset.from_tensor_slices((x, x[:, 0])).batch(2),)
    call = getattr(narrowing_model(), method)
    with pytest.raises(ValueError) as caught:
        call(*given[:1] if method == "predict" else given, verbose=0)
    assert str(caught.value) == (f"{method}: x contains 3000000000 but the model takes it as int32, which has -2147483648 "
                                 "to 2147483647; give the model an Input of a wider type, such as int64")


def test_a_batch_that_a_model_cannot_hold_is_an_error():
    with pytest.raises(ValueError, match="train_on_batch: x contains -3000000000 but the model takes it as int32"):
        narrowing_model().train_on_batch(np.array([[-3000000000]]), np.array([1]))


def test_a_uint8_input_takes_no_larger_integers():
    inputs = keras.Input((1,), dtype="uint8")
    model = keras.Model(inputs, keras.layers.Lambda(lambda x: x + 1)(inputs))
    check(model.predict(np.array([[255], [1]], np.int32), verbose=0), np.array([[0], [2]], np.uint8))
    for dtype in ("int32", "int64"):
        with pytest.raises(ValueError) as caught:
            model.predict(np.array([[256]], dtype), verbose=0)
        assert str(caught.value) == ("predict: x contains 256 but the model takes it as uint8, which has 0 to 255; give the "
                                     "model an Input of a wider type, such as int64")


def test_targets_that_a_loss_cannot_hold_are_an_error():
    x = np.array([[1], [2]], np.int32)
    with pytest.raises(ValueError) as caught:
        narrowing_model().evaluate(x, np.array([[1, 0], [-3000000000, 0]]), verbose=0)
    assert str(caught.value) == ("evaluate: y contains -3000000000 but the model takes it as int32, which has -2147483648 "
                                 "to 2147483647; use smaller numbers")


def test_means_and_sums_of_keras_are_those_of_keras():
    x = tf.constant(np.array([200, 201], np.uint8))
    assert keras.ops.mean(x).numpy() == 200.5 and keras.ops.sum(x).numpy() == 401
    assert keras.ops.mean([1, 4]).numpy() == 2.5


def test_a_feed_that_a_placeholder_cannot_hold_is_an_error():
    with tf1.Session() as session:
        wide, narrow = tf1.placeholder("int64", (1,)), tf1.placeholder("int32", (1,), name="narrow")
        assert session.run(wide + 1, {wide: np.array([3000000000])}).tolist() == [3000000001]
        assert session.run(wide // 7, {wide: [3000000000]}).tolist() == [3000000000 // 7]
        for value in (np.array([3000000000]), [3000000000]):
            with pytest.raises(OverflowError) as caught:
                session.run(narrow + 1, {narrow: value})
            assert str(caught.value) == ("feed_dict of narrow:0: 3000000000 is not in int32, which has -2147483648 to "
                                         "2147483647; use a wider type, such as int64")
