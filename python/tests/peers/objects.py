# SPDX-License-Identifier: Apache-2.0
"""Arguments as JSON: {"make": "regularizers.L2", "l2": 0.1} is an object, {"call": "twice"} one of these functions."""
import numpy as np

from names import found

FUNCTIONS = {
    "twice": lambda x: x * 2.0,
    "scaled": lambda x, by=1.0: x * by,
    "halved": lambda epoch, rate: rate * 0.5,
    "by_epoch": lambda epoch: 0.1 / (epoch + 1),
}


def made(keras, value):
    """The argument that a piece of JSON stands for."""
    if isinstance(value, dict) and "make" in value:
        arguments = {key: made(keras, part) for key, part in value.items() if key != "make"}
        return found(keras, value["make"])(**arguments)
    if isinstance(value, dict) and "call" in value:
        return FUNCTIONS[value["call"]]
    if isinstance(value, dict):
        return {key: made(keras, part) for key, part in value.items()}
    if isinstance(value, list):
        return tuple(made(keras, part) for part in value)
    return value


def made_by(keras, case):
    """The object that a case is about."""
    return found(keras, case["about"])(**made(keras, case["arguments"]))


def numbers(value):
    """A tensor of either module as an array."""
    if hasattr(value, "detach"):
        value = value.detach()
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def normal(seed, *shape):
    """Numbers that are the same for every version of NumPy."""
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def uniform(seed, *shape):
    """Numbers from 0 to 1."""
    return np.random.RandomState(seed).random_sample(shape).astype(np.float32)


def integers(seed, limit, *shape):
    """Whole numbers below a limit."""
    return np.random.RandomState(seed).randint(0, limit, shape).astype(np.int32)
