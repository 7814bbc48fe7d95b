# SPDX-License-Identifier: Apache-2.0
"""The layers of torch.nn that have parameters, sizes or random numbers; each is a layer of C++ under its full signature."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando import _core
from pando.core import ops
from pando.core.hints import ArrayLike, DTypeLike, Sizes
from pando.torch.nn import functional
from pando.torch.nn.module import Module
from pando.torch.nn.parameter import Parameter

_torch = _core.torch


def _refuse(module, **options):
    """Raises for options whose values only PyTorch has: name=(value, the values that are fine)."""
    for name, (value, fine) in options.items():
        if value not in fine:
            raise ValueError(f"{type(module).__name__}: {name}={value!r} is not in Pando; use {fine[0]!r}")


class _Leaf(Module):
    """A layer of C++ under the signature of PyTorch."""

    def _begin(self, make):
        super().__init__()
        object.__setattr__(self, "_make", make)
        self._add_leaf(make())

    def _make_leaf(self):
        return self._make()

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        return self._run_leaf(input)


class Linear(_Leaf):
    """y = x A^T + b. The weight is [out_features, in_features].

    >>> import pando.torch as torch
    >>> torch.nn.Linear(3, 2)(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(self, in_features: int, out_features: int, bias: Any = True, device: Any = None,
                 dtype: DTypeLike = None) -> None:  # noqa: ARG002
        self._begin(lambda: _torch.linear(in_features, out_features, bool(bias)))
        self.in_features, self.out_features = in_features, out_features
        if not bias:
            self._parameters["bias"] = None


class _Conv(_Leaf):
    def _describe(self, in_channels, out_channels, kernel_size, stride, padding, bias):
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = functional._pair(kernel_size), functional._pair(stride)
        self.padding = padding if isinstance(padding, str) else functional._pair(padding)
        if not bias:
            self._parameters["bias"] = None


class Conv2d(_Conv):
    """A convolution of images [batch, channels, height, width]."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes | None = 1,
                 padding: Any = 0, dilation: Sizes = 1, groups: int = 1, bias: Any = True, padding_mode: str = "zeros",
                 device: Any = None, dtype: DTypeLike = None) -> None:  # noqa: ARG002
        self._begin(lambda: _torch.conv2d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                                          bool(bias)))
        _refuse(self, padding_mode=(padding_mode, ("zeros",)))
        self._describe(in_channels, out_channels, kernel_size, stride, padding, bias)
        self.groups, self.dilation = groups, functional._pair(dilation)


class ConvTranspose2d(_Conv):
    """The transpose of a convolution, which makes images larger."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes | None = 1,
                 padding: Any = 0, output_padding: Sizes = 0, groups: int = 1, bias: Any = True, dilation: Sizes = 1,
                 padding_mode: str = "zeros", device: Any = None, dtype: DTypeLike = None) -> None:  # noqa: ARG002
        self._begin(lambda: _torch.conv_transpose2d(in_channels, out_channels, kernel_size, stride, padding,
                                                    output_padding, groups, bool(bias), dilation))
        _refuse(self, padding_mode=(padding_mode, ("zeros",)))
        self._describe(in_channels, out_channels, kernel_size, stride, padding, bias)


class Conv1d(Module):
    """A convolution along one axis, [batch, channels, length]: one of images of height 1."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Sizes, stride: Sizes | None = 1,
                 padding: Any = 0, dilation: Sizes = 1, groups: int = 1, bias: Any = True, padding_mode: str = "zeros",
                 device: Any = None, dtype: DTypeLike = None) -> None:  # noqa: ARG002
        super().__init__()
        _refuse(self, padding_mode=(padding_mode, ("zeros",)))
        first = [size[0] if isinstance(size, (tuple, list)) else size for size in (kernel_size, stride, padding,
                                                                                   dilation)]
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding, self.dilation = ((size,) for size in first)
        self.groups = groups
        limit = 1 / np.sqrt(in_channels // groups * first[0])
        from pando.torch.creation import rand
        self.weight = Parameter(rand(out_channels, in_channels // groups, first[0]) * 2 * limit - limit)
        self.register_parameter("bias", Parameter(rand(out_channels) * 2 * limit - limit) if bias else None)

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        y = functional.conv2d(ops.expand_dims(input, 2), ops.expand_dims(self.weight, 2), self.bias,
                              (1, self.stride[0]), (0, self.padding[0]), (1, self.dilation[0]), self.groups)
        return ops.squeeze(y, 2)

    def extra_repr(self) -> Any:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += f", padding={self.padding}" if self.padding != (0,) else ""
        return text + (", bias=False" if self.bias is None else "")


class Embedding(_Leaf):
    """Rows of a table, chosen by integers."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: Any = None, max_norm: float | None = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
                 device: Any = None, dtype: DTypeLike = None) -> None:  # noqa: ARG002
        self._begin(lambda: _torch.embedding(num_embeddings, embedding_dim))
        _refuse(self, max_norm=(max_norm, (None,)), scale_grad_by_freq=(scale_grad_by_freq, (False,)))
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        if _weight is not None:
            self.weight._set(_weight)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> Any:
        """An embedding with these vectors; ``freeze`` keeps training from changing them."""
        made = cls(*embeddings.shape, _weight=embeddings, **options)
        made.weight.requires_grad = not freeze
        return made


class MaxPool2d(_Leaf):
    """The largest value of each window."""

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Any = 0, dilation: Sizes = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:
        self._begin(lambda: _torch.max_pool2d(kernel_size, stride, padding, bool(ceil_mode)))
        _refuse(self, dilation=(dilation, (1, (1, 1))), return_indices=(return_indices, (False,)))
        self.kernel_size, self.stride, self.padding = kernel_size, stride if stride is not None else kernel_size, padding


class AvgPool2d(_Leaf):
    """The mean of each window."""

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Any = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: Any = None) -> None:
        self._begin(lambda: _torch.avg_pool2d(kernel_size, stride, padding, bool(ceil_mode), bool(count_include_pad)))
        _refuse(self, divisor_override=(divisor_override, (None,)))


class AdaptiveAvgPool2d(_Leaf):
    """Means over windows, for an output of this size."""

    def __init__(self, output_size: Any) -> None:
        self._begin(lambda: _torch.adaptive_avg_pool2d(output_size))


class BatchNorm2d(_Leaf):
    """Normalises each channel over the batch; evaluation uses running statistics."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: DTypeLike = None) -> None:  # noqa: ARG002
        self._begin(lambda: _torch.batch_norm2d(num_features, eps, momentum, bool(affine), bool(track_running_stats)))
        self.num_features, self.eps, self.momentum = num_features, eps, momentum


class BatchNorm1d(BatchNorm2d):
    """Normalises each feature of [batch, features] or [batch, features, length] over the batch."""

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        if len(input.shape) not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {len(input.shape)}D input)")
        sizes = list(input.shape)
        return ops.reshape(self._run_leaf(ops.reshape(input, [*sizes, *[1] * (4 - len(sizes))])), sizes)


class LayerNorm(_Leaf):
    """Normalises each sample over its last axes."""

    def __init__(self, normalized_shape: Sizes, eps: float = 1e-5, elementwise_affine: bool = True, device: Any = None,
                 dtype: DTypeLike = None) -> None:  # noqa: ARG002
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self._begin(lambda: _torch.layer_norm(shape, eps, bool(elementwise_affine)))
        self.normalized_shape, self.eps = shape, eps


class GroupNorm(Module):
    """Normalises groups of channels of each sample."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: DTypeLike = None) -> None:  # noqa: ARG002
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError("num_channels must be divisible by num_groups")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.register_parameter("weight", Parameter(np.ones(num_channels, np.float32)) if affine else None)
        self.register_parameter("bias", Parameter(np.zeros(num_channels, np.float32)) if affine else None)

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        sizes = list(input.shape)
        x = ops.reshape(input, [sizes[0], self.num_groups, -1])
        y = ops.reshape(functional.layer_norm(x, (x.shape[-1],), eps=self.eps), sizes)
        if not self.affine:
            return y
        channels = [1, self.num_channels, *[1] * (len(sizes) - 2)]
        return y * ops.reshape(self.weight, channels) + ops.reshape(self.bias, channels)

    def extra_repr(self) -> Any:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class InstanceNorm2d(GroupNorm):
    """Normalises each channel of each image."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, **_: Any) -> None:
        super().__init__(num_features, num_features, eps, affine)
        _refuse(self, track_running_stats=(track_running_stats, (False,)))
        self.momentum = momentum


class Dropout(_Leaf):
    """In training, sets values to 0 with probability p and scales the others up."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        self._begin(lambda: _torch.dropout(p))
        self.p, self.inplace = p, inplace

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        if functional._is_traced(input):
            return self._run_leaf(input)
        return functional.dropout(input, self.p, self.training)

    def extra_repr(self) -> Any:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout2d(Module):
    """In training, sets whole channels to 0 with probability p."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p, self.inplace = p, inplace

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        return functional.dropout2d(input, self.p, self.training)

    def extra_repr(self) -> Any:
        return f"p={self.p}, inplace={self.inplace}"
