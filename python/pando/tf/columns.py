# SPDX-License-Identifier: Apache-2.0
"""The columns of data sets: the leaves of an element's structure, in a flat list, and their types."""
import numpy as np

from pando.core import dtypes
from pando.core.structure import is_nested, pack
from pando.tensors.tensor import default_array

# What C++ stores the types in that it lacks.
_STORED_AS = {"int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64",
              "float16": "float32", "bfloat16": "float32"}


def plain(structure):
    """The structure of a signature, with tuples in the place of lists."""
    if isinstance(structure, dict):
        return {key: plain(value) for key, value in structure.items()}
    if isinstance(structure, (tuple, list)):
        return type(structure)(*map(plain, structure)) if hasattr(structure, "_fields") else tuple(map(plain, structure))
    return structure


def with_arrays(structure):
    """The structure of dicts and tuples, with arrays in it. A list is one array, as TensorFlow makes a tensor of it."""
    if isinstance(structure, dict):
        return {key: with_arrays(value) for key, value in structure.items()}
    if isinstance(structure, tuple):
        parts = map(with_arrays, structure)
        return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)
    if isinstance(structure, list) and structure and all(hasattr(part, "shape") for part in structure):
        return np.stack([array_of(part) for part in structure])
    return array_of(structure)


def array_of(value):
    """An array or the array of a tensor as it is; anything else with the types that TensorFlow gives numbers."""
    value = getattr(value, "_value", value)
    return value if isinstance(value, (np.ndarray, np.generic)) else default_array(value)


def columns_of(signature, element):
    """The columns of an element that a generator yielded; a list where the signature has one column is an array."""
    if isinstance(signature, dict):
        if not isinstance(element, dict) or element.keys() != signature.keys():
            raise TypeError(f"from_generator: an element must be a dict of {sorted(signature)}, not {element!r}")
        return [leaf for key in sorted(signature, key=str) for leaf in columns_of(signature[key], element[key])]
    if isinstance(signature, tuple):
        if not isinstance(element, (tuple, list)) or len(element) != len(signature):
            raise TypeError(f"from_generator: an element must have {len(signature)} columns, as output_signature has")
        return [leaf for part, value in zip(signature, element) for leaf in columns_of(part, value)]
    return [element]


def shapes_of(signature, shapes):
    """For each column the shape that `shapes`, or else its TensorSpec, says; None for any."""
    if isinstance(signature, dict):
        return [found for key in sorted(signature, key=str)
                for found in shapes_of(signature[key], None if shapes is None else shapes[key])]
    if isinstance(signature, tuple):
        each = [None] * len(signature) if shapes is None else shapes
        return [found for part, shape in zip(signature, each) for found in shapes_of(part, shape)]
    shape = getattr(signature, "shape", None) if shapes is None else shapes
    return [None if shape is None else tuple(shape)]


def check_shape(value, shape, argument):
    """Raises ValueError if a column of a generator's element has another shape than the argument says."""
    found = np.shape(getattr(value, "_value", value))
    if shape is not None and (len(found) != len(shape) or any(b is not None and a != b for a, b in zip(found, shape))):
        raise ValueError(f"from_generator: an element has the shape {found}, but {argument} says {shape}")


def blank(structure, count):
    """The structure without its arrays."""
    return pack(structure, [None] * count) if is_nested(structure) else None


def typed(columns, types):
    """The columns in their types, where C++ stored them in others."""
    return [column.astype(dtypes.of(dtype).numpy) if _STORED_AS.get(dtype) == column.dtype else column
            for column, dtype in zip(columns, types)]
