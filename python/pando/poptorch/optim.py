# SPDX-License-Identifier: Apache-2.0
"""poptorch.optim: the optimizers of torch.optim; options about the memory of IPUs are accepted without effect."""
import typing as _typing

from pando.core.nearest import attributes_of as _attributes_of
from pando.torch import optim as _optim
from pando.torch.devices import tell_once

_WITHOUT_EFFECT = ("loss_scaling", "velocity_scaling", "use_combined_accum", "accum_type", "velocity_accum_type",
                   "first_order_momentum_accum_type", "second_order_momentum_accum_type", "bias_correction",
                   "max_grad_norm")


def _accepting(base):
    class Optimizer(base):
        def __init__(self, params, *arguments, **options):
            for name in _WITHOUT_EFFECT:
                if options.pop(name, None) not in (None, 1.0, True, False):
                    tell_once(f"optim.{name}", f"poptorch.optim.{base.__name__}: {name} has no effect on virtual IPUs")
            super().__init__(params, *arguments, **options)
    Optimizer.__name__ = Optimizer.__qualname__ = base.__name__
    Optimizer.__doc__ = base.__doc__
    return Optimizer


SGD, Adam, AdamW, RMSprop = map(_accepting, (_optim.SGD, _optim.Adam, _optim.AdamW, _optim.RMSprop))

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
