# SPDX-License-Identifier: Apache-2.0
"""tf.data: pipelines. Python knows the structure of elements, C++ a flat list of columns.

The function of ``map`` is traced once, with symbols, and then runs without Python. A function that looks at values cannot
be traced: Python calls it for every element, and a message says so.
"""
from __future__ import annotations

import typing as _typing
from typing import Any

import numpy as np

from pando import _core
from pando.core import dtypes
from pando.core.hints import DTypeLike, Function
from pando.core.messages import notice_once
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.promotion import fitted
from pando.core.structure import flatten, is_nested, pack
from pando.tensors.tensor import Tensor, TensorShape
from pando.tf.columns import blank, check_shape, columns_of, plain, shapes_of, typed, with_arrays

AUTOTUNE = -1
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2


class TensorSpec:
    """The type and shape of a column; None is a size that differs from element to element."""

    def __init__(self, shape: Any, dtype: DTypeLike = "float32", name: str | None = None) -> None:
        self.shape, self.dtype, self.name = TensorShape(shape), dtypes.of(dtype, "tf"), name

    def __repr__(self):
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"

    def __eq__(self, other):
        return isinstance(other, TensorSpec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self):
        return hash((tuple(self.shape), self.dtype))


class Dataset:
    """Elements of tensors in any structure. Immutable: every method returns a new pipeline."""

    def __init__(self, dataset: Any, structure: Any, spec: Any = None, types: Any = None) -> None:
        self._dataset = dataset
        # Any leaves: only the structure matters.
        self._structure = structure
        self._spec = spec
        # The names of the columns' types.
        self._types = types if spec is None else [dtype for dtype, _ in spec]

    # Sources ---------------------------------------------------------------------------------------------------------

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Any:
        """Row i of every array is element i."""
        structure = with_arrays(tensors)
        arrays = flatten(structure)
        return cls(_core.Dataset.from_tensor_slices(arrays), blank(structure, len(arrays)),
                   [(array.dtype.name, array.shape[1:]) for array in arrays])

    @classmethod
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Any:
        """One element."""
        structure = with_arrays(tensors)
        arrays = [array[None] for array in flatten(structure)]
        return cls(_core.Dataset.from_tensor_slices(arrays), blank(structure, len(arrays)),
                   [(array.dtype.name, array.shape[1:]) for array in arrays])

    @classmethod
    def from_generator(cls, generator: Function, output_types: Any = None, output_shapes: Any = None, args: Any = None,
                       output_signature: Any = None, name: str | None = None) -> Any:
        """The elements that a Python generator yields."""
        signature = output_signature if output_signature is not None else output_types
        if signature is None:
            raise TypeError("from_generator: give output_signature, the TensorSpec of each column")
        signature = plain(signature)
        types = [dtypes.of(getattr(leaf, "dtype", leaf)).numpy for leaf in flatten(signature)]
        argument = "output_shapes" if output_signature is None else "output_signature"
        shapes = shapes_of(signature, output_shapes if output_signature is None else None)

        def elements():
            for element in generator(*(args or ())):
                leaves = columns_of(signature, element)
                for leaf, shape in zip(leaves, shapes):
                    check_shape(leaf, shape, argument)
                yield [fitted("from_generator", getattr(leaf, "_value", leaf), dtype)
                       for leaf, dtype in zip(leaves, types)]
        return cls(_core.Dataset.from_generator(elements), blank(signature, len(types)),
                   types=[dtype.name for dtype in types])

    @classmethod
    def range(cls, *args: Any, output_type: str = "int64", name: str | None = None) -> Any:
        """The numbers of Python's range."""
        return cls.from_tensor_slices(np.arange(*args, dtype=dtypes.of(output_type).numpy))

    @classmethod
    def zip(cls, *datasets: Any, name: str | None = None) -> Any:
        """Joins one element of each; ends with the shortest."""
        if len(datasets) == 1 and is_nested(datasets[0]):
            datasets = tuple(datasets[0])
        joined = _core.Dataset.zip([dataset._dataset for dataset in datasets])
        specs = [dataset._spec for dataset in datasets]
        spec = None if any(one is None for one in specs) else [column for one in specs for column in one]
        return cls(joined, tuple(dataset._structure for dataset in datasets), spec,
                   [dtype for dataset in datasets for dtype in dataset._types])

    # Transformations -------------------------------------------------------------------------------------------------

    def _with(self, dataset, spec="same"):
        return type(self)(dataset, self._structure, self._spec if spec == "same" else spec, self._types)

    def shuffle(self, buffer_size: int, seed: int | None = None, reshuffle_each_iteration: bool = True,
                name: str | None = None) -> Dataset:
        """Draws each element at random from the next ``buffer_size`` elements."""
        keeps = reshuffle_each_iteration is None or bool(reshuffle_each_iteration)
        return self._with(self._dataset.shuffle(int(buffer_size), seed, keeps))

    def batch(self, batch_size: int, drop_remainder: bool = False, num_parallel_calls: int | None = None,
              deterministic: Any = None, name: str | None = None) -> Dataset:
        """Stacks elements of equal types and shapes."""
        size = int(batch_size)
        spec = None if self._spec is None else [
            (dtype, (size if drop_remainder else None, *shape)) for dtype, shape in self._spec]
        return self._with(self._dataset.batch(size, bool(drop_remainder)), spec)

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of each element."""
        spec = None if self._spec is None else [(dtype, shape[1:]) for dtype, shape in self._spec]
        return self._with(self._dataset.unbatch(), spec)

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """Goes through the data set ``count`` times, or without end."""
        return self._with(self._dataset.repeat(-1 if count is None else int(count)))

    def take(self, count: int | None, name: str | None = None) -> Dataset:
        """The first ``count`` elements."""
        return self if count == -1 else self._with(self._dataset.take(int(count)))

    def skip(self, count: int | None, name: str | None = None) -> Dataset:
        """All but the first ``count`` elements."""
        return self._with(self._dataset.skip(int(count)))

    def concatenate(self, dataset: Any, name: str | None = None) -> Dataset:
        """The elements of this data set, then those of the other."""
        return self._with(self._dataset.concatenate(dataset._dataset))

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """Keeps the elements of the first pass, in memory."""
        if filename:
            notice_once("tf", "Dataset.cache: filename has no effect in Pando, which keeps the elements in memory")
        return self._with(self._dataset.cache())

    def prefetch(self, buffer_size: int, name: str | None = None) -> Dataset:
        """Computes elements ahead, in a thread."""
        return self._with(self._dataset.prefetch(2 if int(buffer_size) < 1 else int(buffer_size)))

    def shard(self, num_shards: int, index: Any, name: str | None = None) -> Dataset:
        """Every ``num_shards``-th element, from number ``index`` on."""
        count, wanted = int(num_shards), int(index)
        if not 0 <= wanted < count:
            raise ValueError(f"shard: index is {wanted}, but must be below num_shards, {count}, and not below 0")

        def elements():
            iterator, number = self._dataset.iterator(), 0
            while (element := iterator.next()) is not None:
                if number % count == wanted:
                    yield element
                number += 1
        return self._with(_core.Dataset.from_generator(elements))

    def with_options(self, options: Any) -> Dataset:
        """Accepted: Pando decides by itself how a pipeline runs."""
        return self

    def apply(self, transformation_func: Any) -> Dataset:
        """What a function makes of the data set."""
        return transformation_func(self)

    def filter(self, predicate: Function, name: str | None = None) -> Dataset:
        """The elements for which a function is true. Python calls it for each."""
        def call(columns):
            return bool(np.asarray(_value(predicate(*self._arguments(self._tensors(columns))))).all())
        return self._with(self._dataset.filter(call))

    def map(self, map_func: Function, num_parallel_calls: int | None = None, deterministic: Any = None,
            name: str | None = None) -> Dataset:
        """What a function makes of each element, in their order. It is traced once if it can be.

        ``num_parallel_calls`` threads run a traced function at once; AUTOTUNE takes as many as there are cores.
        """
        from pando.tf.mapping import mapped
        calls = 1 if num_parallel_calls is None else 0 if num_parallel_calls == AUTOTUNE else int(num_parallel_calls)
        if calls < 0 or num_parallel_calls == 0:
            raise ValueError(f"map: num_parallel_calls is {num_parallel_calls}; it must be at least 1, or AUTOTUNE")
        return mapped(self, map_func, calls)

    def _arguments(self, leaves):
        """The arguments of a function of an element: those of a tuple one by one."""
        element = pack(self._structure, leaves) if is_nested(self._structure) else leaves[0]
        return element if isinstance(element, tuple) else (element,)

    def _tensors(self, columns):
        return [Tensor(column) for column in typed(columns, self._types)]

    # Elements --------------------------------------------------------------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """The structure of an element, with the type and shape of each column."""
        if self._spec is None:
            first = self._dataset.iterator().next()
            if first is None:
                raise ValueError("element_spec: the data set is empty")
            self._spec = [(dtype, array.shape) for dtype, array in zip(self._types, first)]
        specs = [TensorSpec(shape, dtype) for dtype, shape in self._spec]
        return pack(self._structure, specs) if is_nested(self._structure) else specs[0]

    def __iter__(self):
        iterator = self._dataset.iterator()
        while (columns := iterator.next()) is not None:
            leaves = self._tensors(columns)
            yield pack(self._structure, leaves) if is_nested(self._structure) else leaves[0]

    def as_numpy_iterator(self) -> Any:
        """The elements as NumPy arrays."""
        iterator = self._dataset.iterator()
        while (columns := iterator.next()) is not None:
            leaves = [column[()] if column.ndim == 0 else column for column in typed(columns, self._types)]
            yield pack(self._structure, leaves) if is_nested(self._structure) else leaves[0]

    def cardinality(self) -> Any:
        """The number of elements, or INFINITE_CARDINALITY, or UNKNOWN_CARDINALITY."""
        return Tensor(np.asarray(self._dataset.cardinality(), np.int64))

    def __len__(self):
        count = self._dataset.cardinality()
        if count < 0:
            raise TypeError("The dataset is infinite." if count == -1 else "The dataset length is unknown.")
        return count

    def __repr__(self):
        if self._spec is None:
            return f"<{type(self).__name__}>"
        return f"<{type(self).__name__} element_spec={self.element_spec}>"

    def _repr_html_(self):
        from html import escape
        return f"<code>{escape(repr(self))}</code>"


def _value(tensor):
    return getattr(tensor, "_value", tensor)


class experimental:
    """Older names."""
    AUTOTUNE = AUTOTUNE
    INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = INFINITE_CARDINALITY, UNKNOWN_CARDINALITY

    @staticmethod
    def cardinality(dataset: Any) -> Any:
        """The number of elements."""
        return dataset.cardinality()


class Options:
    """Accepted: Pando decides by itself how a pipeline runs."""

    def __init__(self) -> None:
        self.__dict__["experimental_optimization"] = self.__dict__["experimental_distribute"] = self

    def __setattr__(self, name, value):
        self.__dict__[name] = value

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
