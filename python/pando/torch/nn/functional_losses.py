# SPDX-License-Identifier: Apache-2.0
"""The losses of torch.nn.functional, and the distances that some of them are made of."""
from __future__ import annotations

import functools
from typing import Any

from pando.core import ops
from pando.core.hints import ArrayLike
from pando.torch import functions as _functions
from pando.torch.tensor import Tensor

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_similarity", "cross_entropy", "kl_div",
           "l1_loss", "mse_loss", "nll_loss", "pairwise_distance", "smooth_l1_loss", "triplet_margin_loss"]


def _module(kind, *arguments):
    """A module without parameters that functions of the same arguments share."""
    return _shared_module(kind, *(tuple(a) if isinstance(a, list) else a for a in arguments))


@functools.lru_cache(maxsize=256)
def _shared_module(kind, *arguments):
    from pando.torch import nn
    return getattr(nn, kind)(*arguments)


def _reduction(reduction, size_average=None, reduce=None):
    if reduce is False:
        return "none"
    return "sum" if size_average is False else reduction


def cross_entropy(input: ArrayLike, target: ArrayLike, weight: Any = None, size_average: bool | None = None,
                  ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:  # noqa: A002
    """The cross-entropy of logits [batch, classes, ...] and classes, or probabilities like the input."""
    reduction = _reduction(reduction, size_average, reduce)
    from pando.torch import nn
    if weight is not None:
        return nn.CrossEntropyLoss(weight, ignore_index=ignore_index, reduction=reduction,
                                   label_smoothing=label_smoothing)(input, target)
    return _module("CrossEntropyLoss", None, None, ignore_index, None, reduction, label_smoothing)(input, target)


def nll_loss(input: ArrayLike, target: ArrayLike, weight: Any = None, size_average: bool | None = None,
             ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # noqa: A002
    """Minus the log-probability of the right class; the input is that of ``log_softmax``."""
    reduction = _reduction(reduction, size_average, reduce)
    from pando.torch import nn
    if weight is not None:
        return nn.NLLLoss(weight, ignore_index=ignore_index, reduction=reduction)(input, target)
    return _module("NLLLoss", None, None, ignore_index, None, reduction)(input, target)


def mse_loss(input: ArrayLike, target: ArrayLike, size_average: bool | None = None, reduce: bool | None = None,
             reduction: str = "mean") -> Tensor:  # noqa: A002
    """The squares of the errors, reduced by "mean", "sum" or "none"."""
    return _module("MSELoss", None, None, _reduction(reduction, size_average, reduce))(input, target)


def l1_loss(input: ArrayLike, target: ArrayLike, size_average: bool | None = None, reduce: bool | None = None,
            reduction: str = "mean") -> Tensor:  # noqa: A002
    """The absolute errors, reduced by "mean", "sum" or "none"."""
    return _module("L1Loss", None, None, _reduction(reduction, size_average, reduce))(input, target)


def smooth_l1_loss(input: ArrayLike, target: ArrayLike, size_average: bool | None = None, reduce: bool | None = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:  # noqa: A002
    """Squares of errors below ``beta``, absolute values above."""
    return _module("SmoothL1Loss", None, None, _reduction(reduction, size_average, reduce), beta)(input, target)


def binary_cross_entropy_with_logits(input: ArrayLike, target: ArrayLike, weight: Any = None,
                                     size_average: bool | None = None, reduce: bool | None = None,
                                     reduction: str = "mean", pos_weight: Any = None) -> Tensor:  # noqa: A002
    """The cross-entropy of yes-or-no targets and logits."""
    from pando.torch import nn
    return nn.BCEWithLogitsLoss(weight, reduction=_reduction(reduction, size_average, reduce),
                                pos_weight=pos_weight)(input, target)


def reduced(losses: Any, reduction: str) -> Tensor:
    """The loss reduced by "mean", "sum" or "none"."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ops.mean(losses) if reduction == "mean" else ops.sum(losses) if reduction == "sum" else losses


def binary_cross_entropy(input: ArrayLike, target: ArrayLike, weight: Any = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # noqa: A002
    """The cross-entropy of yes-or-no targets and probabilities."""
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
                         "deprecated. Please ensure they have the same size.")
    losses = ops.binary_cross_entropy(input, ops.cast(target, "float32"), epsilon=1e-12)
    return reduced(losses if weight is None else losses * weight, _reduction(reduction, size_average, reduce))


def kl_div(input: ArrayLike, target: ArrayLike, size_average: bool | None = None, reduce: bool | None = None,
           reduction: str = "mean", log_target: bool = False) -> Tensor:  # noqa: A002
    """The divergence of log-probabilities, the input, from probabilities, the target."""
    losses = ops.exp(target) * (target - input) if log_target else \
        target * (ops.log(ops.maximum(target, 1e-38)) - input)
    if reduction == "batchmean":
        return ops.sum(losses) / input.shape[0]
    return reduced(losses, _reduction(reduction, size_average, reduce))


def cosine_similarity(x1: Any, x2: Any, dim: Any = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between two tensors along a dimension."""
    norms = _functions.norm(x1, 2, dim) * _functions.norm(x2, 2, dim)
    return ops.sum(x1 * x2, dim) / ops.maximum(norms, eps)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of the difference of two tensors along the last dimension."""
    return _functions.norm(x1 - x2 + eps, p, -1, keepdim)


def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: Any = 2, eps: float = 1e-6,
                        swap: bool = False, size_average: bool | None = None, reduce: bool | None = None,
                        reduction: str = "mean") -> Tensor:
    """How much the positive example must still become nearer than the negative one; with ``swap``, than the nearer of the
    distances from the anchor and from the positive example."""
    reduction = _reduction(reduction, size_average, reduce)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ops.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(ops.maximum(near - far + margin, 0.0), reduction)
