# SPDX-License-Identifier: Apache-2.0
"""What a training model minimises."""
from __future__ import annotations

from typing import Any

from pando import _core
from pando.core import dispatch
from pando.torch.tensor import Tensor


def identity_loss(x: Any, reduction: str = "none") -> Tensor:
    """Makes the tensor what is to become small: its "mean", its "sum", or "none" for one number."""
    reduction = {0: "sum", 1: "mean", 2: "none"}.get(reduction, reduction)
    value = dispatch.value_of(x)
    if isinstance(value, _core.Symbol):
        return Tensor(_core.poptorch.identity_loss(value, reduction))
    return x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x


def mark(loss: Any) -> Any:
    """A loss of torch.nn that is made of other ops is the loss of its model, as those of C++ are."""
    is_traced = isinstance(dispatch.value_of(loss), _core.Symbol)
    return identity_loss(loss, "none") if is_traced and loss.dim() == 0 else loss
