# SPDX-License-Identifier: Apache-2.0
"""Dataset.map: a function traced to a program, or called by Python for every element where it looks at values."""
import numpy as np

from pando import _core
from pando.core.dispatch import known_divisors
from pando.core.errors import TraceError
from pando.core.messages import notice_once
from pando.core.structure import flatten, is_nested, pack
from pando.tensors.tensor import as_symbol, is_symbolic, wrap

_TYPES_OF_PROGRAMS = {"float32", "float64", "bfloat16", "int32", "int64", "uint8", "bool"}


class _Constant(Exception):
    """A result that does not depend on the element."""


def mapped(dataset, function, parallel_calls=1):
    """The data set of what the function makes of each element.

    A traced function runs in that many threads at once, 0 being the number of cores; a called one in one thread.
    """
    result = {}

    def traced(symbols):
        tensors = [wrap(symbol) for symbol in symbols]
        with known_divisors():
            made = _plain_result(function(*dataset._arguments(tensors)))
        leaves = flatten(made) if is_nested(made) else [made]
        if not any(is_symbolic(leaf) for leaf in leaves):
            raise _Constant()
        result["structure"] = pack(made, [None] * len(leaves)) if is_nested(made) else None
        return [as_symbol(leaf, like=tensors) for leaf in leaves]

    program = _core.TensorProgram(getattr(function, "__name__", "map"), traced)
    spec = dataset._spec
    if spec is None:
        dataset.element_spec
        spec = dataset._spec
    lacking = {dtype for dtype, _ in spec} - _TYPES_OF_PROGRAMS
    if lacking:
        return _called(dataset, function, f"programs do not have {' and '.join(sorted(lacking))}")
    try:
        # Sizes that differ stand for any: two is as good as another.
        types = program.types([(dtype, tuple(2 if size is None else size for size in shape)) for dtype, shape in spec])
    except (TraceError, _Constant, NotImplementedError, AttributeError, TypeError) as error:
        return _called(dataset, function, error)
    unknown = any(size is None for _, shape in spec for size in shape)
    types = [(dtype, (None, *shape[1:]) if unknown and shape and shape[0] == 2 else shape) for dtype, shape in types]
    return type(dataset)(dataset._dataset.map_program(program, parallel_calls), result["structure"], types)


def _called(dataset, function, reason):
    """The same, with Python called for every element."""
    first = dataset._dataset.iterator().next()
    if first is None:
        raise ValueError("map: the data set is empty")
    structure = {}

    def call(columns):
        made = _plain_result(function(*dataset._arguments(dataset._tensors(columns))))
        leaves = flatten(made) if is_nested(made) else [made]
        structure["made"] = pack(made, [None] * len(leaves)) if is_nested(made) else None
        return [np.asarray(getattr(leaf, "_value", leaf)) for leaf in leaves]

    columns = call(first)
    reason = str(reason) or "its result does not depend on the element"
    notice_once("tf", f"map: the function cannot be traced ({reason}), so Python runs it for every element.")
    return type(dataset)(dataset._dataset.map(call), structure["made"],
                         [(column.dtype.name, tuple(None for _ in column.shape[:1]) + column.shape[1:])
                          if _varies(dataset) else (column.dtype.name, column.shape) for column in columns])


def _varies(dataset):
    return any(size is None for _, shape in dataset._spec or [] for size in shape)


def _plain_result(made):
    return tuple(made) if isinstance(made, list) else made
