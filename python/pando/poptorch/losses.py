# SPDX-License-Identifier: Apache-2.0
"""What a training model minimises."""
from __future__ import annotations

import torch

from pando.poptorch import masks
from pando.poptorch.forward import running


def identity_loss(x: torch.Tensor, reduction: str | int = "none") -> torch.Tensor:
    """Makes the tensor what is to become small: its "mean", its "sum", or "none" for one number."""
    reduction = {0: "sum", 1: "mean", 2: "none"}.get(reduction, reduction)
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"identity_loss: the reduction is {reduction!r} but must be 'mean', 'sum' or 'none'")
    forward = running()
    if forward is None:
        return masks.reduced(x, reduction, None)
    loss = forward.reduced(x, reduction)
    forward.set_identity_loss(loss)
    return loss
