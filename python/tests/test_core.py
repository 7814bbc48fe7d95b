# SPDX-License-Identifier: Apache-2.0
"""Tensors: every op eagerly against the same op in a compiled program; types, indexing, conversions and messages."""
import copy

import numpy as np
import pytest

from pando import _core
from pando.core import dispatch, dtypes, eager, ops, structure
from pando.core.arrays import as_array, cast
from pando.core.errors import TraceError
from pando.core.tensor import Tensor

POSITIVE = np.array([[0.3, 1.5, 2.0], [0.7, 0.9, 3.1]], np.float32)
SIGNED = np.array([[-1.3, 0.5, 2.0], [0.0, -0.9, 3.1]], np.float32)
CHANCES = np.array([[0.3, 0.5, 0.2], [0.7, 0.1, 0.2]], np.float32)
LABELS = np.array([2, 0], np.int32)
CASES = {
    **{name: ([POSITIVE], {}) for name in eager.FLOAT_UNARY},
    **{name: ([SIGNED], {}) for name in ("relu", "leaky_relu", "elu", "gelu", "gelu_tanh", "silu", "softplus", "erf",
                                          "floor", "sigmoid", "tanh", "sin", "cos", "exp", "softmax", "log_softmax")},
    **{name: ([SIGNED], {}) for name in ("negate", "abs", "sign", "square")},
    "clip": ([SIGNED], {"min": -0.5, "max": 1.0}),
    **{name: ([POSITIVE, SIGNED], {}) for name in (*eager.FLOAT_BINARY, *eager.BINARY, *eager.COMPARISONS)},
    "binary_cross_entropy": ([CHANCES, CHANCES], {}), "softmax_cross_entropy": ([SIGNED, CHANCES], {}),
    **{name: ([np.array([[6, -7], [0, 5]], np.int32), np.array([3, 4], np.int32)], {}) for name in eager.BITWISE},
    "matmul": ([POSITIVE, SIGNED], {"transpose_b": True}),
    "logical_and": ([SIGNED > 0, POSITIVE > 1], {}), "logical_or": ([SIGNED > 0, POSITIVE > 1], {}),
    "logical_not": ([SIGNED > 0], {}),
    **{name: ([SIGNED], {"axes": [1], "keep_dims": True}) for name in eager.REDUCTIONS},
    "reshape": ([SIGNED], {"shape": [3, 2]}), "transpose": ([SIGNED], {"permutation": [1, 0]}),
    "broadcast": ([SIGNED], {"shape": [4, 2, 3]}), "concat": ([SIGNED, POSITIVE], {"axis": 1}),
    "slice": ([SIGNED], {"starts": [0, 1], "sizes": [-1, 2]}),
    "pad": ([SIGNED], {"before": [1, 0], "after": [0, 2], "value": 7.0}), "stop_gradient": ([SIGNED], {}),
    "select": ([SIGNED > 0, SIGNED, POSITIVE], {}), "cast": ([SIGNED], {"dtype": "int32"}),
    "argmax": ([SIGNED], {"axis": 1}), "gather": ([POSITIVE, np.array([1, 0, 1], np.int32)], {}),
    "one_hot": ([LABELS], {"depth": 3}), "sparse_softmax_cross_entropy": ([SIGNED, LABELS], {}),
}


def run_traced(name, arrays, attributes):
    """The op as a program of its own."""
    return _core.TensorProgram(name, lambda symbols: [dispatch.traced(name, symbols, attributes, "")])(arrays)[0]


@pytest.mark.parametrize("name", sorted(eager.FUNCTIONS))
def test_an_op_gives_the_same_eagerly_and_as_a_program(name):
    arrays, attributes = CASES[name]
    found = dispatch.call_values(name, arrays, attributes)
    expected = run_traced(name, arrays, attributes)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


def test_every_op_of_the_table_has_a_case_or_runs_as_a_program_only():
    only_programs = {"conv2d", "depthwise_conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "max_pool",
                     "average_pool", "max_pool3d", "average_pool3d", "global_max_pool", "global_average_pool",
                     "layer_norm", "batch_norm", "dropout", "random_uniform", "random_normal", "relu_gradient",
                     "gelu_derivative", "gelu_tanh_derivative", "silu_derivative", "expm1", "log1p", "asin", "acos",
                     "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc", "erfinv", "lgamma", "digamma",
                     "trigamma", "shift_left", "shift_right",
                     "take_along", "scatter", "cumulative", "sort", "argsort"}
    assert set(_core.op_names()) - set(CASES) == only_programs


INDICES = np.array([[1, 0, 1], [0, 0, 1]], np.int32)


@pytest.mark.parametrize("name, arrays, attributes, expected", [
    ("take_along", [SIGNED, INDICES], {"axis": 0}, np.take_along_axis(SIGNED, INDICES, 0)),
    ("take_along", [SIGNED, INDICES], {}, np.take_along_axis(SIGNED, INDICES, 1)),
    ("scatter", [SIGNED, INDICES[:, 1:], POSITIVE[:, 1:]], {}, [[1.5, 2.0, 2.0], [0.9, 3.1, 3.1]]),
    ("scatter", [SIGNED, INDICES, POSITIVE], {"axis": 0, "mode": "add"}, [[-0.6, 2.9, 2.0], [0.3, -0.9, 8.2]]),
    ("cumulative", [SIGNED], {}, np.cumsum(SIGNED, 1)),
    ("cumulative", [SIGNED], {"axis": 0, "mode": "minimum", "reverse": True}, [[-1.3, -0.9, 2.0], [0.0, -0.9, 3.1]]),
    ("sort", [SIGNED], {}, np.sort(SIGNED)), ("sort", [SIGNED], {"descending": True}, -np.sort(-SIGNED)),
    ("argsort", [SIGNED], {"axis": 0}, np.argsort(SIGNED, 0))])
def test_an_op_of_programs_alone_computes_as_numpy_does(name, arrays, attributes, expected):
    np.testing.assert_allclose(run_traced(name, arrays, attributes), expected, rtol=2e-6)


def test_numbers_do_not_change_the_type_of_a_tensor():
    x = Tensor(np.array([1, 2], np.int64))
    assert (x + 1).dtype == "int64" and (x * 1.5).dtype == "float32" and (x / 2).dtype == "float32"
    y = Tensor(np.array(2.0, np.float32))
    assert (y + 1.5).dtype == "float32" and (1 - y).item() == -1.0
    assert (x + Tensor(np.ones(2, np.float32))).dtype == "float32"


def test_numpy_leaves_operators_to_the_tensor():
    x = Tensor(np.ones(3, np.float32))
    assert isinstance(np.arange(3, dtype=np.float32) * x, Tensor)
    assert isinstance(np.exp(x), Tensor)
    np.testing.assert_array_equal(np.asarray(x), np.ones(3))


def test_indexing():
    x = Tensor(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    assert x[1, ..., -1].shape == (3,) and x[:, None].shape == (2, 1, 3, 4)
    assert x[x > 20].tolist() == [21, 22, 23]
    assert [row.shape for row in x] == [(3, 4), (3, 4)]
    with pytest.raises(IndexError):
        x[5]


def test_a_symbol_has_no_value_and_says_so():
    seen = []

    def function(symbols):
        x = Tensor(symbols[0])
        for look in (bool, float, lambda t: t.numpy(), lambda t: t[t > 0]):
            with pytest.raises(TraceError):
                look(x)
        seen.append(x[1:, -1].shape)
        return [x._value]
    _core.TensorProgram("look", function).types([("float32", (3, 2))])
    assert seen == [(2,)]


def test_types_are_equal_to_their_names_and_to_numpys():
    dtype = dtypes.named("float32")
    assert dtype == "float32" == dtype and dtype == np.float32 and dtype == dtypes.named("float32", "tf")
    assert repr(dtype) == "pando.float32" and repr(dtypes.named("int32", "tf")) == "<dtype: 'int32'>"
    assert copy.deepcopy(dtype) == dtype
    with pytest.raises(TypeError, match="the nearest is float32"):
        dtypes.of("float33")


def test_structures():
    nested = {"b": (1, [2, 3]), "a": None}
    assert structure.flatten(nested) == [None, 1, 2, 3]
    assert structure.pack(nested, [9, 8, 7, 6]) == {"b": (8, [7, 6]), "a": 9}
    assert structure.map_structure(lambda x: x, nested) == nested


def test_a_large_cast_is_remembered_until_the_array_changes():
    x = np.arange(400_000, dtype=np.float64)
    first = as_array(x)
    assert first.dtype == np.float32 and as_array(x) is first
    x += 1
    assert as_array(x)[0] == 1 and cast(x, np.float64) is x
