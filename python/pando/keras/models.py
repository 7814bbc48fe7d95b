# SPDX-License-Identifier: Apache-2.0
"""Model and Sequential: networks of layers that can be trained."""
from __future__ import annotations

import typing as _typing
from typing import Any, Callable, Mapping, Sequence

from pando import _core
from pando.core.hints import Path
from pando.core.messages import warn
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.structure import flatten
from pando.keras.layers.arguments_of_calls import names_of_call
from pando.keras.layers.base import CLASSES as _CLASSES, Layer, python_layer
from pando.keras.layers.calls import FOLLOWS_MODEL, NeedsTrace
from pando.keras.layers.core import InputLayer
from pando.keras.model_copies import ModelCopies, clone_model
from pando.keras.training import Training
from pando.keras.whole import Whole
from pando.tensors.tensor import Tensor, is_symbolic, wrap


class Model(ModelCopies, Layer, Training):
    """A network of layers.

    Made from tensors, ``Model(inputs, outputs)``, or as a class with ``call(self, inputs)``, which is traced when the
    model sees its first data.
    """

    _is_built_by_core = False

    def __init__(self, *args: Any, inputs: Any = None, outputs: Any = None, name: str | None = None,
                 trainable: bool = True, **kwargs: Any) -> None:
        if len(args) > 2 or (args and inputs is not None):
            raise TypeError("Model takes inputs and outputs, as in Model(inputs, outputs)")
        if args:
            inputs = args[0]
            outputs = args[1] if len(args) > 1 else outputs
        if kwargs:
            raise TypeError(f"Model has no argument '{next(iter(kwargs))}'")
        self.__dict__.update(_given_name=name, _given_trainable=trainable)
        if inputs is None and outputs is None:
            if type(self).call is Model.call:
                raise TypeError("Model: give inputs and outputs, or derive a class with call(self, inputs)")
            self.__dict__["_layer"] = None
            return
        if inputs is None or outputs is None:
            raise TypeError("Model: inputs and outputs are given together")
        self._from_tensors(inputs, outputs)

    def _from_tensors(self, inputs, outputs):
        for what, given in (("inputs", inputs), ("outputs", outputs)):
            for tensor in flatten(given):
                if not is_symbolic(tensor):
                    raise TypeError(f"Model: {what} must be what Input and layers return, not {tensor!r}")
        self.__dict__["_input_structure"] = _names_of(inputs)
        self.__dict__["_output_structure"] = _without_tensors(outputs)
        self.__dict__["_output_keys"] = sorted(outputs) if isinstance(outputs, dict) else None
        self._adopt(_core.Model([tensor._value for tensor in flatten(inputs)],
                                [tensor._value for tensor in flatten(outputs)], self._given_name or ""))
        self._keep_layers()
        if not self.__dict__.get("_given_trainable", True):
            self.trainable = False

    @classmethod
    def _of(cls, core):
        model = super()._of(core)
        model.__dict__["_given_name"] = core.name
        model._keep_layers()
        return model

    def _keep_layers(self):
        """Those that nothing else held would lose what the program has noted on them."""
        self.__dict__["_kept"] = [python_layer(layer) for layer in self._layer.layers()]

    # A class with call() ---------------------------------------------------------------------------------------------

    if _typing.TYPE_CHECKING:
        # A class may write it with any arguments.
        call: Callable[..., Any]
    else:
        def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            """Computes the outputs from the inputs; for classes derived from Model."""
            raise NotImplementedError(f"{type(self).__name__} has no call(self, inputs)")

    def _is_subclassed(self):
        return type(self).call is not Model.call and not isinstance(self, Sequential)

    def _build_from(self, inputs):
        """Makes the network of a class with call(), from symbolic inputs."""
        try:
            outputs = self._call_recorded(inputs)
        except NeedsTrace:
            # Its call() is then a layer of its own, which is traced once for training and once without.
            whole = Whole(self)
            outputs = whole(inputs)
            self.__dict__["_whole"] = whole
        self._from_tensors(inputs, outputs)

    def _call_recorded(self, inputs, training=None, others=(), named=None):
        arguments = dict(named or {})
        if "training" in names_of_call(type(self)):
            arguments["training"] = FOLLOWS_MODEL if training is None else training
        return self.call(inputs, *others, **arguments)

    def build(self, input_shape: Any) -> None:
        """Makes the weights for inputs of this shape, the batch being ``None``."""
        if self._layer is None:
            shapes = input_shape if isinstance(input_shape, list) else [input_shape]
            self._build_for([(tuple(shape)[1:], "float32") for shape in shapes])
        elif not self._layer.built:
            self._layer.build([tuple(input_shape)])

    def _ensure_built(self, arrays):
        """Builds a class with call() for these arrays."""
        if self._layer is None:
            self._build_for([(array.shape[1:], array.dtype.name) for array in arrays])

    def _build_for(self, samples):
        """Builds a class with call() for samples of these shapes and types, or leaves it as it was."""
        names = self._input_names()
        inputs = [wrap(_core.input(shape, dtype, name))
                  for (shape, dtype), name in zip(samples, names or [""] * len(samples))]
        with _core.build_scope():
            self._build_from(dict(zip(names, inputs)) if names else inputs[0] if len(inputs) == 1 else inputs)
            try:
                self._compile_now()
            except BaseException:
                self.__dict__["_layer"] = None
                raise

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        (inputs, *args), kwargs, training = self._without_training((inputs, *args), kwargs)
        if self._is_subclassed() and any(is_symbolic(leaf) for leaf in flatten(inputs)):
            # Its layers become part of the network around it.
            if "_whole" in self.__dict__:
                return self._whole(inputs, *args, training=training, **kwargs)
            try:
                return self._call_recorded(inputs, training, args, kwargs)
            except NeedsTrace:
                whole = Whole(self)
                outputs = whole(inputs, *args, training=training, **kwargs)
                self.__dict__["_whole"] = whole
                return outputs
        if self._layer is None:
            self.__dict__["_input_structure"] = _names_of(inputs)
            from pando.core.arrays import as_array
            self._ensure_built([as_array(leaf) for leaf in flatten(inputs)])
        return super().__call__(inputs, *args, training=training, **kwargs)

    # What it is made of ----------------------------------------------------------------------------------------------

    @property
    def layers(self) -> list[Layer]:
        """The layers, the inputs of a functional model first."""
        if self._layer is None or "_whole" in self.__dict__:
            return self._children()
        inner = [python_layer(layer) for layer in self._layer.layers()]
        if isinstance(self, Sequential) or self._layer.kind == "Sequential":
            return [layer for layer in inner if not isinstance(layer, InputLayer)]
        return [_InputOf(tensor) for tensor in self.inputs] + inner

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """A layer by its name or its number."""
        if index is not None:
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        from pando.core.nearest import suggestion
        raise ValueError(f"the model '{self.name}' has no layer named {name!r}"
                         + suggestion(str(name), [layer.name for layer in self.layers]))

    @property
    def inputs(self) -> list[Tensor]:
        """The symbolic inputs, as a list."""
        return [wrap(symbol) for symbol in self._built("inputs").inputs()]

    @property
    def outputs(self) -> list[Tensor]:
        """The symbolic outputs, as a list."""
        return [wrap(symbol) for symbol in self._built("outputs").outputs()]

    @property
    def input(self) -> Any:
        """The symbolic input, or the list of them."""
        return self.inputs[0] if len(self.inputs) == 1 else self.inputs

    @property
    def output(self) -> Any:
        """The symbolic output, or the list of them."""
        return self.outputs[0] if len(self.outputs) == 1 else self.outputs

    @property
    def input_shape(self) -> Any:
        """The shape of the input with ``None`` for the batch, or a list of shapes."""
        shapes = [tuple(tensor.shape) for tensor in self.inputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def output_shape(self) -> Any:
        """The shape of the output with ``None`` for the batch, or a list of shapes."""
        shapes = [tuple(tensor.shape) for tensor in self.outputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def trainable(self) -> bool:
        """Whether ``fit`` changes its weights; set it before ``compile``."""
        return self.__dict__.get("_given_trainable", True) if self._layer is None else self._layer.trainable

    @trainable.setter
    def trainable(self, value):
        if self._layer is None:
            self.__dict__["_given_trainable"] = bool(value)
        else:
            self._layer.trainable = bool(value)

    def _built(self, what):
        if self._layer is None:
            raise ValueError(f"{what}: the model is not built; fit it, call it on data, or call build(input_shape)")
        return self._layer

    @property
    def name(self) -> str:
        """The name that was given, or one made of the class's."""
        if self._layer is None:
            return self.__dict__.get("_given_name") or type(self).__name__.lower()
        return self._layer.name

    def _input_names(self):
        given = self.__dict__.get("_input_structure")
        if given or self._layer is None or isinstance(self, Sequential):
            return given or []
        return [_core.input_layer(symbol).name for symbol in self._layer.inputs()]

    def _output_names(self):
        if self.__dict__.get("_output_keys"):
            return self._output_keys
        return self._layer.output_names() if self._layer is not None and self._layer.built else []

    def get_config(self) -> dict[str, Any]:
        """The layers and how they are connected, as nested dicts."""
        import json
        return json.loads(self.to_json())["config"]

    def _repr_html_(self):
        from pando.keras.html import model_html
        return model_html(self)


class Sequential(Model):
    """A stack of layers; it is built when it first sees data, or at once if the shape of its input is known."""

    def __init__(self, layers: Sequence[Any] | None = None, name: str | None = None, *, trainable: bool = True) -> None:
        self.__dict__["_given_name"] = name
        self.__dict__["_stack"] = []
        listed = list(layers or [])
        cores = [self._take(layer) for layer in listed]
        self._adopt(_core.Sequential(cores, name or ""))
        if not trainable:
            self.trainable = False

    @classmethod
    def _of(cls, core):
        stack = [python_layer(layer) for layer in core.layers()]
        model = super()._of(core)
        model.__dict__["_stack"] = stack
        return model

    def _take(self, layer):
        """The C++ layer of what the user added; the second time, that of a copy."""
        if isinstance(layer, Tensor):
            return _core.input_layer(layer._value)
        if isinstance(layer, type) and issubclass(layer, Layer):
            raise TypeError(f"Sequential: add an object, {layer.__name__}(), not the class")
        if not isinstance(layer, Layer):
            if callable(layer):
                from pando.keras.layers import Lambda
                layer = Lambda(layer)
            else:
                raise TypeError(f"Sequential: {layer!r} is not a layer")
        if any(layer is known for known in self._stack):
            copy = layer._clone()
            warn("keras", f"The layer '{layer.name}' is in the Sequential model twice. The second is a layer of its "
                          f"own, '{copy.name}', with its own weights.")
            layer = copy
        if isinstance(layer, Model) and layer._layer is None:
            raise ValueError(f"Sequential: the model '{layer.name}' is not built; call build(input_shape) first")
        self._stack.append(layer)
        return layer._layer

    def add(self, layer: Any) -> None:
        """Adds a layer at the end."""
        before = len(self._stack)
        try:
            self._layer.add(self._take(layer))
        except BaseException:
            del self._stack[before:]
            raise

    def pop(self) -> None:
        """Removes the last layer."""
        if not self._stack:
            raise TypeError("There are no layers in the model.")
        self._stack.pop()
        self._adopt(_core.Sequential([layer._layer for layer in self._stack], self._given_name or ""))

    def build(self, input_shape: Any = None) -> None:
        """Makes the weights for inputs of this shape, the batch being ``None``."""
        if input_shape is not None and not self._layer.built:
            self._layer.build([tuple(input_shape)])


class _InputOf(InputLayer):
    """The input of a functional model, listed among its layers."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self._adopt(_core.input_layer(tensor._value))

    def __new__(cls, tensor):
        layer = object.__new__(cls)
        layer.__dict__["_arguments"] = None
        return layer

    @property
    def input(self) -> Any:
        return self._tensor

    output = input


_CLASSES.update(Functional=Model, Sequential=Sequential)


def _names_of(inputs):
    return sorted(inputs) if isinstance(inputs, dict) else None


def _without_tensors(outputs):
    if isinstance(outputs, (list, tuple)) and len(outputs) == 1:
        return None
    if isinstance(outputs, (list, tuple, dict)):
        from pando.core.structure import pack
        return pack(outputs, [None] * len(flatten(outputs)))
    return None


def model_from_json(text: str, custom_objects: Mapping[str, Any] | None = None) -> Model:
    """The model that ``to_json`` wrote, with new random weights."""
    return python_layer(_core.model_from_json(text))


def load_model(filepath: Path, custom_objects: Mapping[str, Any] | None = None, compile: bool = True) -> Model:
    """The model that ``save`` wrote, with its weights; compile it to train it."""
    return python_layer(_core.load_model(str(filepath)))


def save_model(model: Any, filepath: Path, overwrite: bool = True, **kwargs: Any) -> None:
    """Writes a folder with the layers and the weights; ``overwrite=False`` refuses to replace one."""
    model.save(filepath, overwrite=overwrite, **kwargs)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
