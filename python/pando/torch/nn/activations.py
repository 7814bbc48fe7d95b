# SPDX-License-Identifier: Apache-2.0
"""Modules without parameters: activations, shapes and the like. In a trace they are layers of C++, whose nodes bear the
module's name; elsewhere they are the functions of torch.nn.functional."""
from __future__ import annotations

from typing import Any

from pando import _core
from pando.core.hints import ArrayLike, Function
from pando.torch.nn import functional
from pando.torch.nn.layers import _Leaf
from pando.torch.nn.module import Module
from pando.torch import functions

_torch = _core.torch


def _both(module, input, compute):  # noqa: A002
    return module._run_leaf(input) if functional._is_traced(input) else compute(input)


class ReLU(_Leaf):
    """max(x, 0)."""

    def __init__(self, inplace: bool = False) -> None:
        self._begin(_torch.relu)
        self.inplace = inplace

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        return _both(self, input, functional.relu)

    def extra_repr(self) -> Any:
        return "inplace=True" if self.inplace else ""


class LeakyReLU(_Leaf):
    """x, or a small part of it where it is negative."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self._begin(lambda: _torch.leaky_relu(negative_slope))
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        return _both(self, input, lambda x: functional.leaky_relu(x, self.negative_slope))

    def extra_repr(self) -> Any:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class GELU(_Leaf):
    """x times the normal distribution function of x."""

    def __init__(self, approximate: str = "none") -> None:
        self._begin(lambda: _torch.gelu(approximate))
        self.approximate = approximate

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        return _both(self, input, lambda x: functional.gelu(x, self.approximate))


def _plain(name, make, compute, doc):
    def begin(self, inplace=False):  # noqa: ARG001
        self._begin(make)

    def forward(self, input):  # noqa: A002
        return _both(self, input, compute)
    forward.__doc__ = doc
    return type(name, (_Leaf,), {"__init__": begin, "forward": forward, "__doc__": doc, "__module__": __name__})


SiLU = _plain("SiLU", _torch.silu, functional.silu, "x * sigmoid(x).")
Sigmoid = _plain("Sigmoid", _torch.sigmoid, functional.sigmoid, "1 / (1 + exp(-x)).")
Tanh = _plain("Tanh", _torch.tanh, functional.tanh, "The hyperbolic tangent.")


class Identity(Module):
    """Its input; arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002
        super().__init__()

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        return input


class Softmax(_Leaf):
    """Probabilities along a dimension."""

    def __init__(self, dim: Any = None) -> None:
        self.__dict__["dim"] = -1 if dim is None else dim
        self._begin(lambda: _torch.softmax(self.dim))

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        return _both(self, input, lambda x: functional.softmax(x, self.dim))


class LogSoftmax(_Leaf):
    """Logarithms of probabilities along a dimension."""

    def __init__(self, dim: Any = None) -> None:
        self.__dict__["dim"] = -1 if dim is None else dim
        self._begin(lambda: _torch.log_softmax(self.dim))

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        return _both(self, input, lambda x: functional.log_softmax(x, self.dim))


class Flatten(_Leaf):
    """Joins the axes from start_dim to end_dim."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self._begin(lambda: _torch.flatten(start_dim, end_dim))
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        return _both(self, input, lambda x: functions.flatten(x, self.start_dim, self.end_dim))


class Unflatten(Module):
    """Divides an axis into several."""

    def __init__(self, dim: Any, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        sizes = list(input.shape)
        dim = self.dim % len(sizes)
        return functions.reshape(input, [*sizes[:dim], *self.unflattened_size, *sizes[dim + 1:]])

    def extra_repr(self) -> Any:
        """What is printed between the parentheses."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class _Function(Module):
    """A function of torch.nn.functional with fixed arguments."""

    def __init__(self, function: Function, **arguments: Any) -> None:
        super().__init__()
        object.__setattr__(self, "_function", function)
        object.__setattr__(self, "_arguments", arguments)

    def forward(self, *inputs: Any) -> Any:
        return self._function(*inputs, **self._arguments)

    def extra_repr(self) -> Any:
        return ", ".join(f"{name}={value}" for name, value in self._arguments.items())


class ELU(_Function):
    """x, or alpha * (exp(x) - 1) where it is negative."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:  # noqa: ARG002
        super().__init__(functional.elu, alpha=alpha)


class ReLU6(_Function):
    """min(max(x, 0), 6)."""

    def __init__(self, inplace: bool = False) -> None:  # noqa: ARG002
        super().__init__(functional.relu6)


class Softplus(_Function):
    """log(1 + exp(x))."""

    def __init__(self, beta: float = 1, threshold: float = 20) -> None:
        super().__init__(functional.softplus, beta=beta, threshold=threshold)


class LogSigmoid(_Function):
    """log(sigmoid(x))."""

    def __init__(self) -> None:
        super().__init__(functional.logsigmoid)


class Hardtanh(_Function):
    """x between two limits."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:  # noqa: ARG002
        super().__init__(functional.hardtanh, min_val=min_val, max_val=max_val)


class PixelShuffle(_Function):
    """Turns channels into larger images."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(functional.pixel_shuffle, upscale_factor=upscale_factor)


class Upsample(_Function):
    """Larger images, by repeating pixels."""

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: Any = "nearest",
                 align_corners: bool | None = None) -> None:  # noqa: ARG002
        super().__init__(functional.interpolate, size=size, scale_factor=scale_factor, mode=mode)


class ZeroPad2d(Module):
    """Zeros around images: left, right, above, below."""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = (padding,) * 4 if isinstance(padding, int) else tuple(padding)

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        return functional.pad(input, self.padding)

    def extra_repr(self) -> Any:
        return str(self.padding)


class CosineSimilarity(_Function):
    """The cosine of the angle between vectors."""

    def __init__(self, dim: Any = 1, eps: float = 1e-8) -> None:
        super().__init__(functional.cosine_similarity, dim=dim, eps=eps)
