# SPDX-License-Identifier: Apache-2.0
"""torch.nn: modules, losses and parameters, with PyTorch's names, arguments, layouts and printing."""
import typing as _typing

from pando.core.nearest import missing_attribute as _missing_attribute
from pando.torch.nn import functional, init, parallel, utils
from pando.torch.nn.activations import (ELU, GELU, CosineSimilarity, Flatten, Hardtanh, Identity, LeakyReLU, LogSigmoid,
                                        LogSoftmax, PixelShuffle, ReLU, ReLU6, Sigmoid, SiLU, Softmax, Softplus, Tanh,
                                        Unflatten, Upsample, ZeroPad2d)
from pando.torch.nn.containers import (DataParallel, ModuleDict, ModuleList, ParameterList, Sequential)
from pando.torch.nn.layers import (AdaptiveAvgPool2d, AvgPool2d, BatchNorm1d, BatchNorm2d, Conv1d, Conv2d,
                                   ConvTranspose2d, Dropout, Dropout2d, Embedding, GroupNorm, InstanceNorm2d, LayerNorm,
                                   Linear, MaxPool2d)
from pando.torch.nn.losses import (BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, KLDivLoss, L1Loss, MSELoss, NLLLoss,
                                   SmoothL1Loss, TripletMarginLoss)
from pando.torch.nn.module import Module
from pando.torch.nn.parameter import Buffer, Parameter
from pando.torch.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell

__all__ = ["AdaptiveAvgPool2d", "AvgPool2d", "BCELoss", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "Buffer",
           "Conv1d", "Conv2d", "ConvTranspose2d", "CosineSimilarity", "CrossEntropyLoss", "DataParallel", "Dropout",
           "Dropout2d", "ELU", "Embedding", "Flatten", "GELU", "GRU", "GRUCell",
           "GroupNorm", "Hardtanh", "Identity", "InstanceNorm2d", "KLDivLoss", "L1Loss",
           "LSTM", "LSTMCell", "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax", "MSELoss", "MaxPool2d", "Module",
           "ModuleDict", "ModuleList", "NLLLoss", "Parameter", "ParameterList", "PixelShuffle", "RNN", "RNNCell", "ReLU", "ReLU6",
           "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "Softmax", "Softplus", "Tanh", "TripletMarginLoss",
           "Unflatten", "Upsample", "ZeroPad2d", "functional", "init", "parallel", "utils"]


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        raise _missing_attribute("torch.nn", name, __all__)
