# SPDX-License-Identifier: Apache-2.0
"""Whole: the call() of a model as one layer, which is traced once for training and once without."""
import weakref

from pando import _core
from pando.core.calls import call_of, current_call
from pando.keras.layers.arguments_of_calls import names_of_call
from pando.keras.layers.base import Layer


class Whole(Layer):
    """The call() of a model as one layer, for one that depends on whether the model trains, or that adds losses."""

    def __init__(self, model):
        self._start(None, True, None)
        self._adopt(_core.python_layer(self, type(model).__name__, ""))
        self.__dict__["_model"] = weakref.ref(model)

    def __reduce__(self):
        raise TypeError(f"the model '{self._model().name}' is a part of another model and cannot be copied with it, because its "
                        "call() depends on whether it trains, or adds losses; make another object of its class")

    def _clone(self, name=None):
        return self.__reduce__()

    def _children(self):
        model = self._model()
        return [] if model is None else model._children()

    def _without_training(self, args, kwargs):
        training = kwargs.pop("training", None)
        return args, kwargs, training

    def call(self, inputs, *args, training=None, **kwargs):
        model = self._model()
        if "training" in names_of_call(type(model)):
            kwargs["training"] = training
        _, caller = current_call()
        with call_of(model, caller):
            return model.call(inputs, *args, **kwargs)
