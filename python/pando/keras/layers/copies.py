# SPDX-License-Identifier: Apache-2.0
"""Copies of layers, and layers in pickles: a layer is made again by its class, with the same weights."""
from __future__ import annotations

import inspect
from typing import Any, Callable

from pando import _core
from pando.core.structure import flatten


def reduced(layer: Any, again: Callable[..., Any]) -> Any:
    """What pickle and copy.deepcopy() take: ``again`` and its arguments, which make the layer anew."""
    return again, (type(layer), layer._arguments, None if layer._arguments is not None else layer.get_config(),
                   state_of(layer))


def remade(cls: type, arguments: Any, config: Any, state: dict[str, Any]) -> Any:
    """The layer that ``reduced`` has described."""
    if arguments is None:
        layer = cls.from_config(config)
    else:
        args, kwargs = arguments
        named = {**kwargs, "name": state["name"]} if takes_name(cls) and not _gives_name(cls, args) else kwargs
        layer = cls(*args, **named)
    layer.__dict__.update(state["attributes"])
    if state["built_for"]:
        layer.__dict__["_structure"] = state["structure"]
        # A call, not build(): layers inside are built when they are called.
        layer._layer.call([_core.input(shape[1:], "float32", f"copy_{index}")
                           for index, shape in enumerate(state["built_for"])], None, state["structure"])
    restore(layer, state)
    return layer


def restore(layer: Any, state: dict[str, Any]) -> None:
    """Gives a layer the weights of another one, and freezes what is frozen there."""
    if state["weights"]:
        layer._layer.set_weights(state["weights"])
    for part, trainable in zip(_tree(layer), state["trainable"]):
        part._layer.trainable = trainable


def takes_name(cls: type) -> bool:
    """Whether objects of the class can be given a name."""
    parameters = inspect.signature(cls.__init__).parameters.values()
    return any(p.name == "name" or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def _gives_name(cls, args):
    try:
        return "name" in inspect.signature(cls.__init__).bind_partial(None, *args).arguments
    except TypeError:
        return False


def state_of(layer: Any) -> dict[str, Any]:
    """What a layer has besides the arguments of its class."""
    is_built = layer._layer is not None and layer._layer.built
    shapes = layer._layer.built_for() if is_built else []
    return {"name": layer.name, "built_for": shapes,
            "structure": layer.__dict__.get("_structure"), "weights": layer.get_weights() if is_built else [],
            "trainable": [part.trainable for part in _tree(layer)] if layer._layer is not None else [],
            "attributes": _attributes_of(layer)}


def _tree(layer):
    """The layer and those inside, each before what is in it."""
    return [layer, *(part for child in layer._children() for part in _tree(child))]


def _attributes_of(layer):
    """What the program itself has noted on the layer, except for tensors and layers, which the class makes."""
    def is_kept(name, value):
        if name.startswith("_") or name in _OF_TRAINING:
            return False
        return not any(hasattr(leaf, "_layer") or hasattr(leaf, "_value") for leaf in _leaves(value))
    return {name: value for name, value in layer.__dict__.items() if is_kept(name, value)}


_OF_TRAINING = ("history", "loss")


def _leaves(value):
    return flatten(value) if isinstance(value, (list, tuple, dict)) else [value]
