# SPDX-License-Identifier: Apache-2.0
"""poptorch.optim: the optimizers of torch.optim; options about the memory of IPUs are accepted without effect."""
import typing as _typing

from torch import optim as _optim

from pando.core.messages import notice_once as _notice_once
from pando.core.nearest import attributes_of as _attributes_of

_WITHOUT_EFFECT = ("loss_scaling", "velocity_scaling", "use_combined_accum", "accum_type", "velocity_accum_type",
                   "first_order_momentum_accum_type", "second_order_momentum_accum_type")
# What changes results, with the one value that Pando has.
_FIXED = {"bias_correction": True, "max_grad_norm": None}


def _accepting(base):
    class Optimizer(base):
        def __init__(self, params, *arguments, **options):
            for name in _WITHOUT_EFFECT:
                if options.pop(name, None) not in (None, 1.0, True, False):
                    _notice_once("poptorch", f"poptorch.optim.{base.__name__}: {name} has no effect on virtual IPUs")
            for name, value in _FIXED.items():
                if options.pop(name, value) != value:
                    raise NotImplementedError(f"poptorch.optim.{base.__name__}: {name} other than {value} is not in Pando")
            super().__init__(params, *arguments, **options)
    Optimizer.__name__ = Optimizer.__qualname__ = base.__name__
    Optimizer.__doc__ = f"torch.optim.{base.__name__}, with the options of PopTorch."
    return Optimizer


SGD, Adam, AdamW, RMSprop = map(_accepting, (_optim.SGD, _optim.Adam, _optim.AdamW, _optim.RMSprop))

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
