# SPDX-License-Identifier: Apache-2.0
"""ipu.keras: pipeline stages of Keras models, which are those of keras.ipu."""
import typing as _typing

from pando.core.nearest import attributes_of as _attributes_of
from pando.keras.ipu import (
    FunctionalLayerPipelineStageAssignment, LayerPipelineStageAssignment, PipelineStage,
    SequentialLayerPipelineStageAssignment, extensions)

__all__ = ["FunctionalLayerPipelineStageAssignment", "LayerPipelineStageAssignment", "PipelineStage",
           "SequentialLayerPipelineStageAssignment", "extensions"]
__path__ = []

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
