# SPDX-License-Identifier: Apache-2.0
"""What a layer is called with. Each layer follows the model in whether it trains, unless `training` is given."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

import numpy as np

from pando.core.structure import flatten
from pando.keras.arguments import refuse
from pando.keras.layers.calls import FollowsModel
from pando.keras.layers.options import is_of_pando

_Split = tuple[tuple[Any, ...], dict[str, Any], Any]


@functools.lru_cache(maxsize=1000)
def names_of_call(cls: type) -> tuple[str, ...]:
    """The names of the arguments of the class's ``call``, without ``self``."""
    return tuple(inspect.signature(cls.call).parameters)[1:]


def named_arguments(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Split:
    """The arguments for a class that a user wrote, without ``training``; and that. Those after it become named ones."""
    parameters = list(inspect.signature(cls.call).parameters.values())[1:]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    place = names.index("training") if "training" in names else len(args)
    if len(args) <= place:
        return args, {name: value for name, value in kwargs.items() if name != "training"}, kwargs.get("training")
    after = dict(zip(names[place:], args[place:]))
    if len(args) > len(names) or after.keys() & kwargs.keys():
        raise TypeError(f"{cls.__name__}.call() takes {', '.join(names)}, and was given more, or one of them twice")
    return args[:place], {**{name: value for name, value in after.items() if name != "training"}, **kwargs}, after["training"]


def arguments_of_pando(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
                       is_tensor: Callable[[Any], bool]) -> _Split:
    """The same for a class of Pando, which takes tensors and ``training``, and nothing else."""
    if len(args) == 1 and not kwargs:
        return args, kwargs, None
    who = type(layer).__name__
    tensors, others = [], []
    for value in args:
        (tensors if any(map(is_tensor, flatten(value))) else others).append(value)
    if not tensors and not any(is_tensor(leaf) for leaf in flatten(kwargs)):
        return args, kwargs, None
    if len(others) > 1 or (others and kwargs.get("training") is not None):
        raise TypeError(f"{who} takes tensors and training, but was given {', '.join(map(repr, others))} as well")
    training = others[0] if others else kwargs.get("training")
    if not isinstance(training, (bool, np.bool_, FollowsModel, type(None))) and training not in (0, 1):
        raise TypeError(f"{who}: training is {training!r}, but must be True, False or None")
    named = {name: value for name, value in kwargs.items() if name != "training"}
    refuse(who, **{name: value for name, value in named.items() if not any(map(is_tensor, flatten(value)))})
    return tuple(tensors), {name: value for name, value in named.items() if value is not None}, training


def key_of_call(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Any]) -> tuple[Any, Any]:
    """What tells a call from others beside its tensors: its arguments, None if they may change meanwhile, and what the layer
    has noted."""
    return _key_of((args, kwargs), {id(tensor) for tensor in tensors}), _noted(layer)


def _key_of(value, tensors):
    if id(value) in tensors:
        return ()
    if isinstance(value, (tuple, list, dict)):
        names = tuple(sorted(value, key=str)) if isinstance(value, dict) else None
        keys = tuple(_key_of(part, tensors) for part in (value if names is None else map(value.get, names)))
        return None if None in keys else (type(value), names, keys)
    return (type(value), value) if isinstance(value, (bool, int, float, str, type(None))) else None


def _noted(layer):
    """The numbers and words that a user's layer and those inside have noted, which its call() may use."""
    own = () if is_of_pando(type(layer)) else tuple(
        (name, key) for name, value in layer.__dict__.items()
        if value is not None and name != "_programs" and (key := _key_of(value, ())) is not None)
    return own, tuple(map(_noted, layer._children()))
