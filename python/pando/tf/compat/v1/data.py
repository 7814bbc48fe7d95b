# SPDX-License-Identifier: Apache-2.0
"""tf.data of TensorFlow 1: data sets with iterators whose elements are tensors of the graph."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.structure import is_nested, pack
from pando.tf import data as _data
from pando.tf.data import AUTOTUNE, TensorSpec  # noqa: F401
from pando.tensors.tensor import wrap


class Iterator:
    """Gives the elements of a data set, one to each run that asks."""

    def __init__(self, native: Any, dataset: Any) -> None:
        self._native, self._dataset = native, dataset

    def get_next(self, name: str | None = None) -> Any:
        """The next element, as tensors of the graph."""
        leaves = [wrap(symbol) for symbol in self._native.get_next()]
        structure = self._dataset._structure
        return pack(structure, leaves) if is_nested(structure) else leaves[0]

    @property
    def initializer(self) -> Any:
        """Starts at the first element."""
        return self._native.initializer()


class Dataset(_data.Dataset):
    """As tf.data.Dataset, with iterators for sessions."""

    def make_initializable_iterator(self, shared_name: Any = None) -> Any:
        """An iterator that must be initialised before use."""
        return Iterator(_core.make_initializable_iterator(self._dataset), self)

    def make_one_shot_iterator(self) -> Any:
        """An iterator that needs no initializer."""
        return Iterator(_core.make_one_shot_iterator(self._dataset), self)

    @property
    def output_types(self) -> Any:
        """The types of an element, in its structure."""
        return _each(self.element_spec, lambda spec: spec.dtype)

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element, in its structure."""
        return _each(self.element_spec, lambda spec: spec.shape)


def _each(spec, function):
    from pando.core.structure import map_structure
    return map_structure(function, spec) if is_nested(spec) else function(spec)


def make_initializable_iterator(dataset: Any, shared_name: Any = None) -> Any:
    """An iterator that must be initialised before use."""
    return Dataset.make_initializable_iterator(dataset)


def make_one_shot_iterator(dataset: Any) -> Any:
    """An iterator that needs no initializer."""
    return Dataset.make_one_shot_iterator(dataset)


class experimental:
    """Older names."""
    AUTOTUNE = AUTOTUNE


if _typing.TYPE_CHECKING:
    from pando.tf.data import *  # noqa: F403
else:
    def __getattr__(name):
        return getattr(_data, name)
