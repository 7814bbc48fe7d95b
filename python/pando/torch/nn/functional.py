# SPDX-License-Identifier: Apache-2.0
"""torch.nn.functional: what modules do, without their parameters."""
import functools
import itertools
import math

import numpy as np

from pando import _core
from pando.core import dispatch, ops
from pando.torch import functions as _functions
from pando.torch import lazy
from pando.torch.tensor import Tensor

_dropouts = itertools.count(1)


def _pair(size):
    return (int(size), int(size)) if not isinstance(size, (tuple, list)) else (int(size[0]), int(size[-1]))


def _is_traced(*tensors):
    return any(isinstance(dispatch.value_of(x), _core.Symbol) for x in tensors if x is not None)


def _module(kind, *arguments):
    """A module without parameters that functions of the same arguments share."""
    return _shared_module(kind, *(tuple(a) if isinstance(a, list) else a for a in arguments))


@functools.lru_cache(maxsize=256)
def _shared_module(kind, *arguments):
    from pando.torch import nn
    return getattr(nn, kind)(*arguments)


# Activations.

def relu(input, inplace=False):  # noqa: A002, ARG001
    return ops.relu(input)


def relu6(input, inplace=False):  # noqa: A002, ARG001
    return ops.clip(input, min=0.0, max=6.0)


def leaky_relu(input, negative_slope=0.01, inplace=False):  # noqa: A002, ARG001
    return ops.leaky_relu(input, alpha=float(negative_slope))


def elu(input, alpha=1.0, inplace=False):  # noqa: A002, ARG001
    return ops.elu(input, alpha=float(alpha))


def gelu(input, approximate="none"):  # noqa: A002
    return ops.gelu_tanh(input) if approximate == "tanh" else ops.gelu(input)


def silu(input, inplace=False):  # noqa: A002, ARG001
    return ops.silu(input)


def sigmoid(input):  # noqa: A002
    return ops.sigmoid(input)


def tanh(input):  # noqa: A002
    return ops.tanh(input)


def softplus(input, beta=1, threshold=20):  # noqa: A002, ARG001
    return ops.softplus(input * beta) / beta if beta != 1 else ops.softplus(input)


def logsigmoid(input):  # noqa: A002
    return -ops.softplus(-input)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):  # noqa: A002, ARG001
    return ops.clip(input, min=float(min_val), max=float(max_val))


def softmax(input, dim=None, _stacklevel=3, dtype=None):  # noqa: A002, ARG001
    return ops.softmax(input, _implicit(input, dim))


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):  # noqa: A002, ARG001
    return ops.log_softmax(input, _implicit(input, dim))


def _implicit(input, dim):  # noqa: A002
    return dim if dim is not None else (0 if len(input.shape) in (0, 1, 3) else 1)


def normalize(input, p=2.0, dim=1, eps=1e-12):  # noqa: A002
    return input / ops.maximum(_functions.norm(input, p, dim, True), eps)


def dropout(input, p=0.5, training=True, inplace=False):  # noqa: A002, ARG001
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


def dropout2d(input, p=0.5, training=True, inplace=False):  # noqa: A002, ARG001
    """Sets whole channels to 0."""
    if not training or p == 0:
        return input
    if len(input.shape) <= 2:
        return dropout(input, p, training)
    axes = list(range(2, len(input.shape)))
    return input * dropout(ops.stop_gradient(ops.mean(input, axes, True)) * 0.0 + 1.0, p, training)


alpha_dropout = feature_alpha_dropout = dropout


# Products.

def linear(input, weight, bias=None):  # noqa: A002
    product = ops.matmul(input, weight, transpose_b=True) if len(input.shape) > 1 else ops.matmul(weight, input)
    return product if bias is None else product + bias


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):  # noqa: A002
    x, filters = ops.transpose(input, [0, 2, 3, 1]), ops.transpose(weight, [2, 3, 1, 0])
    if padding in ("same", "valid"):
        spans = [d * (k - 1) if padding == "same" else 0 for d, k in zip(_pair(dilation), weight.shape[2:])]
        sides = [spans[0] // 2, spans[0] - spans[0] // 2, spans[1] // 2, spans[1] - spans[1] // 2]
    else:
        high, wide = _pair(padding)
        sides = [high, high, wide, wide]
    y = ops.call("conv2d", x, filters, strides=_pair(stride), padding=sides, dilations=_pair(dilation), groups=groups)
    return ops.transpose(y if bias is None else y + bias, [0, 3, 1, 2])


def embedding(input, weight, padding_idx=None, **_):  # noqa: A002, ARG001
    return ops.gather(weight, input)


def one_hot(tensor, num_classes=-1):
    depth = int(tensor.max().item()) + 1 if num_classes == -1 else num_classes
    return ops.one_hot(tensor, depth, "int64" if isinstance(tensor._value, np.ndarray) else "int32")


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):  # noqa: A002
    axes = list(range(-len(normalized_shape), 0))
    centred = input - ops.mean(input, axes, True)
    y = centred * ops.rsqrt(ops.mean(ops.square(centred), axes, True) + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


# Pooling and sizes.

def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,  # noqa: A002
               return_indices=False):
    return _module("MaxPool2d", kernel_size, stride, padding, dilation, return_indices,
                   ceil_mode)(input)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,  # noqa: A002
               divisor_override=None):
    return _module("AvgPool2d", kernel_size, stride, padding, ceil_mode, count_include_pad,
                   divisor_override)(input)


def adaptive_avg_pool2d(input, output_size):  # noqa: A002
    return _module("AdaptiveAvgPool2d", output_size)(input)


def pad(input, pad, mode="constant", value=None):  # noqa: A002
    if mode != "constant":
        raise ValueError(f"pad: the mode is {mode!r} but must be 'constant'")
    widths = [(0, 0)] * len(input.shape)
    for i in range(len(pad) // 2):
        widths[-1 - i] = (pad[2 * i], pad[2 * i + 1])
    return ops.pad(input, widths, value or 0.0)


def pixel_shuffle(input, upscale_factor):  # noqa: A002
    n, c, h, w = input.shape
    r = upscale_factor
    if c % (r * r) != 0:
        raise RuntimeError(f"pixel_shuffle: the {c} channels must be divisible by {r} * {r}")
    x = ops.reshape(input, [n, c // (r * r), r, r, h, w])
    return ops.reshape(ops.transpose(x, [0, 1, 4, 2, 5, 3]), [n, c // (r * r), h * r, w * r])


def interpolate(input, size=None, scale_factor=None, mode="nearest", **_):  # noqa: A002
    if mode != "nearest":
        raise ValueError(f"interpolate: the mode is {mode!r} but must be 'nearest'")
    n, c, h, w = input.shape
    factors = [s // d for s, d in zip(_pair(size), (h, w))] if size is not None else [int(f) for f in
                                                                                    _pair(scale_factor)]
    x = ops.broadcast_to(ops.reshape(input, [n, c, h, 1, w, 1]), [n, c, h, factors[0], w, factors[1]])
    return ops.reshape(x, [n, c, h * factors[0], w * factors[1]])


upsample = interpolate


# Losses.

def _reduction(reduction, size_average=None, reduce=None):
    if reduce is False:
        return "none"
    return "sum" if size_average is False else reduction


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,  # noqa: A002
                  reduction="mean", label_smoothing=0.0):
    reduction = _reduction(reduction, size_average, reduce)
    from pando.torch import nn
    if weight is not None:
        return nn.CrossEntropyLoss(weight, ignore_index=ignore_index, reduction=reduction,
                                   label_smoothing=label_smoothing)(input, target)
    return _module("CrossEntropyLoss", None, None, ignore_index, None, reduction, label_smoothing)(input, target)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,  # noqa: A002
             reduction="mean"):
    reduction = _reduction(reduction, size_average, reduce)
    from pando.torch import nn
    if weight is not None:
        return nn.NLLLoss(weight, ignore_index=ignore_index, reduction=reduction)(input, target)
    return _module("NLLLoss", None, None, ignore_index, None, reduction)(input, target)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):  # noqa: A002
    return _module("MSELoss", None, None, _reduction(reduction, size_average, reduce))(input, target)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):  # noqa: A002
    return _module("L1Loss", None, None, _reduction(reduction, size_average, reduce))(input, target)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):  # noqa: A002
    return _module("SmoothL1Loss", None, None, _reduction(reduction, size_average, reduce), beta)(input, target)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None,  # noqa: A002
                                     reduction="mean", pos_weight=None):
    from pando.torch import nn
    return nn.BCEWithLogitsLoss(weight, reduction=_reduction(reduction, size_average, reduce),
                                pos_weight=pos_weight)(input, target)


def reduced(losses, reduction):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ops.mean(losses) if reduction == "mean" else ops.sum(losses) if reduction == "sum" else losses


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):  # noqa: A002
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
                         "deprecated. Please ensure they have the same size.")
    losses = ops.binary_cross_entropy(input, ops.cast(target, "float32"), epsilon=1e-12)
    return reduced(losses if weight is None else losses * weight, _reduction(reduction, size_average, reduce))


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):  # noqa: A002
    losses = ops.exp(target) * (target - input) if log_target else \
        target * (ops.log(ops.maximum(target, 1e-38)) - input)
    if reduction == "batchmean":
        return ops.sum(losses) / input.shape[0]
    return reduced(losses, _reduction(reduction, size_average, reduce))


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    norms = _functions.norm(x1, 2, dim) * _functions.norm(x2, 2, dim)
    return ops.sum(x1 * x2, dim) / ops.maximum(norms, eps)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return _functions.norm(x1 - x2 + eps, p, -1, keepdim)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, reduction="mean", **_):
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    return reduced(ops.maximum(near - far + margin, 0.0), reduction)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    """Attention; a mask of booleans says what may be looked at, one of floats is added."""
    scores = ops.matmul(query, key, transpose_b=True) * (scale or 1 / math.sqrt(query.shape[-1]))
    if is_causal:
        attn_mask = Tensor(np.tril(np.ones((query.shape[-2], key.shape[-2]), bool)))
    if attn_mask is not None:
        scores = ops.where(attn_mask, scores, -1e30) if attn_mask.dtype == "bool" else scores + attn_mask
    return ops.matmul(dropout(ops.softmax(scores, -1), dropout_p, dropout_p > 0), value)
