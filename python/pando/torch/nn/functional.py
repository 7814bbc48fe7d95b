# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional: what modules do, without their parameters."""
from __future__ import annotations

import itertools
import math
import typing as _typing
from typing import Any, Sequence

import numpy as np

from pando import _core
from pando.core import dispatch, ops
from pando.core.hints import ArrayLike, DTypeLike, Sizes
from pando.core.nearest import attributes_of as _attributes_of
from pando.torch import functions as _functions
from pando.torch import lazy
from pando.torch.nn.functional_losses import *  # noqa: F403
from pando.torch.nn.functional_losses import _module, _reduction  # noqa: F401
from pando.torch.tensor import Tensor

_dropouts = itertools.count(1)


def _pair(size):
    return (int(size), int(size)) if not isinstance(size, (tuple, list)) else (int(size[0]), int(size[-1]))


def _is_traced(*tensors):
    return any(isinstance(dispatch.value_of(x), _core.Symbol) for x in tensors if x is not None)


# Activations.

def relu(input: ArrayLike, inplace: bool = False) -> Tensor:  # noqa: A002, ARG001
    """max(x, 0)."""
    return ops.relu(input)


def relu6(input: ArrayLike, inplace: bool = False) -> Tensor:  # noqa: A002, ARG001
    """x between 0 and 6, and the nearer of them outside."""
    return ops.clip(input, min=0.0, max=6.0)


def leaky_relu(input: ArrayLike, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:  # noqa: A002, ARG001
    """x, or ``negative_slope * x`` where x is negative."""
    return ops.leaky_relu(input, alpha=float(negative_slope))


def elu(input: ArrayLike, alpha: float = 1.0, inplace: bool = False) -> Tensor:  # noqa: A002, ARG001
    """x, or alpha * (exp(x) - 1) where x is negative."""
    return ops.elu(input, alpha=float(alpha))


def gelu(input: ArrayLike, approximate: str = "none") -> Tensor:  # noqa: A002
    """x times the probability that a normal number is below x; ``approximate="tanh"`` is the faster form."""
    return ops.gelu_tanh(input) if approximate == "tanh" else ops.gelu(input)


def silu(input: ArrayLike, inplace: bool = False) -> Tensor:  # noqa: A002, ARG001
    """x * sigmoid(x)."""
    return ops.silu(input)


def sigmoid(input: ArrayLike) -> Tensor:  # noqa: A002
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(input)


def tanh(input: ArrayLike) -> Tensor:  # noqa: A002
    """The hyperbolic tangent."""
    return ops.tanh(input)


def softplus(input: ArrayLike, beta: float = 1, threshold: float = 20) -> Tensor:  # noqa: A002, ARG001
    """log(1 + exp(beta * x)) / beta, linear above ``threshold``."""
    return ops.softplus(input * beta) / beta if beta != 1 else ops.softplus(input)


def logsigmoid(input: ArrayLike) -> Tensor:  # noqa: A002
    """log(sigmoid(x))."""
    return -ops.softplus(-input)


def hardtanh(input: ArrayLike, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:  # noqa: A002, ARG001
    """x between ``min_val`` and ``max_val``, and the nearer of them outside."""
    return ops.clip(input, min=float(min_val), max=float(max_val))


def softmax(input: ArrayLike, dim: Any = None, _stacklevel: int = 3, dtype: DTypeLike = None) -> Tensor:  # noqa: A002, ARG001
    """Probabilities along a dimension: exp(x) divided by its sum."""
    return ops.softmax(input, _implicit(input, dim))


def log_softmax(input: ArrayLike, dim: Any = None, _stacklevel: int = 3, dtype: DTypeLike = None) -> Tensor:  # noqa: A002, ARG001
    """The logarithm of the softmax along a dimension."""
    return ops.log_softmax(input, _implicit(input, dim))


def _implicit(input, dim):  # noqa: A002
    return dim if dim is not None else (0 if len(input.shape) in (0, 1, 3) else 1)


def normalize(input: ArrayLike, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:  # noqa: A002
    """The input divided by its p-norm along a dimension."""
    return input / ops.maximum(_functions.norm(input, p, dim, True), eps)


def dropout(input: ArrayLike, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:  # noqa: A002, ARG001
    """Sets elements to 0 with probability p and scales the others up."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0.0
    if _is_traced(input):
        return _module("Dropout", float(p))(input)
    # The number of the call is an input: computed again, it draws the same numbers.
    from pando.torch.creation import initial_seed
    draw = lazy.leaf(np.array([next(_dropouts), 0], np.int64))
    return Tensor(lazy.record("dropout", [dispatch.value_of(input), draw],
                              {"rate": float(p), "seed": initial_seed() & (2**62 - 1), "stream": 0}))


def dropout2d(input: ArrayLike, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:  # noqa: A002, ARG001
    """Sets whole channels to 0."""
    if not training or p == 0:
        return input
    if len(input.shape) <= 2:
        return dropout(input, p, training)
    axes = list(range(2, len(input.shape)))
    return input * dropout(ops.stop_gradient(ops.mean(input, axes, True)) * 0.0 + 1.0, p, training)


alpha_dropout = feature_alpha_dropout = dropout


# Products.

def linear(input: ArrayLike, weight: Any, bias: Any = None) -> Tensor:  # noqa: A002
    """input @ weight.T + bias."""
    product = ops.matmul(input, weight, transpose_b=True) if len(input.shape) > 1 else ops.matmul(weight, input)
    return product if bias is None else product + bias


def conv2d(input: ArrayLike, weight: Any, bias: Any = None, stride: Sizes | None = 1, padding: Any = 0,
           dilation: Sizes = 1, groups: int = 1) -> Tensor:  # noqa: A002
    """Convolution of images [batch, channels, height, width] with weights [out, in / groups, height, width]."""
    x, filters = ops.transpose(input, [0, 2, 3, 1]), ops.transpose(weight, [2, 3, 1, 0])
    if padding in ("same", "valid"):
        spans = [d * (k - 1) if padding == "same" else 0 for d, k in zip(_pair(dilation), weight.shape[2:])]
        sides = [spans[0] // 2, spans[0] - spans[0] // 2, spans[1] // 2, spans[1] - spans[1] // 2]
    else:
        high, wide = _pair(padding)
        sides = [high, high, wide, wide]
    y = ops.call("conv2d", x, filters, strides=_pair(stride), padding=sides, dilations=_pair(dilation), groups=groups)
    return ops.transpose(y if bias is None else y + bias, [0, 3, 1, 2])


def embedding(input: ArrayLike, weight: Any, padding_idx: Any = None, max_norm: float | None = None,  # noqa: A002, ARG001
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of ``weight`` that the numbers of the input choose."""
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("embedding: max_norm and scale_grad_by_freq are not in Pando")
    return ops.gather(weight, input)


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """A one at the place of each number, else zeros."""
    depth = int(tensor.max().item()) + 1 if num_classes == -1 else num_classes
    return ops.one_hot(tensor, depth, "int64" if isinstance(tensor._value, np.ndarray) else "int32")


def layer_norm(input: ArrayLike, normalized_shape: Sizes, weight: Any = None, bias: Any = None,
               eps: float = 1e-5) -> Tensor:  # noqa: A002
    """Normalises over the last dimensions, those of ``normalized_shape``."""
    axes = list(range(-len(normalized_shape), 0))
    centred = input - ops.mean(input, axes, True)
    y = centred * ops.rsqrt(ops.mean(ops.square(centred), axes, True) + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


# Pooling and sizes.

def max_pool2d(input: ArrayLike, kernel_size: Sizes, stride: Sizes | None = None, padding: Any = 0, dilation: Sizes = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Tensor:  # noqa: A002
    """The largest value of each window."""
    return _module("MaxPool2d", kernel_size, stride, padding, dilation, return_indices,
                   ceil_mode)(input)


def avg_pool2d(input: ArrayLike, kernel_size: Sizes, stride: Sizes | None = None, padding: Any = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None) -> Tensor:  # noqa: A002
    """The mean of each window."""
    return _module("AvgPool2d", kernel_size, stride, padding, ceil_mode, count_include_pad,
                   divisor_override)(input)


def adaptive_avg_pool2d(input: ArrayLike, output_size: Any) -> Tensor:  # noqa: A002
    """Means of windows chosen so that the result has this height and width."""
    return _module("AdaptiveAvgPool2d", output_size)(input)


def pad(input: ArrayLike, pad: Sequence[int], mode: Any = "constant", value: float | None = None) -> Tensor:  # noqa: A002
    """Adds a border: ``pad`` has the widths (before, after), the last dimension first."""
    if mode != "constant":
        raise ValueError(f"pad: the mode is {mode!r} but must be 'constant'")
    widths = [(0, 0)] * len(input.shape)
    for i in range(len(pad) // 2):
        widths[-1 - i] = (pad[2 * i], pad[2 * i + 1])
    return ops.pad(input, widths, value or 0.0)


def pixel_shuffle(input: ArrayLike, upscale_factor: int) -> Tensor:  # noqa: A002
    """Moves channels to pixels: an image ``upscale_factor`` times as high and wide."""
    n, c, h, w = input.shape
    r = upscale_factor
    if c % (r * r) != 0:
        raise RuntimeError(f"pixel_shuffle: the {c} channels must be divisible by {r} * {r}")
    x = ops.reshape(input, [n, c // (r * r), r, r, h, w])
    return ops.reshape(ops.transpose(x, [0, 1, 4, 2, 5, 3]), [n, c // (r * r), h * r, w * r])


def interpolate(input: ArrayLike, size: Any = None, scale_factor: Any = None, mode: str = "nearest",  # noqa: A002
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:
    """The image larger by a whole factor, each pixel repeated; ``size`` is the new height and width."""
    if mode != "nearest" or align_corners or recompute_scale_factor or antialias:
        raise NotImplementedError(f"interpolate: mode={mode!r} is not in Pando with these arguments; use mode='nearest'")
    n, c, h, w = input.shape
    wanted = _pair(size) if size is not None else [f * d for f, d in zip(_pair(scale_factor), (h, w))]
    factors = [int(s // d) for s, d in zip(wanted, (h, w))]
    if any(f < 1 or f * d != s for f, s, d in zip(factors, wanted, (h, w))):
        raise NotImplementedError(f"interpolate: from {h} x {w} to {wanted[0]:g} x {wanted[1]:g}: Pando has whole factors only")
    x = ops.broadcast_to(ops.reshape(input, [n, c, h, 1, w, 1]), [n, c, h, factors[0], w, factors[1]])
    return ops.reshape(x, [n, c, h * factors[0], w * factors[1]])


upsample = interpolate


def scaled_dot_product_attention(query: Any, key: Any, value: ArrayLike, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: Any = None) -> Tensor:
    """Attention; a mask of booleans says what may be looked at, one of floats is added."""
    scores = ops.matmul(query, key, transpose_b=True) * (scale or 1 / math.sqrt(query.shape[-1]))
    if is_causal:
        attn_mask = Tensor(np.tril(np.ones((query.shape[-2], key.shape[-2]), bool)))
    if attn_mask is not None:
        scores = ops.where(attn_mask, scores, -1e30) if attn_mask.dtype == "bool" else scores + attn_mask
    return ops.matmul(dropout(ops.softmax(scores, -1), dropout_p, dropout_p > 0), value)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
