# SPDX-License-Identifier: Apache-2.0
"""The weights that users' layers use while they are traced, and which layers are made on this thread."""
from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from typing import Any, Callable

from pando.core.calls import caller_of
from pando.core.errors import TraceError
from pando.tensors.tensor import Tensor, as_symbol

_made = threading.local()


class NeedsTrace(TraceError):
    """A call() that cannot be recorded as a network of layers, but can be traced once for training and once without."""


class FollowsModel:
    """The argument ``training`` of a Model's call: layers that get it follow the model. It is not known yet whether the
    model trains, because the same network serves fit, evaluate and predict."""

    def __bool__(self):
        raise NeedsTrace("whether the model trains is not known while its call() is recorded: give `training` to layers, "
                         "or put the branch into the call() of a Layer, which is traced once for each")


FOLLOWS_MODEL = FollowsModel()


@contextlib.contextmanager
def watch_layers() -> Any:
    """A list that gets all layers that are made on this thread meanwhile, in their order."""
    before, made = getattr(_made, "watched", None), []
    _made.watched = made
    try:
        yield made
    finally:
        _made.watched = before


def note_layer(layer: Any) -> Any:
    """Adds a layer to the list of watch_layers()."""
    watched = getattr(_made, "watched", None)
    if watched is not None:
        watched.append(layer)


class Weight(Tensor):
    """A weight of a user's layer: a symbol while the layer is traced, otherwise its value."""

    __slots__ = ("_owner", "_index", "short_name")
    _result_class = Tensor

    def __init__(self, owner: Any, index: int | None, name: str | None) -> None:
        self._owner = weakref.ref(owner)
        self._index = index
        self.short_name = name

    @property
    def _value(self):
        caller = caller_of(self._owner())
        return self._parameter.value() if caller is None else caller.weight(self._index)

    @property
    def _parameter(self):
        return self._owner()._layer.weights()[self._index]

    @property
    def name(self) -> Any:
        """The name of the weight, with that of its layer once that is built."""
        return self._parameter.name

    def assign(self, value: Any) -> Any:
        """Gives the weight a value, which what follows uses."""
        caller = caller_of(self._owner())
        if caller is None:
            self._parameter.set_value(value)
        else:
            caller.assign(self._index, as_symbol(value, like=[self]))


def by_core(build: Callable[..., Any]) -> Callable[..., Any]:
    """The build() of a class as programs may call it, too: C++ then calls it, once, and knows the weights that it adds."""
    @functools.wraps(build)
    def built(self, input_shape: Any) -> None:
        if self.__dict__.get("_shapes_to_build") is not None:
            build(self, input_shape)
        elif not self.built:
            several = isinstance(input_shape, (list, tuple)) and all(isinstance(size, (list, tuple)) for size in input_shape)
            self._layer.build([tuple(shape) for shape in input_shape] if several else [tuple(input_shape)])
    return built
