# SPDX-License-Identifier: Apache-2.0
"""The layers of Keras. Images are [batch, height, width, channels]."""
import typing as _typing

from pando.core.nearest import missing_attribute as _missing
from pando.keras.layers.base import CLASSES as _CLASSES, Layer
from pando.keras.layers.convolution import (
    AveragePooling2D, AvgPool2D, Conv2D, Conv2DTranspose, Convolution2D, Convolution2DTranspose, Deconvolution2D,
    DepthwiseConv2D, GlobalAveragePooling2D, GlobalAvgPool2D, GlobalMaxPool2D, GlobalMaxPooling2D, MaxPool2D,
    MaxPooling2D, SeparableConv2D, SeparableConvolution2D, UpSampling2D, ZeroPadding2D)
from pando.keras.layers.core import (
    Activation, Dense, Dropout, Embedding, Flatten, Input, InputLayer, LeakyReLU, Permute, ReLU, Rescaling, Reshape)
from pando.keras.layers.merge import (
    Add, Average, Concatenate, Dot, Maximum, Minimum, Multiply, Subtract, add, average, concatenate, dot, maximum,
    minimum, multiply, subtract)
from pando.keras.layers.normalization import (
    BatchNormalization, LayerNormalization, RandomFlip, RandomRotation, RandomTranslation)
from pando.keras.layers.python_layers import (
    ELU, AveragePooling1D, AvgPool1D, Conv1D, Convolution1D, Cropping2D, GaussianNoise, GlobalAveragePooling1D,
    GlobalAvgPool1D, GlobalMaxPool1D, GlobalMaxPooling1D, Identity, Lambda, MaxPool1D, MaxPooling1D, PReLU,
    RepeatVector, Softmax)

__all__ = ["Activation", "Add", "Average", "AveragePooling1D", "AveragePooling2D", "AvgPool1D", "AvgPool2D",
           "BatchNormalization", "Concatenate", "Conv1D", "Conv2D", "Conv2DTranspose", "Convolution1D", "Convolution2D",
           "Convolution2DTranspose", "Cropping2D", "Deconvolution2D", "Dense", "DepthwiseConv2D", "Dot", "Dropout",
           "ELU", "Embedding", "Flatten", "GaussianNoise", "GlobalAveragePooling1D", "GlobalAveragePooling2D",
           "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPooling1D",
           "GlobalMaxPooling2D", "Identity", "Input", "InputLayer", "Lambda", "Layer", "LayerNormalization",
           "LeakyReLU", "MaxPool1D", "MaxPool2D", "MaxPooling1D", "MaxPooling2D", "Maximum", "Minimum", "Multiply",
           "PReLU", "Permute", "RandomFlip", "RandomRotation", "RandomTranslation", "ReLU", "RepeatVector", "Rescaling",
           "Reshape", "SeparableConv2D", "SeparableConvolution2D", "Softmax", "Subtract", "UpSampling2D",
           "ZeroPadding2D", "add", "average", "concatenate", "dot", "maximum", "minimum", "multiply", "subtract"]

_CLASSES.update((_name, globals()[_name]) for _name in __all__ if isinstance(globals()[_name], type))

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        raise _missing(__name__, name, __all__)
