# SPDX-License-Identifier: Apache-2.0
"""Random numbers: they are new in each step within a layer, and drawn at once elsewhere."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando import _core
from pando.core.calls import current_call
from pando.core.hints import DTypeLike
from pando.tensors.tensor import Tensor, wrap

_generator = np.random.default_rng(0)


def set_seed(seed: int | None) -> Any:
    """Seeds everything random in Pando."""
    global _generator
    _core.set_random_seed(int(seed))
    _generator = np.random.default_rng(int(seed))


def _caller():
    found = current_call()
    return None if found is None else found[1]


def _sizes(shape):
    sizes = tuple(np.asarray(getattr(shape, "_value", shape), dtype=object).reshape(-1))
    if any(size is None for size in sizes):
        raise ValueError(f"random numbers of shape {sizes}: every size must be known here; only a layer that is traced knows "
                         "the batch")
    return tuple(int(size) for size in sizes)


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: DTypeLike = "float32", seed: int | None = None,
           name: str | None = None) -> Any:
    """Normal numbers."""
    caller = _caller()
    if caller is not None:
        return wrap(caller.random_normal(_sizes(shape), float(mean), float(stddev)))
    return Tensor(_generator.normal(mean, stddev, _sizes(shape)).astype(np.float32))


def uniform(shape: Any, minval: Any = 0, maxval: Any = 1, dtype: DTypeLike = "float32", seed: int | None = None,
            name: str | None = None) -> Any:
    """Uniform numbers in [minval, maxval)."""
    caller = _caller()
    if caller is not None:
        return wrap(caller.random_uniform(_sizes(shape), float(minval), float(maxval)))
    name = getattr(dtype, "name", dtype)
    if "int" in str(name):
        return Tensor(_generator.integers(minval, maxval, _sizes(shape)).astype(name))
    return Tensor(_generator.uniform(minval, maxval, _sizes(shape)).astype(np.float32))


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: DTypeLike = "float32",
                     seed: int | None = None, name: str | None = None) -> Any:
    """Normal numbers, drawn again beyond two deviations."""
    values = _core.make_initializer("TruncatedNormal", {"mean": float(mean), "stddev": float(stddev)})
    return Tensor(values.draw(_sizes(shape), seed))
