# SPDX-License-Identifier: Apache-2.0
"""What a module keeps in Python beside its parameters and buffers. A trace depends on it, so a program is made for one state;
what the trace writes to it, the program writes at each run."""
from __future__ import annotations

import collections
import contextlib
import numbers
import random
import types
from typing import Any, Callable, Iterable, Iterator, NamedTuple

import numpy as np
import torch
from torch.nn.utils import parametrize
from torch.utils import _pytree as pytree

import pando.torch.tracing as tracing
from pando.torch.unsupported import Unsupported, refuse

_PLAIN = (numbers.Number, str, type(None), torch.dtype, torch.device)
# What every module has, for PyTorch's own use.
_OF_ALL = frozenset(vars(torch.nn.Module())) - {"training"}
# What recurrent modules note about the places of their weights; swapped() has its own way with them.
_PLACES = frozenset({"_flat_weights", "_flat_weight_refs"})
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_HOOKS_OF_ALL = [table for name in _HOOKS
                 if (table := getattr(torch.nn.modules.module, f"_global{name}", None)) is not None]
_MISSING = object()
_CONTAINERS = (list, dict, set, collections.deque)


class _Same:
    """An object that is equal to itself alone."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Same) and self.value is other.value


def _is_plain(value: Any) -> bool:
    return isinstance(value, _PLAIN) or isinstance(value, tuple) and all(map(_is_plain, value))


def _known(value: Any) -> Any:
    """What says whether an attribute is the same later: plain values may be equal, others have to be the same object."""
    return (type(value), repr(value)) if _is_plain(value) else _Same(value)


def hooks_of(modules: Iterable[torch.nn.Module]) -> list[dict[int, Any]]:
    """The tables of hooks, those for all modules too."""
    return _HOOKS_OF_ALL + [table for module in modules for name in _HOOKS if (table := vars(module).get(name)) is not None]


def entries_of(module: torch.nn.Module, written: set[tuple[int, str]]) -> list[tuple[dict[str, Any], str, Any]]:
    """The attributes on which a trace depends, but for those that programs write."""
    attributes = vars(module)
    return [(attributes, name, value) for name, value in attributes.items()
            if name not in _OF_ALL | _PLACES and (id(attributes), name) not in written and not isinstance(value, torch.Tensor)]


def surroundings_of(functions: Iterable[Any]) -> tuple[list[tuple[dict[str, Any], str, Any]], list[tuple[Any, str, Any]]]:
    """The plain values that functions read from around them: entries of their globals, and their cells as attributes."""
    entries, cells = [], []
    for function in functions:
        function = getattr(function, "__func__", function)
        if isinstance(function, types.FunctionType):
            around = function.__globals__
            entries += [(around, name, around[name]) for name in sorted(_names_in(function.__code__))
                        if name in around and _is_plain(around[name])]
            for cell in function.__closure__ or ():
                with contextlib.suppress(ValueError):    # the cell is empty
                    cells += [(cell, "cell_contents", cell.cell_contents)] * _is_plain(cell.cell_contents)
    return entries, cells


def _names_in(code: types.CodeType) -> set[str]:
    """The names that code uses, and the functions that it makes."""
    return {*code.co_names, *(name for inner in code.co_consts if isinstance(inner, types.CodeType) for name in _names_in(inner))}


def key_of(entries: Iterable[tuple[dict[str, Any], str, Any]]) -> tuple[Any, ...]:
    """Equal for states for which a trace is the same."""
    return tuple([(id(attributes), name, _known(value)) for attributes, name, value in entries])


class _Change(NamedTuple):
    """An attribute that has another value than before."""
    module: torch.nn.Module
    name: str
    value: Any

    def refuse(self, why: str) -> None:
        refuse(f"forward() changes '{self.name}' of a {type(self.module).__name__}, {why}; make it a buffer, or change it "
               "outside of forward()")


class Written(NamedTuple):
    """The attributes that forward() sets: the values of the program's last outputs, and what never changes."""
    attributes: list[tuple[torch.nn.Module, str, list[Any], Any]]

    def write(self, tensors: Iterable[torch.Tensor]) -> None:
        """Sets them to these outputs of a run."""
        tensors = iter(tensors)
        for module, name, leaves, structure in self.attributes:
            values = [next(tensors) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            vars(module)[name] = pytree.tree_unflatten(values, structure)

    def names(self) -> set[tuple[int, str]]:
        """For entries_of."""
        return {(id(vars(module)), name) for module, name, *_ in self.attributes}


class Kept:
    """While it lasts, the attributes of modules may change; afterwards they are what they were."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._attributes = [(module, dict(vars(module))) for module in model.modules()]
        self._contents = [(module, name, value, value.copy()) for module, before in self._attributes
                          for name, value in before.items() if isinstance(value, _CONTAINERS)]
        cache = parametrize._cache    # of parametrize.cached()
        self._contents.append((model, "parametrized weights", cache, cache.copy()))
        # A trace that writes to such a tensor is refused, but only after it has written.
        self._tensors = [(value, value.detach().clone()) for _, before in self._attributes
                         for value in before.values() if isinstance(value, torch.Tensor) and not value.is_inference()]

    def changes(self) -> list[_Change]:
        """What is another object, or another number, than before."""
        for module, name, value, before in self._contents:
            if not _is_alike(value, before):
                _Change(module, name, value).refuse("whose parts a program does not change")
        found = []
        for module, before in self._attributes:
            now = vars(module)
            for name in [*(now.keys() - _PLACES), *(before.keys() - now.keys() - _PLACES)]:
                value, old = now.get(name, _MISSING), before.get(name, _MISSING)
                if value is not old and not (_is_plain(value) and _is_plain(old) and _known(value) == _known(old)):
                    found.append(_Change(module, name, value))
        return found

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: Any) -> None:
        for module, before in self._attributes:
            now = vars(module)
            for name in [name for name in now if name not in before]:
                del now[name]
            now.update({name: value for name, value in before.items() if now.get(name, _MISSING) is not value})
        for tensor, before in self._tensors:
            if not torch.equal(tensor, before):
                tensor.detach().copy_(before)
        for *_, value, before in self._contents:
            if not _is_alike(value, before):
                value.clear()
                value.update(before) if isinstance(value, (dict, set)) else value.extend(before)


def _is_alike(value: Any, before: Any) -> bool:
    """Whether a container has the same parts."""
    if len(value) != len(before) or isinstance(value, set):
        return len(value) == len(before) and value == before
    if isinstance(value, dict):
        return all(key in value and value[key] is part for key, part in before.items())
    return all(a is b for a, b in zip(value, before))


def traced(model: torch.nn.Module, function: Callable[..., list[Any]],
           *examples: Any) -> tuple[torch.fx.GraphModule, Written]:
    """The graph of a function that calls the model, and what forward() writes to attributes, which are the last outputs. A
    second trace must be the same: it starts from what the first has written, which it therefore does not read."""
    with tracing.LOCK:
        graph, found = _traced(model, function, examples, [])
        if found:
            again, others = _traced(model, function, examples, found)
            for change in found:
                if not any(change.module is other.module and change.name == other.name and
                           _leaves_known(change.value) == _leaves_known(other.value) for other in others):
                    change.refuse("on which the next call depends")
            if str(again.graph) != str(graph.graph):
                found[0].refuse("on which the next call depends")
    return graph, Written([(module, name, *pytree.tree_flatten(value)) for module, name, value in found])


def _traced(model: torch.nn.Module, function: Callable[..., list[Any]], examples: Any,
            before: list[_Change]) -> tuple[torch.fx.GraphModule, list[_Change]]:
    """The graph and the changes, after those of an earlier trace."""
    changes: list[_Change] = []

    def noted(*inputs: Any) -> list[Any]:
        outputs = function(*inputs)
        changes[:] = [change for change in kept.changes() if _is_written(change)]
        return [*outputs, *(leaf.detach() for change in changes for leaf in pytree.tree_flatten(change.value)[0]
                            if isinstance(leaf, torch.Tensor))]

    with Kept(model) as kept, _no_chance():
        for module, name, value in before:
            # Tensors that are not fake: a trace that reads them is refused.
            vars(module)[name] = pytree.tree_map(_stand_in, value)
        return tracing.traced(noted, *examples), changes


@contextlib.contextmanager
def _no_chance() -> Iterator[None]:
    """Refuses what draws numbers from Python's or NumPy's generator, which would be the same at each run; puts them back."""
    before, arrays_before = random.getstate(), np.random.get_state()
    yield
    if random.getstate() != before or repr(np.random.get_state()) != repr(arrays_before):
        random.setstate(before)
        np.random.set_state(arrays_before)
        refuse("the model draws numbers outside of PyTorch, and a program would always have the same; draw them with torch.rand")


def _is_written(change: _Change) -> bool:
    """Whether a program can write this; refuses what it cannot."""
    if change.value is _MISSING:
        change.refuse("which it deletes")
    if not all(_is_plain(leaf) or isinstance(leaf, torch.Tensor) for leaf in pytree.tree_flatten(change.value)[0]):
        change.refuse("to something that is not a tensor or a number")
    return True


def _stand_in(leaf: Any) -> Any:
    return torch.empty(leaf.shape, dtype=leaf.dtype) if isinstance(leaf, torch.Tensor) else leaf


def _leaves_known(value: Any) -> list[Any]:
    """The plain values and the types of the tensors."""
    leaves, structure = pytree.tree_flatten(value)
    return [str(structure), *((leaf.dtype, tuple(leaf.shape)) if isinstance(leaf, torch.Tensor) else _known(leaf)
                              for leaf in leaves)]
