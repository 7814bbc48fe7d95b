# SPDX-License-Identifier: Apache-2.0
"""ModelCopies: copies of models, and models in pickles. Both have the layers and the weights; a copy is compiled anew, because
what an optimizer keeps for the weights stays with the model that it trains."""
from __future__ import annotations

from copy import deepcopy
from typing import Any

from pando import _core
from pando.keras.arguments import refuse
from pando.keras.layers.base import Layer, python_layer
from pando.keras.layers.copies import restore, state_of

_NOTED = ("_given_name", "_input_structure", "_output_structure", "_output_keys")


class ModelCopies:
    """The methods of Model that copy and pickle. Model derives from it."""

    def __deepcopy__(self, memo):
        if self._layer is None or self._is_subclassed():
            make, arguments = self.__reduce__()
            return make(*deepcopy(arguments, memo))
        core = _core.clone_model(self._layer, lambda layer: deepcopy(python_layer(layer), memo)._layer)
        return _made(type(self), core, deepcopy(_noted(self), memo))

    def __copy__(self):
        raise TypeError(f"copy.copy: the model '{self.name}' and its copy would be one; use copy.deepcopy(), or "
                        "keras.models.clone_model() for other weights")

    def __reduce__(self):
        if self._layer is None or self._is_subclassed():
            inputs = None if self._layer is None else [(tuple(x.shape)[1:], x.dtype.name) for x in self.inputs]
            noted = {**_noted(self), "_given_name": self._given_name if inputs is None else self.name}
            return _remade_class, (type(self), self._arguments, inputs, noted, state_of(self))
        if self._layer.kind == "Sequential":
            stack = [python_layer(core) for core in self._layer.layers()]
            return _remade_stack, (type(self), stack, self.name, self._layer.built_for(), _noted(self))
        return _remade_network, (type(self), self.to_json(), self.get_weights(), _noted(self))


def clone_model(model: Any, input_tensors: Any = None, clone_function: Any = None) -> Any:
    """A model of the same layers with other weights, connected in the same way.

    clone_function: makes the layer that stands for each layer; it may return a layer of another class.
    """
    refuse("clone_model", input_tensors=input_tensors)
    if clone_function is not None and not callable(clone_function):
        raise TypeError(f"clone_model: clone_function is {clone_function!r}, but must be a function of a layer")
    if "_whole" in model.__dict__:
        raise ValueError(f"clone_model: the call() of '{model.name}' cannot be cloned layer by layer, because it depends on "
                         f"whether the model trains, or adds losses; make another {type(model).__name__}")
    clones = []

    def clone(core):
        layer = python_layer(core)
        made = _cloned(layer) if clone_function is None else clone_function(layer)
        if not isinstance(made, Layer):
            raise TypeError(f"clone_model: clone_function returned {made!r} for the layer '{layer.name}', but must return a "
                            "layer")
        clones.append(made)
        return made._layer
    return python_layer(_core.clone_model(model._built("clone_model"), clone))


def _cloned(layer):
    return clone_model(layer) if isinstance(layer, ModelCopies) else layer._clone(layer.name)


def _made(cls, core, noted):
    """The Python object of a model of C++, with what another one has noted."""
    model = cls._of(core)
    model.__dict__.update(noted)
    return model


def _noted(model):
    return {**{name: model.__dict__[name] for name in _NOTED if name in model.__dict__}, **state_of(model)["attributes"]}


def _remade_class(cls, arguments, inputs, noted, state):
    args, kwargs = arguments
    model = cls(*args, **kwargs)
    model.__dict__.update(noted)
    if inputs is not None:
        model._build_for(inputs)
        restore(model, state)
    return model


def _remade_stack(cls, stack, name, built_for, noted):
    model = _made(cls, _core.Sequential([layer._layer for layer in stack], name), noted)
    if built_for and not model.built:
        model._layer.build(built_for)
    return model


def _remade_network(cls, text, weights, noted):
    model = _made(cls, _core.model_from_json(text), noted)
    model.set_weights(weights)
    return model
