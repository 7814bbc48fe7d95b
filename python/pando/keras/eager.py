# SPDX-License-Identifier: Apache-2.0
"""Layers and functions on arrays, outside of models: they are compiled once for each shape and run at once."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from pando import _core
from pando.core.arrays import as_array
from pando.core.hints import Function
from pando.core.structure import flatten, pack
from pando.tensors.tensor import Tensor, wrap


def run_function(function: Function, arrays: Any) -> Any:
    """The arrays that a function of symbols makes of arrays; it returns a list of symbols."""
    program = _core.TensorProgram(getattr(function, "__name__", "function"), lambda symbols: list(function(*symbols)))
    return program([as_array(array) for array in arrays])


def call_eagerly(layer: Any, structure: Any, tensors: Sequence[Any], training: bool | None, told: tuple[Any, Any]) -> Any:
    """What a layer makes of arrays: tensors in the structure that the layer returns. `told` is what key_of_call() returns."""
    arrays = [as_array(np.asarray(getattr(tensor, "_value", tensor))) for tensor in tensors]
    programs = layer.__dict__.setdefault("_programs", {})
    key = (*told, tuple((array.shape[1:], array.dtype.name) for array in arrays), training)
    made = programs.get(key) or _model_of(layer, structure, tensors, arrays, training)
    if told[0] is not None:
        programs[key] = made
    model, packed = made
    outputs = [Tensor(array) for array in model.predict(arrays, max(1, len(arrays[0])), 0, 0)]
    if packed is None:
        return outputs[0] if len(outputs) == 1 else outputs
    return pack(packed, outputs)


def _model_of(layer, structure, tensors, arrays, training):
    inputs = [wrap(_core.input(array.shape[1:], array.dtype.name, "")) for array in arrays]
    places = iter(inputs)
    given = {id(tensor) for tensor in tensors}
    args, kwargs = pack(structure, [next(places) if id(leaf) in given else leaf for leaf in flatten(structure)])
    outputs = layer(*args, training=training, **kwargs)
    leaves = flatten(outputs)
    model = _core.Model([tensor._value for tensor in inputs], [leaf._value for leaf in leaves])
    nested = isinstance(outputs, (tuple, list, dict))
    return model, pack(outputs, [None] * len(leaves)) if nested else None
