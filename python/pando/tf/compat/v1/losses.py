# SPDX-License-Identifier: Apache-2.0
"""tf.losses of TensorFlow 1: means over all elements."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core import ops
from pando.core.nearest import attributes_of as _attributes_of
from pando.tf import nn
from pando.tensors.tensor import convert


class Reduction:
    """How the losses of samples are combined."""
    NONE, SUM, MEAN, SUM_OVER_BATCH_SIZE = "none", "weighted_sum", "weighted_mean", "weighted_sum_over_batch_size"
    SUM_OVER_NONZERO_WEIGHTS, SUM_BY_NONZERO_WEIGHTS = "by_nonzero_weights", "by_nonzero_weights"


def _reduced(losses, weights, reduction):
    if not (isinstance(weights, (int, float)) and weights == 1):
        losses = losses * weights
    if reduction == Reduction.NONE:
        return losses
    return ops.sum(losses) if reduction == Reduction.SUM else ops.mean(losses)


def sparse_softmax_cross_entropy(labels: Any, logits: Any, weights: Any = 1.0, scope: Any = None,
                                 loss_collection: Any = None, reduction: Any = "mean") -> Any:
    """The mean cross-entropy of logits and class numbers."""
    labels = convert(labels)
    if len(labels.shape) == len(convert(logits).shape):
        labels = ops.squeeze(labels, -1)
    return _reduced(nn.sparse_softmax_cross_entropy_with_logits(labels, logits), weights, reduction)


def softmax_cross_entropy(onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0,
                          scope: Any = None, loss_collection: Any = None, reduction: Any = "mean") -> Any:
    """The mean cross-entropy of logits and one-hot labels."""
    labels = convert(onehot_labels)
    if label_smoothing:
        labels = labels * (1 - label_smoothing) + label_smoothing / labels.shape[-1]
    return _reduced(nn.softmax_cross_entropy_with_logits(labels, logits), weights, reduction)


def sigmoid_cross_entropy(multi_class_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0,
                          scope: Any = None, loss_collection: Any = None, reduction: Any = "mean") -> Any:
    """The mean cross-entropy of logits and yes-or-no labels."""
    labels = convert(multi_class_labels)
    if label_smoothing:
        labels = ops.cast(labels, "float32") * (1 - label_smoothing) + 0.5 * label_smoothing
    return _reduced(nn.sigmoid_cross_entropy_with_logits(labels, logits), weights, reduction)


def mean_squared_error(labels: Any, predictions: Any, weights: Any = 1.0, scope: Any = None,
                       loss_collection: Any = None, reduction: Any = "mean") -> Any:
    """The mean of (prediction - label)^2."""
    error = convert(predictions) - labels
    return _reduced(error * error, weights, reduction)


def absolute_difference(labels: Any, predictions: Any, weights: Any = 1.0, scope: Any = None,
                        loss_collection: Any = None, reduction: Any = "mean") -> Any:
    """The mean of |prediction - label|."""
    return _reduced(ops.abs(convert(predictions) - labels), weights, reduction)


def huber_loss(labels: Any, predictions: Any, weights: Any = 1.0, delta: Any = 1.0, scope: Any = None,
               loss_collection: Any = None, reduction: Any = "mean") -> Any:
    """The mean of half the square of an error up to ``delta``, linear beyond it."""
    return _reduced(ops.huber_error(convert(predictions), convert(labels), delta=float(delta)), weights, reduction)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
