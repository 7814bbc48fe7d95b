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
