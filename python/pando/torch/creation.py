# SPDX-License-Identifier: Apache-2.0
"""Tensors from numbers, and random ones. Random numbers come from one generator that manual_seed() sets; the weights and
drop-outs of programs follow the same seed."""
import numpy as np

from pando import _core
from pando.core import dtypes
from pando.core.tensor import Tensor as CoreTensor
from pando.torch.tensor import Tensor

_state = {"generator": np.random.default_rng(0), "seed": 0, "default": "float32"}


def manual_seed(seed):
    """Everything random after it, weights included, depends on this seed alone."""
    _state["generator"] = np.random.default_rng(abs(int(seed)))
    _state["seed"] = int(seed)
    _core.set_random_seed(int(seed) & (2**64 - 1))
    return generator_of(None)


def seed():
    manual_seed(np.random.SeedSequence().entropy % 2**63)
    return _state["seed"]


def initial_seed():
    return _state["seed"]


def generator_of(generator):
    return generator._generator if generator is not None else _state["generator"]


def set_default_dtype(dtype):
    _state["default"] = dtypes.of(dtype).name


def get_default_dtype():
    return dtypes.named(_state["default"], "torch")


def set_default_tensor_type(kind):
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


def tensor(data, dtype=None, device=None, requires_grad=False, pin_memory=False):  # noqa: ARG001
    """A tensor with a copy of the data; Python's floats become float32."""
    array = _array(data)
    made = Tensor(array if dtype is None else array.astype(dtypes.of(dtype).numpy))
    return made.requires_grad_() if requires_grad else made


def as_tensor(data, dtype=None, device=None):  # noqa: ARG001
    if isinstance(data, Tensor):
        return data if dtype is None else data.type(dtype)
    if isinstance(data, np.ndarray):
        return from_numpy(data) if dtype is None else from_numpy(data).type(dtype)
    return tensor(data, dtype)


asarray = as_tensor


def from_numpy(array):
    """A tensor over the memory of the array."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return Tensor(array)


def from_dlpack(source):
    return Tensor(np.from_dlpack(source))


def _sizes(sizes):
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    return tuple(int(size) for size in sizes)


def _made(array, requires_grad):
    made = Tensor(array)
    return made.requires_grad_() if requires_grad else made


def zeros(*size, dtype=None, device=None, requires_grad=False, out=None, layout=None, pin_memory=False,  # noqa: ARG001
          ):
    return _made(np.zeros(_sizes(size), _numpy_type(dtype)), requires_grad)


def ones(*size, dtype=None, device=None, requires_grad=False, out=None, layout=None, pin_memory=False):  # noqa: ARG001
    return _made(np.ones(_sizes(size), _numpy_type(dtype)), requires_grad)


def empty(*size, dtype=None, device=None, requires_grad=False, **_):  # noqa: ARG001
    return zeros(*size, dtype=dtype, requires_grad=requires_grad)


def full(size, fill_value, dtype=None, device=None, requires_grad=False):  # noqa: ARG001
    kind = "bool" if isinstance(fill_value, bool) else "int64" if isinstance(fill_value, int) else None
    return _made(np.full(_sizes((size,)), fill_value, _numpy_type(dtype, kind)), requires_grad)


def eye(n, m=None, dtype=None, device=None, requires_grad=False):  # noqa: ARG001
    return _made(np.eye(n, m, dtype=_numpy_type(dtype)), requires_grad)


def arange(start, end=None, step=1, dtype=None, device=None, requires_grad=False):  # noqa: ARG001
    if end is None:
        start, end = 0, start
    kind = "int64" if all(isinstance(x, (int, np.integer)) for x in (start, end, step)) else None
    return _made(np.arange(start, end, step).astype(_numpy_type(dtype, kind)), requires_grad)


def linspace(start, end, steps, dtype=None, device=None, requires_grad=False):  # noqa: ARG001
    return _made(np.linspace(start, end, steps).astype(_numpy_type(dtype)), requires_grad)


def _like(function):
    def made(input, *arguments, dtype=None, device=None, requires_grad=False, **_):  # noqa: A002, ARG001
        size = tuple(input.shape)
        return function(size, *arguments, dtype=dtype or input.dtype, requires_grad=requires_grad)
    made.__name__ = f"{function.__name__}_like"
    made.__doc__ = f"As {function.__name__}(), with the shape and type of the input."
    return made


def rand(*size, dtype=None, device=None, requires_grad=False, generator=None, **_):  # noqa: ARG001
    """Uniform between 0 and 1."""
    return _made(generator_of(generator).random(_sizes(size), np.float32).astype(_numpy_type(dtype)), requires_grad)


def randn(*size, dtype=None, device=None, requires_grad=False, generator=None, **_):  # noqa: ARG001
    """Normally distributed, with mean 0 and deviation 1."""
    drawn = generator_of(generator).standard_normal(_sizes(size), np.float32)
    return _made(np.asarray(drawn).astype(_numpy_type(dtype)), requires_grad)


def normal(mean=0.0, std=1.0, size=None, generator=None, **_):
    shape = size if size is not None else np.broadcast(np.asarray(mean), np.asarray(std)).shape
    return randn(*shape, generator=generator) * std + mean


def randint(low, high=None, size=None, dtype=None, device=None, generator=None, **_):  # noqa: ARG001
    """Whole numbers from `low` to before `high`; randint(high, size) begins at 0."""
    if size is None:
        low, high, size = 0, low, high
    return Tensor(generator_of(generator).integers(low, high, _sizes((size,))).astype(_numpy_type(dtype, "int64")))


def randperm(n, generator=None, dtype=None, device=None, **_):  # noqa: ARG001
    return Tensor(generator_of(generator).permutation(n).astype(_numpy_type(dtype, "int64")))


def bernoulli(input, generator=None):  # noqa: A002
    p = input._array("bernoulli")
    return Tensor((generator_of(generator).random(p.shape) < p).astype(p.dtype))


def multinomial(input, num_samples, replacement=False, generator=None):  # noqa: A002
    weights = np.atleast_2d(input._array("multinomial")).astype(np.float64)
    weights /= weights.sum(-1, keepdims=True)
    rows = [generator_of(generator).choice(len(row), num_samples, replacement, row) for row in weights]
    return Tensor(np.asarray(rows if input.dim() == 2 else rows[0], np.int64))


zeros_like, ones_like, rand_like, randn_like, empty_like = map(_like, (zeros, ones, rand, randn, empty))


def full_like(input, fill_value, dtype=None, **_):  # noqa: A002
    return full(tuple(input.shape), fill_value, dtype=dtype or input.dtype)


def get_rng_state():
    return _state["generator"].bit_generator.state


def set_rng_state(state):
    _state["generator"].bit_generator.state = state
