# SPDX-License-Identifier: Apache-2.0
"""What arguments are given: what a call must have, and values other than the defaults. Names decide; a few calls have
values of their own. A new function whose arguments have known names needs no line here."""
import fnmatch

import numpy as np

from arguments import keras_values, tf_values
from arguments.fresh import Fresh
from arguments.results import CLASSES, ONE_HOT, SAMPLE_WEIGHTS, SCORES, TAKEN, VECTORS
from arguments.subjects import HAS_TORCH
from pando import keras
from pando.keras.layers.base import Layer

if HAS_TORCH:
    from arguments import poptorch_values

UNKNOWN = "not_an_argument"
# What classes take beyond their signature, by **kwargs.
_OF_LAYERS = ("trainable", "name", "dtype", "input_shape", "batch_input_shape", "batch_size", "dynamic", "autocast",
              "activity_regularizer", "weights", "data_format", "input_length")
_OF_OPTIMIZERS = ("clipnorm", "clipvalue", "global_clipnorm", "weight_decay", "use_ema", "jit_compile", "ema_momentum",
                  "decay", "lr")

# What a call needs, by the name of the argument.
NEEDED = {
    "units": 3, "filters": 2, "kernel_size": 2, "target_shape": (-1, 2), "dims": (2, 1, 3), "rate": 0.5, "stddev": 0.5,
    "activation": "relu", "scale": 2.0, "n": 2, "input_dim": 5, "output_dim": 3, "axes": 1, "height_factor": 0.2,
    "width_factor": 0.2, "factor": 0.2, "function": Fresh(lambda: _double), "initial_learning_rate": 0.1,
    "decay_steps": 3, "decay_rate": 0.5, "boundaries": [1, 4], "values": [0.3, 0.2, 0.1],
    "schedule": Fresh(lambda: lambda epoch: 0.1 / (epoch + 1)), "x": VECTORS, "y_true": ONE_HOT, "y_pred": SCORES,
    "identifier": None, "config": {}, "filename": "log.csv", "filepath": "written", "shape": (4,), "name": "subject",
    "features": VECTORS, "xs": [VECTORS, VECTORS], "tensors": [VECTORS, VECTORS], "a": VECTORS, "b": VECTORS.T.copy(),
    "min_value": -0.2, "max_value": 0.3, "x_min": -0.2, "x_max": 0.3, "y": CLASSES, "seed": 3, "input": VECTORS,
    "input_tensor": VECTORS, "tensor": VECTORS, "t": VECTORS, "clip_value_min": -0.2, "clip_value_max": 0.3, "depth": 3,
    "paddings": [[1, 1], [0, 0]], "multiples": [2, 1], "num_or_size_splits": 2, "value": 1.0,
    "func": Fresh(lambda: _double), "learning_rate": 0.1, "momentum": 0.5, "model": None,
    "data_format": "channels_last", "dtype": "float32", "inputs": VECTORS, "losses": 1.0,
}
# Other values, by the name of the argument.
OTHERS = {
    UNKNOWN: [1], "input": [VECTORS * 0.7], "input_tensor": [VECTORS * 0.7], "tensor": [VECTORS * 0.7],
    "t": [VECTORS * 0.7], "value": [2.0], "params": [VECTORS * 0.7], "use_locking": [True], "scope": ["scope"],
    "features": [VECTORS * 0.7], "xs": [[VECTORS]], "tensors": [[VECTORS]], "a": [VECTORS * 0.7],
    "b": [VECTORS.T * 0.7], "min_value": [-0.1], "x_min": [-0.1], "x_max": [0.2], "y": [np.array([1, 0, 1])],
    "shape": [(5,)], "order": [1], "num_classes": [7], "model": ["other"], "to_file": ["other"], "fname": ["other"],
    "origin": ["other"], "activation": ["tanh", Fresh(lambda: keras.activations.sigmoid)], "inputs": [VECTORS * 0.7],
    "name": ["another"], "trainable": [False], "dtype": ["float16", "float64"], "batch_size": [4], "dynamic": [True],
    "autocast": [False], "activity_regularizer": ["l2"], "weights": [[np.ones((2, 2))]],
    "data_format": ["channels_first"], "input_length": [3], "clipnorm": [0.01], "clipvalue": [0.01],
    "global_clipnorm": [0.01], "weight_decay": [0.1], "use_ema": [True], "jit_compile": [True], "ema_momentum": [0.5],
    "decay": [0.5], "lr": [0.3], "learning_rate": [0.3], "kernel_size": [1, (2, 1)], "pool_size": [3], "strides": [2],
    "padding": ["same"], "dilation_rate": [2], "groups": [2], "size": [3], "interpolation": ["bilinear", "nearest"],
    "fill_mode": ["reflect", "nearest"], "fill_value": [0.5], "seed": [11], "noise_shape": [(None, 1)], "axis": [0],
    "axes": [0], "reduction": ["sum", "none"], "shared_axes": [[1, 2]], "max_value": [0.2], "negative_slope": [0.4],
    "threshold": [0.3], "alpha": [0.7], "mode": ["max"], "target_shape": [(2, -1)], "dims": [(3, 1, 2)],
    "output_padding": [1], "virtual_batch_size": [2], "renorm": [True], "fused": [True], "output_shape": [(7, 7, 8)],
    "mask": [Fresh(lambda: _double)], "arguments": [{"by": 3}], "cropping": [1], "batch_shape": [(None, 5)],
    "epsilon": [0.5], "mean": [0.3], "y_true": [1 - ONE_HOT], "y_pred": [SCORES[::-1].copy()], "x": [VECTORS[:3] * 0.7],
    "approximate": [True], "sample_weight": [SAMPLE_WEIGHTS], "function": [Fresh(lambda: _triple)],
}
# By the end of the name.
_ENDINGS = {"initializer": ["random_normal", Fresh(lambda: keras.initializers.Constant(0.3))],
            "regularizer": ["l2", Fresh(lambda: keras.regularizers.L1(0.1))], "constraint": ["non_neg"]}
# The same for single calls, by patterns of names.
NEEDED_BY, OTHERS_BY, COMPANIONS = ({
    **getattr(keras_values, table), **getattr(tf_values, table), **(getattr(poptorch_values, table) if HAS_TORCH else {})}
    for table in ("NEEDED_BY", "OTHERS_BY", "COMPANIONS"))


def _double(inputs, by=2):
    return inputs * by


def _triple(inputs):
    return inputs * 3


def _is_class(subject, base):
    return isinstance(subject.function, type) and issubclass(subject.function, base)


def companions(subject, argument):
    """Arguments that are given with and without another one, because it matters with them alone."""
    return _matching(COMPANIONS, f"{subject.name}.{argument}") or {}


def beyond_signature(subject):
    """The names that a call takes by **kwargs, as far as they are known, and one that none has."""
    if not subject.takes_keywords:
        return []
    known = ()
    if _is_class(subject, Layer) and not _is_class(subject, keras.Model):
        # A layer of several inputs is never the first of a model.
        several = len(TAKEN.get(subject.function, [None])) > 1
        known = [name for name in _OF_LAYERS if not (several and name.endswith("input_shape"))]
    if _is_class(subject, keras.optimizers.Optimizer):
        known = _OF_OPTIMIZERS
    return [*known, UNKNOWN]


def _matching(table, name):
    return next((value for pattern, value in table.items() if fnmatch.fnmatchcase(name, pattern)), None)


def needed(subject):
    """The arguments of the call that others are compared to."""
    made = {}
    for name, parameter in subject.parameters.items():
        own = _matching(NEEDED_BY, f"{subject.name}.{name}")
        if own is not None:
            made[name] = own
        elif parameter.default is parameter.empty and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            if name not in NEEDED:
                raise LookupError(f"{subject.name} needs {name}; add a value to arguments/values.py")
            made[name] = NEEDED[name]
    return made


def others(subject, argument):
    """Values of an argument that differ from its default, and from what the call has for it."""
    own = _matching(OTHERS_BY, f"{subject.name}.{argument}")
    if own is not None:
        return own
    if argument in ("input_shape", "batch_input_shape") and subject.function in TAKEN:
        shape = TAKEN[subject.function][0].shape
        return [shape[1:] if argument == "input_shape" else (None, *shape[1:])]
    if argument in OTHERS:
        return OTHERS[argument]
    for ending, found in _ENDINGS.items():
        if argument.endswith(ending):
            return found
    parameter = subject.parameters.get(argument)
    default = NEEDED.get(argument) if parameter is None or parameter.default is parameter.empty else parameter.default
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, int):
        return [default + 1]
    if isinstance(default, float):
        return [default / 2 + 0.2]
    return []
