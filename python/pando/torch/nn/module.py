# SPDX-License-Identifier: Apache-2.0
"""Module: parameters, buffers and modules by name. The tree is Python's; leaves that the library has hold a layer of C++."""
from __future__ import annotations

import itertools
import typing as _typing
from typing import Any, Callable, Iterator, TypeVar

import numpy as np

from pando import _core
from pando.core import dispatch
from pando.core.hints import Function
from pando.core.nearest import missing_attribute
from pando.core.tensor import Tensor as CoreTensor
from pando.torch import lazy
from pando.torch.nn.parameter import Buffer, Parameter
from pando.torch.nn.states import States
from pando.torch.tensor import Tensor

_numbers = itertools.count()
_Self = TypeVar("_Self", bound="Module")


class Module(States):
    """Derive from it, assign parameters and modules to attributes, and write a forward()."""
    dump_patches = False
    # The layer of C++ that a leaf runs.
    _leaf = None

    def __init__(self) -> None:
        fields = self.__dict__
        fields["training"] = True
        for name in ("_parameters", "_buffers", "_modules", "_forward_pre_hooks", "_forward_hooks", "_calls"):
            fields[name] = {}
        fields["_number"] = next(_numbers)

    if _typing.TYPE_CHECKING:
        # A class may write it with any arguments.
        forward: Callable[..., Any]
    else:
        def forward(self, *inputs: Any) -> Any:
            """Computes the outputs; derived classes write it, and callers call the module itself."""
            raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        fields = self.__dict__
        if "_modules" not in fields:
            raise AttributeError(f"{type(self).__name__}: call super().__init__() in __init__() first")
        if not fields["_forward_pre_hooks"] and not fields["_forward_hooks"]:
            return self.forward(*inputs, **arguments)
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*inputs, **arguments)
        for hook in list(self._forward_hooks.values()):
            changed = hook(self, inputs, result)
            result = changed if changed is not None else result
        return result

    # Attributes.

    def __setattr__(self, name, value):
        fields = self.__dict__
        kind = "_parameters" if isinstance(value, Parameter) and not isinstance(value, Buffer) else \
            "_modules" if isinstance(value, Module) else None
        if kind is not None:
            if kind not in fields:
                raise AttributeError(f"cannot assign {'parameters' if kind == '_parameters' else 'module'} before "
                                     "Module.__init__() call")
            fields.pop(name, None)
            self._buffers.pop(name, None)
            # The place in the order stays if the kind does.
            self.__dict__["_modules" if kind == "_parameters" else "_parameters"].pop(name, None)
            if kind == "_parameters":
                self._set_parameter(name, value)
            else:
                fields[kind][name] = value
            return
        for kind in ("_parameters", "_modules", "_buffers"):
            if name in fields.get(kind, ()):
                self._replace(kind, name, value)
                return
        object.__setattr__(self, name, value)

    def _replace(self, kind, name, value):
        if value is None:
            self.__dict__[kind][name] = None
        elif kind == "_buffers" and isinstance(value, CoreTensor):
            self._buffers[name]._set(value) if self._buffers[name] is not None else self.register_buffer(name, value)
        else:
            wanted = {"_parameters": "torch.nn.Parameter or None", "_modules": "torch.nn.Module or None",
                      "_buffers": "torch.Tensor or None"}[kind]
            what = {"_parameters": "parameter", "_modules": "child module", "_buffers": "buffer"}[kind]
            raise TypeError(f"cannot assign '{type(value).__name__}' as {what} '{name}' ({wanted} expected)")

    def _set_parameter(self, name, parameter):
        self._parameters[name] = parameter
        self._calls.clear()
        if self._leaf is not None and name in dict(self._leaf.parameters()):
            self._leaf.set_parameter(name, parameter._value.core)

    def __getattr__(self, name):
        for kind in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(kind)
            if found is not None and name in found:
                return found[name]
        if name.startswith("__"):
            raise AttributeError(name)
        known = [*self.__dict__, *dir(type(self)), *self.__dict__.get("_modules", ()),
                 *self.__dict__.get("_parameters", ())]
        raise missing_attribute(type(self).__name__, name, known)

    def __delattr__(self, name):
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[kind]:
                del self.__dict__[kind][name]
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Any) -> None:
        """Adds a parameter under this name; None reserves the name."""
        if param is None:
            self._parameters[name] = None
        else:
            setattr(self, name, param)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Adds a tensor that is saved with the module but not trained."""
        self._buffers[name] = None if tensor is None else tensor if isinstance(tensor, Buffer) else Buffer(
            tensor, persistent)

    def add_module(self, name: str, module: Any) -> None:
        """Adds a child under this name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    def _add_leaf(self, leaf):
        """Makes this module a leaf, with the parameters of a layer of C++."""
        object.__setattr__(self, "_leaf", leaf)
        for name, parameter in leaf.parameters():
            self._parameters[name] = Parameter(_core_parameter=parameter)
        for name, buffer in leaf.buffers():
            self._buffers[name] = Buffer(_core_parameter=buffer)

    def _run_leaf(self, *inputs):
        """Calls the layer: at once in a trace, as a record elsewhere."""
        values = [dispatch.value_of(x) for x in inputs]
        if any(isinstance(value, _core.Symbol) for value in values):
            self._leaf.train(self.training)
            return Tensor(self._leaf(*dispatch.symbols_of(values)))
        return Tensor(lazy.record_layer(self, values))

    # The tree.

    def named_modules(self, memo: Any = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """The module and all modules in it, each with its path."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """The module and all modules in it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly in it, each with its name."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly in it."""
        return (module for _, module in self.named_children())

    def _named(self, kind, prefix, recurse, duplicates=False):
        seen = set()
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=not duplicates) if recurse else [
                (prefix, self)]:
            for name, value in module.__dict__[kind].items():
                if value is not None and (duplicates or id(value) not in seen):
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True, *,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """All parameters, each with its path such as "fc1.weight"."""
        return self._named("_parameters", prefix, recurse, not remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, as optimizers take them."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """All buffers, each with its path."""
        return self._named("_buffers", prefix, recurse, not remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """All buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module of this path, such as "features.0"."""
        module = self
        for name in target.split(".") if target else []:
            module = getattr(module, name)
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of this path, such as "fc1.weight"."""
        path, _, name = target.rpartition(".")
        return getattr(self.get_submodule(path), name)

    def apply(self: _Self, fn: Function) -> _Self:
        """Calls ``fn`` with each module in it, children first, and returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self: _Self, mode: bool = True) -> _Self:
        """Sets training mode for drop-out and batch normalisation, and returns the module."""
        for module in self.modules():
            module.__dict__["training"] = bool(mode)
        return self

    def eval(self: _Self) -> _Self:
        """Sets evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self: _Self, requires_grad: bool = True) -> _Self:
        """Sets whether gradients of the parameters are computed, and returns the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: ARG002
        """Forgets the gradients of the parameters."""
        for parameter in self.parameters():
            parameter._grad = None

    def to(self: _Self, *targets: Any, **_: Any) -> _Self:
        """The module itself: where it runs is decided when it is compiled. Types other than floats are refused."""
        from pando.core.dtypes import DType
        for target in targets:
            if isinstance(target, DType) and not target.is_floating_point:
                raise TypeError("nn.Module.to only accepts floating point or complex dtypes")
        return self

    def cuda(self: _Self, device: Any = None) -> _Self:  # noqa: ARG002
        """The module itself; says once that Pando chooses the device."""
        from pando.torch.devices import tell_cuda
        tell_cuda()
        return self

    def cpu(self: _Self) -> _Self:
        """The module itself."""
        return self

    float = half = double = bfloat16 = cpu

    def share_memory(self: _Self) -> _Self:
        """The module itself."""
        return self

    def type(self: _Self, dst_type: Any) -> _Self:  # noqa: A003, ARG002
        """The module itself: parameters are float32."""
        return self

    # Hooks.

    def register_forward_hook(self, hook: Function, **_: Any) -> Any:
        """Calls ``hook(module, inputs, output)`` after each ``forward``; ``remove()`` of what is returned ends it."""
        return _Handle(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Function, **_: Any) -> Any:
        """Calls ``hook(module, inputs)`` before each ``forward``; ``remove()`` of what is returned ends it."""
        return _Handle(self._forward_pre_hooks, hook)

    # Printing.

    def extra_repr(self) -> str:
        """What is printed between the parentheses."""
        if self._leaf is None:
            return ""
        text = str(self._leaf)
        return text[text.index("(") + 1:-1]

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        lines = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if not lines and len(extra) <= 1:
            return f"{self._get_name()}({''.join(extra)})"
        return f"{self._get_name()}(\n  " + "\n  ".join([*extra, *lines]) + "\n)"

    def __deepcopy__(self, memo):
        import copy
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for name, value in self.__dict__.items():
            made.__dict__[name] = value if name == "_leaf" else copy.deepcopy(value, memo) if name != "_calls" else {}
        made.__dict__["_number"] = next(_numbers)
        if self._leaf is not None:
            made._copy_leaf(self)
        return made

    def _copy_leaf(self, source):
        """A new layer of C++ with the copied values."""
        values = {name: np.array(p._value.compute()) for name, p in [*source._parameters.items(),
                                                                     *source._buffers.items()] if p is not None}
        self._parameters.clear()
        self._buffers.clear()
        self._add_leaf(self._make_leaf())
        for name, value in values.items():
            getattr(self, name)._set(value)

    def _make_leaf(self):
        return self._leaf


class _Handle:
    """Removes a hook."""

    def __init__(self, hooks: Any, hook: Function) -> None:
        self._hooks, self._key = hooks, next(_numbers)
        hooks[self._key] = hook

    def remove(self) -> Any:
        self._hooks.pop(self._key, None)
