# SPDX-License-Identifier: Apache-2.0
"""keras.ipu, which is ipu.keras as well: pipeline stages of Keras models."""
from __future__ import annotations

import sys
import typing as _typing
from typing import Any

from pando import _core
from pando.core.devices import CoreScope
from pando.core.nearest import attributes_of as _attributes_of
from pando.keras.stages import LayerPipelineStageAssignment

__path__ = []


def PipelineStage(stage: Any) -> Any:
    """Layers that are called within it belong to this stage."""
    return CoreScope(_core.pipeline_stage(int(stage)))


class _FunctionalLayerPipelineStageAssignment(LayerPipelineStageAssignment):
    """The stage of one call of a layer of a functional model."""


FunctionalLayerPipelineStageAssignment = _FunctionalLayerPipelineStageAssignment
SequentialLayerPipelineStageAssignment = LayerPipelineStageAssignment
# from tensorflow.python.keras.ipu import extensions
extensions = sys.modules[__name__]

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
