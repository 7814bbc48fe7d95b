# SPDX-License-Identifier: Apache-2.0
"""The losses of torch.nn. In PopTorch, a training model minimises the last of them unless identity_loss says otherwise."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando import _core
from pando.core import dispatch
from pando.core.hints import ArrayLike
from pando.core.tensor import Tensor as CoreTensor
from pando.torch.nn import functional
from pando.torch.nn.module import Module
from pando.torch.tensor import Tensor

_torch = _core.torch


def _weight(weight):
    return None if weight is None else np.asarray(weight._array("weight") if isinstance(weight, CoreTensor) else weight,
                                                  np.float32)


class _Loss(Module):
    def _begin(self, make, reduction, size_average=None, reduce=None):
        super().__init__()
        self.reduction = functional._reduction(reduction, size_average, reduce)
        object.__setattr__(self, "_make", make)
        self._add_leaf(make())

    def _make_leaf(self):
        return self._make()

    def forward(self, input: ArrayLike, target: ArrayLike) -> Any:  # noqa: A002
        return self._run_leaf(input, target)

    def _check_classes(self, input, target):  # noqa: A002
        """Raises for a class that is not there, as far as the classes are known now."""
        classes = target._value if isinstance(target, CoreTensor) else None
        if not isinstance(classes, np.ndarray) or classes.dtype.kind not in "iu" or not classes.size or input.dim() < 2:
            return
        lowest, highest, count = classes.min(), classes.max(), input.shape[1]
        if 0 <= lowest and highest < count:
            return
        wrong = classes[((classes < 0) | (classes >= count)) & (classes != self.ignore_index)]
        if wrong.size:
            raise IndexError(f"Target {wrong[0]} is out of bounds: the input has {count} classes.")

    def extra_repr(self) -> Any:
        return ""


class CrossEntropyLoss(_Loss):
    """Logits [batch, classes, ...] against classes, or probabilities like the input."""

    def __init__(self, weight: Any = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        self._begin(lambda: _torch.cross_entropy_loss(_weight(weight), ignore_index, self.reduction, label_smoothing),
                    reduction, size_average, reduce)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: ArrayLike, target: ArrayLike) -> Any:  # noqa: A002
        self._check_classes(input, target)
        return self._run_leaf(input, target)


class NLLLoss(_Loss):
    """Log-probabilities [batch, classes, ...] against classes."""

    def __init__(self, weight: Any = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        self._begin(lambda: _torch.nll_loss(_weight(weight), ignore_index, self.reduction), reduction, size_average,
                    reduce)
        self.ignore_index = ignore_index

    def forward(self, input: ArrayLike, target: ArrayLike) -> Any:  # noqa: A002
        self._check_classes(input, target)
        return self._run_leaf(input, target)


class MSELoss(_Loss):
    """The squares of the errors."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        self._begin(lambda: _torch.mse_loss(self.reduction), reduction, size_average, reduce)


class L1Loss(_Loss):
    """The absolute errors."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        self._begin(lambda: _torch.l1_loss(self.reduction), reduction, size_average, reduce)


class SmoothL1Loss(_Loss):
    """Squares of small errors, absolute values of large ones."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                 beta: float = 1.0) -> None:
        self._begin(lambda: _torch.smooth_l1_loss(self.reduction, beta), reduction, size_average, reduce)


class BCEWithLogitsLoss(_Loss):
    """Yes-or-no targets against logits."""

    def __init__(self, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean", pos_weight: Any = None) -> None:
        self._begin(lambda: _torch.bce_with_logits_loss(_weight(weight), self.reduction, _weight(pos_weight)), reduction,
                    size_average, reduce)


class _FunctionLoss(Module):
    """A loss that is made of other ops; in PopTorch, identity_loss makes it the loss of a model."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = functional._reduction(reduction, size_average, reduce)

    def _marked(self, loss):
        value = dispatch.value_of(loss)
        is_traced = isinstance(value, _core.Symbol)
        return Tensor(_core.poptorch.identity_loss(value, "none")) if is_traced and loss.dim() == 0 else loss


class BCELoss(_FunctionLoss):
    """Yes-or-no targets against probabilities."""

    def __init__(self, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.weight = weight

    def forward(self, input: ArrayLike, target: ArrayLike) -> Any:  # noqa: A002
        return self._marked(functional.binary_cross_entropy(input, target, self.weight, reduction=self.reduction))


class KLDivLoss(_FunctionLoss):
    """The divergence of log-probabilities from probabilities."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                 log_target: bool = False) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: ArrayLike, target: ArrayLike) -> Any:  # noqa: A002
        return self._marked(functional.kl_div(input, target, reduction=self.reduction, log_target=self.log_target))


class TripletMarginLoss(_FunctionLoss):
    """How much nearer the positive example must be than the negative one."""

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
                 size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Any:
        return self._marked(functional.triplet_margin_loss(anchor, positive, negative, self.margin, self.p, self.eps,
                                                           self.swap, reduction=self.reduction))
