# SPDX-License-Identifier: Apache-2.0
"""Losses of micro-batches that copies of a sample fill up: a mask, [samples], has 1 for each real sample and 0 for each copy,
and what adds samples up leaves the copies out."""
from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.nn import functional
from torch.nn import _reduction

# The functions whose result is a loss: what training minimises, if forward() calls one of them.
LOSSES = {getattr(functional, name) for name in (
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss",
    "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss")}


def _mask_of(mask, x):
    """The mask for the rows of x, of which each sample has the same number; None if x has no such rows."""
    samples = mask.shape[0]
    if x.dim() == 0 or x.shape[0] == 0 or x.shape[0] % samples:
        return None
    return mask if x.shape[0] == samples else mask[:, None].expand(samples, x.shape[0] // samples).reshape(x.shape[0])


def _masked(x, mask):
    return x * mask.reshape([-1] + [1] * (x.dim() - 1)).to(x.dtype)


def reduced(x: torch.Tensor, reduction: str, mask: torch.Tensor | None) -> torch.Tensor:
    """The mean or the sum over the real samples, or x itself."""
    of_rows = _mask_of(mask, x) if mask is not None and reduction != "none" else None
    if of_rows is None:
        return x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x
    total = _masked(x, of_rows).sum()
    if reduction == "sum":
        return total
    # A replica may have no real sample.
    return total / (of_rows.sum() * (x.numel() // x.shape[0])).clamp(min=1)


def _classes(function):
    """cross_entropy and nll_loss: a mean divides by the weights of the classes."""
    def masked(mask, x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
               **options):
        reduction = _reduction_of(size_average, reduce, reduction)
        each = function(x, target, weight, ignore_index=ignore_index, reduction="none", **options)
        of_rows = _mask_of(mask, each)
        if reduction != "mean" or target.is_floating_point() or of_rows is None:
            return reduced(each, reduction, mask)
        weights = (target != ignore_index).to(each.dtype)
        if weight is not None:
            weights = weights * functional.embedding(target.clamp(min=0), weight[:, None]).squeeze(-1)
        weights = _masked(weights, of_rows).sum()
        return _masked(each, of_rows).sum() / torch.where(mask.sum() > 0, weights, torch.ones_like(weights))
    return masked


def _reduction_of(size_average, reduce, reduction):
    if size_average is None and reduce is None:
        return reduction
    return _reduction.legacy_get_string(size_average, reduce)


def _plain(function):
    """Every other loss: a mean divides by the number of elements."""
    signature = inspect.signature(function)

    def masked(mask, *args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        reduction = _reduction_of(given.pop("size_average", None), given.pop("reduce", None), given["reduction"])
        given["reduction"] = "none"
        each = function(*bound.args, **bound.kwargs) if "size_average" not in signature.parameters else function(**given)
        if reduction == "batchmean":
            of_rows = _mask_of(mask, each)
            return reduced(each, "sum", mask) / (len(each) if of_rows is None else of_rows.sum().clamp(min=1))
        return reduced(each, reduction, mask)
    return masked


def _batch_norm(mask, x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    of_rows = _mask_of(mask, x)
    if not training or of_rows is None:
        return functional.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)
    shape, axes = [1, -1] + [1] * (x.dim() - 2), [0, *range(2, x.dim())]
    real = of_rows.sum() * (x.numel() // x.shape[0] // x.shape[1])
    count = real.clamp(min=1)
    mean = _masked(x, of_rows).sum(axes) / count
    apart = x - mean.reshape(shape)
    variance = _masked(apart * apart, of_rows).sum(axes) / count
    if running_mean is not None:
        with torch.no_grad():
            for running, found in ((running_mean, mean), (running_var, variance * (count / (count - 1).clamp(min=1)))):
                running.copy_(torch.where(real > 0, running * (1 - momentum) + found * momentum, running))
    y = apart * torch.rsqrt(variance + eps).reshape(shape)
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


# A mean of CTC losses divides by lengths: it is left as it is, and refused where samples would count that are not real.
_MASKED = {**{function: _plain(function) for function in LOSSES - {functional.ctc_loss}},
           **{function: _classes(function) for function in (functional.cross_entropy, functional.nll_loss)},
           functional.batch_norm: _batch_norm}


def call(function: Any, args: Any, kwargs: Any, mask: torch.Tensor) -> Any:
    """What the function returns, without the copies of samples if it would add samples up."""
    return _MASKED[function](mask, *args, **kwargs) if function in _MASKED else function(*args, **kwargs)
