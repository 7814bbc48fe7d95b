# SPDX-License-Identifier: Apache-2.0
"""Layer: the base of all layers, those of Pando and those that users write.

A layer of Pando holds a layer of C++ that was made from the arguments. A user's layer is a Python object that C++ calls
while it builds a graph: ``build`` makes weights, ``call`` computes with tensors. Neither runs while the model trains.
"""
from __future__ import annotations

import inspect
import weakref
import typing as _typing
from typing import Any, Callable

import numpy as np

from pando import _core
from pando.core.calls import call_of, caller_of
from pando.core.hints import DTypeLike, Identifier, ShapeLike
from pando.core.keywords import accepts
from pando.core.structure import flatten, pack
from pando.keras import initializers, regularizers
from pando.keras.arguments import common_arguments, input_shape_of, refuse
from pando.keras.layers.arguments_of_calls import arguments_of_pando, key_of_call, named_arguments, names_of_call
from pando.keras.layers.calls import FOLLOWS_MODEL, NeedsTrace, Weight, by_core, note_layer
from pando.keras.layers.copies import reduced, remade, takes_name
from pando.keras.layers.described import Described
from pando.keras.layers.options import core_of, options_of, overrides
from pando.tensors.tensor import Tensor, TensorShape, as_symbol, is_symbolic, wrap

# The class of each kind of layer that C++ makes; keras/layers/__init__.py and keras/models.py enter theirs.
CLASSES: dict[str, type[Layer]] = {}
_registry = weakref.WeakValueDictionary()


def python_layer(core: Any) -> Any:
    """The Python object of a layer of C++, made anew if it no longer exists."""
    known = _registry.get(hash(core))
    return CLASSES.get(core.kind, Layer)._of(core) if known is None else known


class Layer(Described):
    """Weights, and what they do to tensors.

    Derive from it and write ``build(self, input_shape)``, which calls ``self.add_weight``, and ``call(self, inputs)``.
    """

    # A model has a build() that C++ does not call.
    _is_built_by_core = True

    def __init_subclass__(cls, **arguments):
        super().__init_subclass__(**arguments)
        if cls._is_built_by_core and "build" in vars(cls):
            cls.build = by_core(cls.build)

    def __new__(cls, *args, **kwargs):
        layer = super().__new__(cls)
        layer._arguments = (args, kwargs)
        return layer

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: DTypeLike = None, **kwargs: Any) -> None:
        common_arguments(type(self).__name__, dtype=dtype, **kwargs)
        self._start(name, trainable, input_shape_of(kwargs))
        self._adopt(_core.python_layer(self, type(self).__name__, name or ""))
        self._finish()

    # How a layer of Pando is made ------------------------------------------------------------------------------------

    def _start(self, name, trainable, input_shape):
        self._given = {"trainable": trainable, "input_shape": input_shape}

    def _make(self, kind, arguments, name=None, trainable=True, dtype=None, **kwargs):
        common_arguments(type(self).__name__, dtype=dtype, **kwargs)
        self._start(name, trainable, input_shape_of(kwargs))
        self.__dict__["_functions"] = {key: value.function for key, value in arguments.items() if hasattr(value, "function")}
        if overrides(type(self), "call") or overrides(type(self), "build"):
            # A user's class: it is traced, and its call() and build() may call those of the built-in layer.
            self._adopt(_core.python_layer(self, type(self).__name__, name or ""))
            self.__dict__["_built_in"] = _core.make_layer(kind, {**arguments, "name": self.name})
        else:
            self._adopt(_core.make_layer(kind, {**arguments, "name": name or ""}))
        self._finish()

    @classmethod
    def _of(cls, core):
        """The object of a layer of C++ that was made without it, such as one that was loaded."""
        layer = object.__new__(cls)
        layer.__dict__["_arguments"] = None
        layer._adopt(core)
        return layer

    def _adopt(self, core):
        self._layer = core
        _registry[hash(core)] = self
        note_layer(self)

    def _finish(self):
        if not self._given["trainable"]:
            self._layer.trainable = False
        if self._given["input_shape"] is not None:
            self._layer.set_input_shape(self._given["input_shape"])

    def _clone(self, name=None):
        """A new layer of the same arguments, with other weights."""
        if self._arguments is None:
            config = self.get_config()
            config.pop("name")
            copy = type(self).from_config(config if name is None else {**config, "name": name})
        else:
            args, kwargs = self._arguments
            if name is not None or "name" in kwargs:
                kwargs = {**kwargs, "name": name} if takes_name(type(self)) else kwargs
            copy = type(self)(*args, **kwargs)
        if not self.trainable:
            copy.trainable = False
        return copy

    def __reduce__(self):
        return reduced(self, remade)

    def __copy__(self):
        if not self.built:
            return self._clone(self.name)
        if core_of(self) is None or "_built_in" in self.__dict__:
            raise TypeError(f"copy.copy: the layer '{self.name}' and its copy would share their weights, which a class of "
                            "your own cannot do in Pando; use copy.deepcopy()")
        same = object.__new__(type(self))
        same.__dict__.update(self.__dict__)
        return same

    # What a user's class may override --------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Makes the weights; called once, before the first ``call``. A size of ``None`` is the batch."""
        if self.__dict__.get("_built_in") is not None:
            self._built_in.build(self._shapes_to_build)

    if _typing.TYPE_CHECKING:
        # A class may write it with any arguments.
        call: Callable[..., Any]
    else:
        def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            """Computes the outputs from the inputs."""
            core, caller = self.__dict__.get("_built_in"), caller_of(self)
            if core is None and core_of(self) is not None:
                return self(inputs, *args, **kwargs)
            if core is None or caller is None:
                raise NotImplementedError(f"{type(self).__name__} has no call(self, inputs)")
            symbols = [as_symbol(tensor, like=flatten(inputs)) for tensor in flatten(inputs)]
            outputs = [wrap(symbol) for symbol in core.call(symbols, _flag(kwargs.get("training")))]
            return outputs[0] if len(outputs) == 1 else outputs

    def get_config(self) -> dict[str, Any]:
        """The arguments that the layer was made with, for ``from_config``."""
        options = options_of(self, all_of_them=True)
        if options and (not overrides(type(self), "__init__") or overrides(type(self), "get_config")):
            return options
        args, kwargs = self._arguments
        try:
            bound = inspect.signature(type(self).__init__).bind(self, *args, **kwargs)
        except TypeError:
            return {"name": self.name}
        config = {"name": self.name, "trainable": self.trainable, "dtype": "float32"}
        for key, value in bound.arguments.items():
            if key == "kwargs":
                config.update(value)
            elif key not in ("self", "args"):
                config[key] = value
        config["name"] = self.name
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A new layer from what ``get_config`` returned."""
        return cls(**config)

    def compute_output_shape(self, input_shape: Any) -> tuple[Any, ...]:
        """The shape of the output for an input of this shape, the batch being ``None``."""
        shape = tuple(input_shape)
        output = self(wrap(_core.input(shape[1:], "float32", "")))
        return tuple(output.shape)

    # Weights ---------------------------------------------------------------------------------------------------------

    @accepts("aggregation", "autocast", "collections", "experimental_autocast", "synchronization", "use_resource",
             getter=None, partitioner=None)
    def add_weight(self, name: str | None = None, shape: ShapeLike | None = None, dtype: DTypeLike = None,
                   initializer: Identifier = None, regularizer: Any = None, trainable: bool = True,
                   constraint: Any = None) -> Weight:
        """Makes a weight and returns it; it can be used like a tensor in ``call``."""
        if name is not None and not isinstance(name, str):
            name, shape = (shape if isinstance(shape, str) else None), name
        refuse(f"{type(self).__name__}.add_weight", constraint=constraint)
        if getattr(dtype, "name", dtype) not in (None, "float32", np.float32):
            raise NotImplementedError(f"{type(self).__name__}.add_weight: dtype={dtype!r} is not in Pando, whose weights "
                                      "are float32")
        weights = self.__dict__.setdefault("_own_weights", [])
        weight = Weight(self, len(weights), name or f"weight_{len(weights)}")
        weights.append(weight)
        arguments = (weight.short_name, tuple(shape or ()),
                     initializers.get(initializer or "glorot_uniform")._native(), regularizers.native(regularizer),
                     bool(trainable))
        builder = self.__dict__.get("_builder")
        if builder is None:
            self.__dict__.setdefault("_early_weights", []).append(arguments)
        else:
            builder.add_weight(*arguments)
        return weight

    @accepts("inputs")
    def add_loss(self, losses: Any) -> None:
        """Adds terms to the loss of the model; to be called in ``call``, with tensors that it computes from the inputs.

        A term with one number for each sample counts as its mean. That is exact; one number for the whole batch is computed
        with the copies of samples that fill the last batch up.
        """
        caller = caller_of(self)
        if caller is None:
            raise NeedsTrace(f"add_loss: call it in the call() of '{self.name}', where the term is computed")
        for term in losses if isinstance(losses, (list, tuple)) else [losses]:
            term = term() if callable(term) else term
            if not is_symbolic(term):
                raise TypeError(f"add_loss: {term!r} does not depend on the inputs of '{self.name}'")
            caller.add_loss(term._value)

    def _build_weights(self, builder, shapes):
        """Called by C++; again if what followed the first time has failed."""
        early = self.__dict__.get("_early_weights", [])
        del self.__dict__.get("_own_weights", [])[len(early):]
        self.__dict__.update(_builder=builder, _shapes_to_build=shapes)
        try:
            for arguments in early:
                builder.add_weight(*arguments)
            self.build(self._shapes_for_build(shapes))
        finally:
            self.__dict__.update(_builder=None, _shapes_to_build=None)

    def _shapes_for_build(self, shapes):
        if len(shapes) == 1:
            return TensorShape(shapes[0])
        args, kwargs = self.__dict__.get("_structure", ((), {}))
        shapes = [TensorShape(shape) for shape in shapes]
        if len(args) == 1 and not kwargs and len(flatten(args[0])) == len(shapes):
            return pack(args[0], shapes)
        return shapes

    def _children(self):
        """The layers among its attributes, and in their lists and dicts."""
        children = []
        for name, value in self.__dict__.items():
            if name in _OWN_ATTRIBUTES:
                continue
            for leaf in flatten(value) if isinstance(value, (list, tuple, dict)) else [value]:
                if isinstance(leaf, Layer) and not any(leaf is known for known in children):
                    children.append(leaf)
        return children

    def _inner_layers(self):
        built_in = self.__dict__.get("_built_in")
        return ([] if built_in is None else [built_in]) + [layer._layer for layer in self._children()]

    # Calls -----------------------------------------------------------------------------------------------------------

    def _without_training(self, args, kwargs):
        """The arguments of a call but for ``training``, and that, which may be given by its place."""
        if overrides(type(self), "call"):
            return named_arguments(type(self), args, kwargs)
        return arguments_of_pando(self, args, kwargs, _is_tensor)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs, training = self._without_training(args, kwargs)
        structure = (args, kwargs)
        leaves = flatten(structure)
        tensors = [leaf for leaf in leaves if _is_tensor(leaf)]
        if not tensors:
            raise TypeError(f"layer '{self.name}' must be called on tensors or arrays, not {args!r}")
        if not any(is_symbolic(tensor) for tensor in tensors):
            return self._call_eagerly(structure, tensors, training)
        symbols = [as_symbol(tensor, like=tensors) for tensor in tensors]
        # How the tensors were given; C++ knows them as a list, and gives this back when it traces the call.
        given = pack(structure, [_SLOT if _is_tensor(leaf) else leaf for leaf in leaves])
        if not self.built:
            self.__dict__["_structure"] = given
        outputs = [wrap(symbol) for symbol in self._layer.call(symbols, _flag(training), given)]
        return self._pack_outputs(outputs)

    def _trace(self, caller, symbols, given):
        """Called by C++ while a graph is built: the outputs for these inputs, as a list of symbols."""
        with call_of(self, caller):
            tensors = [wrap(symbol) for symbol in symbols]
            if given is None:
                args, kwargs = (tensors[0] if len(tensors) == 1 else tensors,), {}
            else:
                rest = iter(tensors)
                args, kwargs = pack(given, [next(rest) if leaf is _SLOT else leaf for leaf in flatten(given)])
            if "training" in names_of_call(type(self)):
                kwargs["training"] = caller.training
            outputs = self.call(*args, **kwargs)
        # Without the tensors: they would keep the layer, which keeps this.
        self.__dict__["_output_structure"] = pack(outputs, [_SLOT] * len(flatten(outputs)))
        return [as_symbol(leaf, like=[wrap(symbols[0])]) for leaf in flatten(outputs)]

    def _pack_outputs(self, outputs):
        structure = self.__dict__.get("_output_structure")
        if isinstance(structure, (tuple, list, dict)):
            return pack(structure, outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def _call_eagerly(self, structure, tensors, training):
        from pando.keras.eager import call_eagerly
        return call_eagerly(self, structure, tensors, training, key_of_call(self, *structure, tensors))


Layer.build = by_core(Layer.build)
# What the classes of pando.keras keep themselves.
_OWN_ATTRIBUTES = {"_arguments", "_given", "_layer", "_built_in", "_functions", "_described", "_structure", "_programs",
                   "_own_weights", "_early_weights", "_stack", "_kept", "_whole", "_compiled"}


class _Slot:
    """Stands for a tensor in the remembered structure of a call."""

    def __reduce__(self):
        return "_SLOT"


_SLOT = _Slot()


def _is_tensor(value):
    return isinstance(value, (Tensor, np.ndarray)) or hasattr(value, "_symbol_value")


def _flag(training):
    return None if training is None or training is FOLLOWS_MODEL else bool(training)
