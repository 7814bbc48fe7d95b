# SPDX-License-Identifier: Apache-2.0
"""The options and weights of a layer as its attributes, for every class alike: `dense.units`, `dense.kernel`. A layer of C++
describes its options, so those of a layer that was read from a file are known, too."""
from __future__ import annotations

import inspect
import json
from typing import Any

from pando import _core
from pando.keras import activations, initializers, regularizers
from pando.keras.variables import Variable

# The option that says whether a layer has the weight.
_OPTION_OF = {"bias": "use_bias", "gamma": "scale", "beta": "center"}
_WEIGHTS = {"kernel", "depthwise_kernel", "pointwise_kernel", "embeddings", "moving_mean", "moving_variance", *_OPTION_OF}


def core_of(layer: Any) -> Any:
    """The layer of C++ that computes; None for a layer that is written in Python and for a model."""
    state = layer.__dict__
    if state.get("_built_in") is not None:
        return state["_built_in"]
    core = state.get("_layer")
    is_made_by_name = "_functions" in state or state.get("_arguments") is None
    return core if core is not None and is_made_by_name and core.kind not in ("Sequential", "Functional") else None


def options_of(layer: Any, all_of_them: bool = False) -> dict[str, Any]:
    """The options by Keras's names, in the form of files, with functions of the program as they are. With `all_of_them`,
    raises Error if a function is not known any more."""
    core, functions = core_of(layer), layer.__dict__.get("_functions")
    if core is None:
        return {}
    if all_of_them and functions is None:
        return json.loads(_core.layer_config(core, False))
    if "_described" not in layer.__dict__:
        layer.__dict__["_described"] = {**(functions or {}), **json.loads(_core.layer_config(core, True))}
    return {**layer.__dict__["_described"], "name": layer.name, "trainable": layer.trainable}


def given_options(layer: Any) -> dict[str, Any]:
    """The arguments that a layer of pando.keras was made with, and the defaults of the others."""
    if layer.__dict__.get("_arguments") is None or not is_of_pando(type(layer)):
        return {}
    args, kwargs = layer._arguments
    try:
        bound = inspect.signature(type(layer).__init__).bind(layer, *args, **kwargs)
    except TypeError:
        return {}
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name not in ("self", "args", "kwargs")}


def is_of_pando(cls: type) -> bool:
    """Whether the class is one of pando.keras, not a user's."""
    return cls.__module__.startswith("pando.keras.")


def built_in_class(cls: type) -> type:
    """The class of pando.keras that a class is, or is derived from."""
    return next(known for known in cls.__mro__ if is_of_pando(known) and not known.__name__.startswith("_"))


def overrides(cls: type, name: str) -> bool:
    """Whether the method of this name is a user's, not one of pando.keras."""
    return not is_of_pando(next(known for known in cls.__mro__ if name in vars(known)))


def attribute_of(layer: Any, name: str) -> Any:
    """The option or the weight of this name. Raises KeyError if the layer has neither."""
    options = options_of(layer)
    for known in (options, given_options(layer)):
        if name in known:
            return _as_attribute(name, known[name])
    if name not in _WEIGHTS or not options:
        raise KeyError(name)
    if options.get(_OPTION_OF.get(name)) is False:
        return None
    core = core_of(layer)
    for parameter in core.weights():
        if parameter.name.rpartition("/")[2] == name:
            return Variable(parameter)
    if core.built:
        raise KeyError(name)
    raise AttributeError(f"the layer '{layer.name}' has no '{name}' before it is built: call it on its input, or call its "
                         "build(input_shape)")


def _as_attribute(name, value):
    if name == "activation":
        return activations.get(value)
    if name.endswith("_initializer"):
        return initializers.get(value)
    if name.endswith("_regularizer"):
        return regularizers.get(value)
    return _as_tuple(value)


def _as_tuple(value):
    return tuple(_as_tuple(part) for part in value) if isinstance(value, list) else value
