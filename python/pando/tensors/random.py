# SPDX-License-Identifier: Apache-2.0
"""Random numbers: they are new in each step within a layer, and drawn at once elsewhere."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando import _core
from pando.core import dtypes
from pando.core.calls import current_call
from pando.core.hints import DTypeLike
from pando.core.messages import notice_once
from pando.tensors.tensor import Tensor, wrap

_generator = np.random.default_rng(0)
_global_seed = 0
# The generators of calls with a seed of their own, which go on from call to call.
_seeded: dict[int, np.random.Generator] = {}


def set_seed(seed: int | None) -> Any:
    """Seeds everything random in Pando."""
    global _generator, _global_seed
    _core.set_random_seed(int(seed))
    _generator, _global_seed = np.random.default_rng(int(seed)), int(seed)
    _seeded.clear()


def _numbers(seed):
    """The generator that a call with this seed draws from."""
    if seed is None:
        return _generator
    return _seeded.setdefault(int(seed), np.random.default_rng([_global_seed, int(seed)]))


def _traced(who, dtype, seed):
    """Checks the arguments of a call within a layer that is traced."""
    if dtypes.of(dtype).name != "float32":
        raise NotImplementedError(f"{who}: dtype={dtypes.of(dtype).name!r} is not in Pando within a layer, which draws "
                                  "float32; use tf.cast")
    if seed is not None:
        notice_once("tf", f"{who}: seed has no effect within a layer in Pando; tf.random.set_seed() decides")


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
        _traced("normal", dtype, seed)
        return wrap(caller.random_normal(_sizes(shape), float(mean), float(stddev)))
    return Tensor(_numbers(seed).normal(mean, stddev, _sizes(shape)).astype(dtypes.of(dtype).numpy))


def uniform(shape: Any, minval: Any = 0, maxval: Any = 1, dtype: DTypeLike = "float32", seed: int | None = None,
            name: str | None = None) -> Any:
    """Uniform numbers in [minval, maxval)."""
    caller = _caller()
    if caller is not None:
        _traced("uniform", dtype, seed)
        return wrap(caller.random_uniform(_sizes(shape), float(minval), float(maxval)))
    numbers, kind = _numbers(seed), dtypes.of(dtype)
    drawn = numbers.integers if "int" in kind.name else numbers.uniform
    return Tensor(drawn(minval, maxval, _sizes(shape)).astype(kind.numpy))


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: DTypeLike = "float32",
                     seed: int | None = None, name: str | None = None) -> Any:
    """Normal numbers, drawn again beyond two deviations."""
    values = _core.make_initializer("TruncatedNormal", {"mean": float(mean), "stddev": float(stddev)})
    return Tensor(np.asarray(values.draw(_sizes(shape), seed), dtypes.of(dtype).numpy))
