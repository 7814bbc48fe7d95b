# SPDX-License-Identifier: Apache-2.0
"""What each op of docs/ops.md makes of NumPy arrays, under the same name and with the same attributes. An op without an
entry runs as a compiled program only."""
import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


def erf(x):
    return _erf(x) if x.size else x


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def gelu(x):
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def huber_error(a, b, delta=1.0):
    error = np.abs(a - b)
    return np.where(error <= delta, 0.5 * error * error, delta * (error - 0.5 * delta))


def binary_cross_entropy(p, t, epsilon=1e-7):
    p = np.clip(p, epsilon, 1 - epsilon)
    return -(t * np.log(p) + (1 - t) * np.log(1 - p))


def softmax(x):
    y = np.exp(x - x.max(-1, keepdims=True))
    return y / y.sum(-1, keepdims=True)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def sparse_softmax_cross_entropy(logits, labels, ignored=None):
    labels, classes = labels.astype(np.int64), logits.shape[-1]
    counted = labels != ignored if ignored is not None else np.ones(labels.shape, bool)
    outside = counted & ((labels < 0) | (labels >= classes))
    if outside.any():
        also = "" if ignored is None else f", or {ignored}, which is ignored"
        raise IndexError(f"sparse_softmax_cross_entropy: target {labels[outside].flat[0]} is not one of {classes} classes; "
                         f"targets must be 0 to {classes - 1}{also}")
    picked = np.take_along_axis(log_softmax(logits), np.where(counted, labels, 0)[..., None], -1)[..., 0]
    return np.where(counted, -picked, 0)


def slice_(x, starts, sizes):
    return x[tuple(slice(a, None if n == -1 else a + n) for a, n in zip(starts, sizes))]


def broadcast(x, shape):
    offset = len(shape) - x.ndim
    sizes = [x.shape[i - offset] if n in (-1, None) and i >= offset else n for i, n in enumerate(shape)]
    return np.broadcast_to(x, sizes)


def pad(x, before, after, value=0.0):
    return np.pad(x, list(zip(before, after)), constant_values=value)


def gather(table, indices):
    outside = (indices < 0) | (indices >= len(table))
    if outside.any():
        raise IndexError(f"gather: index {indices[outside].flat[0]} is out of range for a table of {len(table)} rows; "
                         f"indices must be 0 to {len(table) - 1}")
    return table[indices]


def one_hot(indices, depth, dtype="float32"):
    return (indices[..., None] == np.arange(depth)).astype(getattr(dtype, "name", dtype))


def power(a, b):
    if b.dtype.kind == "i" and (b < 0).any():
        raise TypeError("power: integers have no negative powers; cast them to float32")
    return np.power(a, b)


def floor_divide(a, b):
    if a.dtype.kind == "f":
        return np.floor(a / b)
    return np.floor_divide(a, _divisor("floor_divide", b))


def remainder(a, b):
    return np.remainder(a, b if a.dtype.kind == "f" else _divisor("remainder", b))


def _divisor(name, b):
    if not b.all():
        raise ZeroDivisionError(f"{name}: an integer is divided by 0; put another number in its place with where(), or "
                                "cast to float32")
    return b


def _reduce(function):
    def reduce(x, axes=(), keep_dims=False):
        return function(x, axis=tuple(axes) or None, keepdims=keep_dims)
    return reduce


FLOAT_UNARY = {
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos,
    "floor": np.floor, "round": np.rint, "erf": erf, "tanh": np.tanh, "sigmoid": sigmoid, "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x, alpha=0.01: np.where(x >= 0, x, alpha * x), "elu": elu, "gelu": gelu,
    "gelu_tanh": gelu_tanh, "silu": lambda x: x * sigmoid(x), "softplus": softplus, "softmax": softmax,
    "log_softmax": log_softmax}
UNARY = {
    "negate": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square,
    "clip": lambda x, min=-1e308, max=1e308: np.clip(x, min, max)}
FLOAT_BINARY = {
    "divide": np.true_divide, "power": power, "squared_error": lambda a, b: np.square(a - b),
    "absolute_error": lambda a, b: np.abs(a - b), "huber_error": huber_error,
    "binary_cross_entropy": binary_cross_entropy,
    "sigmoid_cross_entropy": lambda x, t: np.maximum(x, 0) - x * t + np.log1p(np.exp(-np.abs(x))),
    "softmax_cross_entropy": lambda x, t: -(t * log_softmax(x)).sum(-1),
    "mean_squared_error": lambda a, b: np.square(a - b).mean(-1),
    "mean_absolute_error": lambda a, b: np.abs(a - b).mean(-1),
    "huber": lambda a, b, delta=1.0: huber_error(a, b, delta).mean(-1), "matmul": None}
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
          "minimum": np.minimum, "floor_divide": floor_divide, "remainder": remainder}
BITWISE = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}
COMPARISONS = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
               "greater": np.greater, "greater_equal": np.greater_equal}
LOGICAL = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_not": np.logical_not}


def matmul(a, b, transpose_a=False, transpose_b=False):
    return np.matmul(np.swapaxes(a, -1, -2) if transpose_a else a, np.swapaxes(b, -1, -2) if transpose_b else b)


FLOAT_BINARY["matmul"] = matmul
REDUCTIONS = {"reduce_sum": _reduce(np.sum), "reduce_mean": _reduce(np.mean), "reduce_max": _reduce(np.max)}
SHAPES = {
    "reshape": lambda x, shape: x.reshape([-1 if n is None else n for n in shape]),
    "transpose": lambda x, permutation: np.transpose(x, permutation), "broadcast": broadcast,
    "concat": lambda *x, axis=0: np.concatenate(x, axis), "slice": slice_, "pad": pad, "stop_gradient": lambda x: x}
OTHERS = {"select": np.where, "cast": lambda x, dtype: x.astype(getattr(dtype, "name", dtype)),
          "argmax": lambda x, axis=-1: np.argmax(x, axis), "gather": gather, "one_hot": one_hot,
          "sparse_softmax_cross_entropy": sparse_softmax_cross_entropy}
FUNCTIONS = {**FLOAT_UNARY, **UNARY, **FLOAT_BINARY, **BINARY, **BITWISE, **COMPARISONS, **LOGICAL, **REDUCTIONS, **SHAPES,
             **OTHERS}
