# SPDX-License-Identifier: Apache-2.0
"""PopTorch on Pando: modules of PyTorch compiled for virtual IPUs.

PyTorch's autograd makes the gradients when a model is compiled, for pipelines, too. So no_grad, hooks, checkpoints and
functions with gradients of their own mean what they mean in PyTorch. What differs from a loop of plain PyTorch:

- Python runs when a model is compiled, and not in each call: a number that forward() reads from self stays what it was then.
- Programs compute in float32. What Pando lacks is refused with the name of the op and the line of the model.
- Dropout draws other masks than PyTorch. They depend on ``Options.randomSeed``, or on a number that is drawn from PyTorch's
  generator when the model is compiled, so ``torch.manual_seed`` repeats a run.
- A call may have fewer samples than the first one. The losses of torch.nn, ``identity_loss`` and batch norm then leave out
  what fills up the last micro-batch; a model that adds samples up in another way is refused.
- A buffer whose new value depends on no input of forward(), such as the ``num_batches_tracked`` of batch norm, changes once
  an update, however many micro-batches it has.
- What the optimizer keeps is part of the model, and not in ``optimizer.state``: ``save`` and ``load`` write and read it.
"""
from __future__ import annotations

import typing as _typing
from typing import Any

import pando.torch  # noqa: F401, it says how to install PyTorch where it is not there
from pando._core import Error
from pando.core.versions import VERSIONS as _VERSIONS
from pando.core.nearest import missing_attribute as _missing_attribute
from pando.poptorch import optim
from pando.poptorch.blocks import BeginBlock, Block, BlockFunction, Stage
from pando.poptorch.data import AsynchronousDataAccessor, DataLoader, DataLoaderMode
from pando.poptorch.executor import PoplarExecutor, inferenceModel, trainingModel
from pando.poptorch.losses import identity_loss
from pando.poptorch.options import (AnchorMode, Options, OutputMode, PipelinedExecution, ReductionType,
                                    ShardedExecution)

__version__ = _VERSIONS["poptorch"]
__all__ = ["AnchorMode", "AsynchronousDataAccessor", "BeginBlock", "Block", "BlockFunction", "DataLoader",
           "DataLoaderMode", "Error", "Options", "OutputMode", "PipelinedExecution", "PoplarExecutor", "ReductionType",
           "ShardedExecution", "Stage", "identity_loss", "inferenceModel", "ipuHardwareIsAvailable", "optim",
           "setLogLevel", "trainingModel"]


def ipuHardwareIsAvailable(num_ipus: int = 1) -> bool:  # noqa: N802, ARG001
    """True: any number of virtual IPUs can be had."""
    return True


def ipuHardwareVersion() -> int:  # noqa: N802
    """2: virtual IPUs answer as the Mk2 does."""
    return 2


def setLogLevel(level: Any) -> None:  # noqa: N802
    """The level of the logger "poptorch"."""
    import logging
    names = {"TRACE": "DEBUG", "WARN": "WARNING", "ERR": "ERROR", "OFF": "CRITICAL"}
    logging.getLogger("poptorch").setLevel(level if isinstance(level, int) else names.get(level, level))


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        raise _missing_attribute("poptorch", name, __all__)
