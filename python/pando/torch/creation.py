# SPDX-License-Identifier: Apache-2.0
"""Tensors from numbers, and random ones. Random numbers come from one generator that manual_seed() sets; the weights and
drop-outs of programs follow the same seed."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando import _core
from pando.core import dlpack as _dlpack
from pando.core import dtypes
from pando.core.hints import ArrayLike, DTypeLike
from pando.core.nearest import check_keywords
from pando.core.tensor import Tensor as CoreTensor
from pando.torch.tensor import Tensor

# Where PyTorch puts a tensor, which changes no value.
_WITHOUT_EFFECT = ("device", "layout", "memory_format", "pin_memory", "requires_grad")
_state = {"generator": np.random.default_rng(0), "seed": 0, "default": "float32"}


def manual_seed(seed: int) -> Any:
    """Everything random after it, weights included, depends on this seed alone."""
    _state["generator"] = np.random.default_rng(abs(int(seed)))
    _state["seed"] = int(seed)
    _core.set_random_seed(int(seed) & (2**64 - 1))
    return generator_of(None)


def seed() -> int:
    """Draws a seed from the system, sets it, and returns it."""
    manual_seed(np.random.SeedSequence().entropy % 2**63)
    return _state["seed"]


def initial_seed() -> int:
    """The seed that was set last."""
    return _state["seed"]


def generator_of(generator: Any) -> Any:
    """NumPy's generator of a ``torch.Generator``, or the one that all share."""
    return generator._generator if generator is not None else _state["generator"]


def set_default_dtype(dtype: DTypeLike) -> None:
    """The type of new tensors of floats."""
    _state["default"] = dtypes.of(dtype).name


def get_default_dtype() -> dtypes.DType:
    """The type of new tensors of floats."""
    return dtypes.named(_state["default"], "torch")


def set_default_tensor_type(kind: Any) -> None:
    """Accepts ``torch.FloatTensor``, the type that programs compute in, and refuses others."""
    if "Float" not in str(kind):
        raise TypeError("set_default_tensor_type: programs compute float32; use torch.FloatTensor")


def _numpy_type(dtype, otherwise=None):
    return dtypes.of(dtype).numpy if dtype is not None else np.dtype(otherwise or _state["default"])


def _array(data):
    if isinstance(data, CoreTensor):
        return np.array(data._array("tensor"))
    if isinstance(data, (list, tuple)) and any(isinstance(part, CoreTensor) for part in data):
        data = [_array(part) for part in data]
    array = np.array(data)
    if array.dtype == object:
        raise TypeError("tensor: the data is not a regular array of numbers; its rows must have one length")
    if array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
        return array.astype(_state["default"])
    return array


def tensor(data: ArrayLike, dtype: DTypeLike = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:  # noqa: ARG001
    """A tensor with a copy of the data; Python's floats become float32."""
    array = _array(data)
    made = Tensor(array if dtype is None else array.astype(dtypes.of(dtype).numpy))
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: ArrayLike, dtype: DTypeLike = None, device: Any = None) -> Tensor:  # noqa: ARG001
    """A tensor of the data, which shares the memory of a NumPy array."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.type(dtype)
    if isinstance(data, np.ndarray):
        return from_numpy(data) if dtype is None else from_numpy(data).type(dtype)
    return tensor(data, dtype)


asarray = as_tensor


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor over the memory of the array."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return Tensor(array)


def from_dlpack(source: Any) -> Tensor:
    """A tensor over the memory of an object with ``__dlpack__``, such as an array of another framework, or of a capsule."""
    return Tensor(_dlpack.array_from(source))


def _sizes(sizes):
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    return tuple(int(size) for size in sizes)


def _made(array, requires_grad):
    made = Tensor(array)
    return made.requires_grad_() if requires_grad else made


def zeros(*size: Any, dtype: DTypeLike = None, device: Any = None, requires_grad: bool = False, out: Any = None,
          layout: Any = None, pin_memory: bool = False) -> Tensor:  # noqa: ARG001
    """A tensor of zeros; the sizes are numbers, or one tuple."""
    return _made(np.zeros(_sizes(size), _numpy_type(dtype)), requires_grad)


def ones(*size: Any, dtype: DTypeLike = None, device: Any = None, requires_grad: bool = False, out: Any = None,
         layout: Any = None, pin_memory: bool = False) -> Tensor:  # noqa: ARG001
    """A tensor of ones; the sizes are numbers, or one tuple."""
    return _made(np.ones(_sizes(size), _numpy_type(dtype)), requires_grad)


def empty(*size: Any, dtype: DTypeLike = None, device: Any = None, requires_grad: bool = False, **keywords: Any) -> Tensor:  # noqa: ARG001
    """A tensor of this size; its elements are zeros here."""
    check_keywords("empty", keywords, _WITHOUT_EFFECT)
    return zeros(*size, dtype=dtype, requires_grad=requires_grad)


def full(size: Any, fill_value: float, dtype: DTypeLike = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:  # noqa: ARG001
    """A tensor of this size with one value everywhere."""
    kind = "bool" if isinstance(fill_value, bool) else "int64" if isinstance(fill_value, int) else None
    return _made(np.full(_sizes((size,)), fill_value, _numpy_type(dtype, kind)), requires_grad)


def eye(n: int, m: int | None = None, dtype: DTypeLike = None, device: Any = None,
        requires_grad: bool = False) -> Tensor:  # noqa: ARG001
    """The unit matrix with ``n`` rows and ``m`` columns."""
    return _made(np.eye(n, m, dtype=_numpy_type(dtype)), requires_grad)


def arange(start: Any, end: Any = None, step: Any = 1, dtype: DTypeLike = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:  # noqa: ARG001
    """Numbers from ``start`` to before ``end``; ``arange(end)`` begins at 0."""
    if end is None:
        start, end = 0, start
    kind = "int64" if all(isinstance(x, (int, np.integer)) for x in (start, end, step)) else None
    return _made(np.arange(start, end, step).astype(_numpy_type(dtype, kind)), requires_grad)


def linspace(start: Any, end: Any, steps: int, dtype: DTypeLike = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # noqa: ARG001
    """``steps`` numbers from ``start`` to ``end``, both included."""
    return _made(np.linspace(start, end, steps).astype(_numpy_type(dtype)), requires_grad)


def _like(function):
    def made(input, *arguments, dtype=None, device=None, requires_grad=False, **keywords):  # noqa: A002, ARG001
        check_keywords(f"{function.__name__}_like", keywords, _WITHOUT_EFFECT)
        size = tuple(input.shape)
        return function(size, *arguments, dtype=dtype or input.dtype, requires_grad=requires_grad)
    made.__name__ = f"{function.__name__}_like"
    made.__doc__ = f"As {function.__name__}(), with the shape and type of the input."
    return made


def rand(*size: Any, dtype: DTypeLike = None, device: Any = None, requires_grad: bool = False, generator: Any = None,
         **keywords: Any) -> Tensor:  # noqa: ARG001
    """Uniform between 0 and 1."""
    check_keywords("rand", keywords, _WITHOUT_EFFECT)
    return _made(generator_of(generator).random(_sizes(size), np.float32).astype(_numpy_type(dtype)), requires_grad)


def randn(*size: Any, dtype: DTypeLike = None, device: Any = None, requires_grad: bool = False, generator: Any = None,
          **keywords: Any) -> Tensor:  # noqa: ARG001
    """Normally distributed, with mean 0 and deviation 1."""
    check_keywords("randn", keywords, _WITHOUT_EFFECT)
    drawn = generator_of(generator).standard_normal(_sizes(size), np.float32)
    return _made(np.asarray(drawn).astype(_numpy_type(dtype)), requires_grad)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, generator: Any = None, **keywords: Any) -> Tensor:
    """Normally distributed numbers with this mean and deviation."""
    check_keywords("normal", keywords, _WITHOUT_EFFECT)
    shape = size if size is not None else np.broadcast(np.asarray(mean), np.asarray(std)).shape
    return randn(*shape, generator=generator) * std + mean


def randint(low: Any, high: Any = None, size: Any = None, dtype: DTypeLike = None, device: Any = None,
            generator: Any = None, **keywords: Any) -> Tensor:  # noqa: ARG001
    """Whole numbers from `low` to before `high`; randint(high, size) begins at 0."""
    check_keywords("randint", keywords, _WITHOUT_EFFECT)
    if size is None:
        low, high, size = 0, low, high
    return Tensor(generator_of(generator).integers(low, high, _sizes((size,))).astype(_numpy_type(dtype, "int64")))


def randperm(n: int, generator: Any = None, dtype: DTypeLike = None, device: Any = None, **keywords: Any) -> Tensor:  # noqa: ARG001
    """The numbers from 0 to before ``n``, in random order."""
    check_keywords("randperm", keywords, _WITHOUT_EFFECT)
    return Tensor(generator_of(generator).permutation(n).astype(_numpy_type(dtype, "int64")))


def bernoulli(input: ArrayLike, generator: Any = None) -> Tensor:  # noqa: A002
    """Ones with the probabilities of the input, else zeros."""
    p = input._array("bernoulli")
    return Tensor((generator_of(generator).random(p.shape) < p).astype(p.dtype))


def multinomial(input: ArrayLike, num_samples: int | None, replacement: bool = False, generator: Any = None) -> Tensor:  # noqa: A002
    """Indices, drawn with the weights in each row of the input."""
    weights = np.atleast_2d(input._array("multinomial")).astype(np.float64)
    weights /= weights.sum(-1, keepdims=True)
    rows = [generator_of(generator).choice(len(row), num_samples, replacement, row) for row in weights]
    return Tensor(np.asarray(rows if input.dim() == 2 else rows[0], np.int64))


zeros_like, ones_like, rand_like, randn_like, empty_like = map(_like, (zeros, ones, rand, randn, empty))


def full_like(input: ArrayLike, fill_value: float, dtype: DTypeLike = None, **keywords: Any) -> Tensor:  # noqa: A002
    """As full(), with the shape and type of the input."""
    check_keywords("full_like", keywords, _WITHOUT_EFFECT)
    return full(tuple(input.shape), fill_value, dtype=dtype or input.dtype)


def get_rng_state() -> Any:
    """The state of the generator that all functions share."""
    return _state["generator"].bit_generator.state


def set_rng_state(state: Any) -> None:
    """Sets the state that ``get_rng_state`` returned."""
    _state["generator"].bit_generator.state = state
