# SPDX-License-Identifier: Apache-2.0
"""tensorflow.compat.v1: graphs, sessions, losses and optimizers as in TensorFlow 1. It shares keras, types and functions
with pando.tf."""
from __future__ import annotations

import importlib as _importlib
import typing as _typing
from typing import Any

import pando.tf as _tf
from pando.core.nearest import missing_attribute as _missing
from pando.tf import errors, math, nn
from pando.tf.compat.v1 import data, layers, losses, train
from pando.tf.compat.v1.graph import (
    GraphKeys, Graph, Variable, assign, constant, get_collection, get_default_graph, get_variable,
    global_variables, global_variables_initializer, gradients, initialize_all_variables, local_variables_initializer,
    placeholder, reset_default_graph, trainable_variables, variable_scope, AUTO_REUSE)
from pando.tf.compat.v1.initializers import (
    constant_initializer, glorot_normal_initializer, glorot_uniform_initializer, ones_initializer,
    random_normal_initializer, random_uniform_initializer, truncated_normal_initializer, zeros_initializer)
from pando.tf.compat.v1.session import ConfigProto, InteractiveSession, Session, get_default_session
from pando.tensors.random import normal as random_normal, set_seed as set_random_seed
from pando.tensors.random import truncated_normal, uniform as random_uniform

__all__ = ["AUTO_REUSE", "ConfigProto", "Graph", "GraphKeys", "InteractiveSession", "Session", "Variable", "app",
           "assign", "constant", "constant_initializer", "control_dependencies", "data", "disable_control_flow_v2",
           "disable_eager_execution", "disable_resource_variables", "disable_v2_behavior", "disable_v2_tensorshape",
           "enable_eager_execution", "enable_resource_variables", "enable_v2_behavior", "errors", "estimator",
           "executing_eagerly", "get_collection", "get_default_graph", "get_default_session", "get_variable",
           "global_variables", "global_variables_initializer", "glorot_normal_initializer",
           "glorot_uniform_initializer", "gradients", "group", "initialize_all_variables", "layers",
           "local_variables_initializer", "logging", "losses", "math", "nn", "no_op", "ones_initializer", "placeholder",
           "random_normal", "random_normal_initializer", "random_uniform", "random_uniform_initializer",
           "reset_default_graph", "set_random_seed", "to_float", "train", "trainable_variables", "truncated_normal",
           "truncated_normal_initializer", "variable_scope", "zeros_initializer"]
_LAZY = {"estimator": "pando.tf.compat.v1.estimator", "app": "pando.tf.compat.v1.app",
         "logging": "pando.tf.compat.v1.tf_logging"}


def to_float(x: Any, name: str | None = None) -> Any:
    """The tensor as float32."""
    return _tf.cast(x, "float32")


def disable_v2_behavior() -> None:
    """Accepted: this module always has the behaviour of TensorFlow 1."""


disable_eager_execution = disable_v2_tensorshape = enable_eager_execution = disable_resource_variables = (
    disable_v2_behavior)
enable_v2_behavior = enable_resource_variables = disable_control_flow_v2 = disable_v2_behavior


def executing_eagerly() -> Any:
    """Whether functions compute at once."""
    return False


class control_dependencies:
    """Accepted: everything that a computation returns is done."""

    def __init__(self, control_inputs: Any) -> None:
        pass

    def __enter__(self):
        return self

    def __exit__(self, *arguments):
        return None


def group(*inputs: Any, name: str | None = None) -> Any:
    """One operation for several."""
    from pando import _core
    return next((operation for operation in inputs if operation is not None), _core.Operation())


def no_op(name: str | None = None) -> Any:
    """An operation that does nothing."""
    from pando import _core
    return _core.Operation()


if _typing.TYPE_CHECKING:
    from pando.tf import *  # noqa: F403
    from pando.tensors.functions import *  # noqa: F403
    from pando.tf.compat.v1 import app, estimator
    from pando.tf.compat.v1 import tf_logging as logging
else:
    def __getattr__(name):
        if name in _LAZY:
            return _importlib.import_module(_LAZY[name])
        try:
            return getattr(_tf, name)
        except AttributeError:
            raise _missing(__name__, name, __dir__()) from None


def __dir__():
    return sorted({*__all__, *dir(_tf)})
