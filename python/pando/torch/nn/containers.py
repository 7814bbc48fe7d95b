# SPDX-License-Identifier: Apache-2.0
"""Modules that hold modules or parameters."""
from __future__ import annotations

import collections
from typing import Any

from pando.core.hints import ArrayLike
from pando.torch.nn.module import Module
from pando.torch.nn.parameter import Parameter


class Sequential(Module):
    """Modules that are called one after the other."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], collections.OrderedDict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(modules):
                self.add_module(str(i), module)

    def forward(self, input: ArrayLike) -> Any:  # noqa: A002
        for module in self._modules.values():
            input = module(input)  # noqa: A001
        return input

    def append(self, module: Any) -> Any:
        """Adds a module at the end and returns the Sequential."""
        self.add_module(str(len(self)), module)
        return self

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(collections.OrderedDict(list(self._modules.items())[index]))
        return list(self._modules.values())[index]

    def __setitem__(self, index, module):
        self._modules[list(self._modules)[index]] = module

    def __delitem__(self, index):
        kept = list(self._modules.values())
        del kept[index]
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(kept))


class ModuleList(Module):
    """Modules in a list, for a forward() that calls them."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.extend(modules or [])

    def append(self, module: Any) -> Any:
        """Adds a module at the end and returns the list."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Any) -> Any:
        """Adds modules at the end and returns the list."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: Any, module: Any) -> Any:
        """Puts a module before the one of this index."""
        modules = list(self)
        modules.insert(index, module)
        self._modules.clear()
        self.extend(modules)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        found = list(self._modules.values())[index]
        return type(self)(found) if isinstance(index, slice) else found

    def __setitem__(self, index, module):
        self._modules[list(self._modules)[index]] = module


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Any) -> Any:
        """Adds the modules of a dict, or of pairs of a name and a module."""
        for name, module in dict(modules).items():
            self.add_module(name, module)

    def __getitem__(self, name):
        return self._modules[name]

    def __setitem__(self, name, module):
        self.add_module(name, module)

    def __delitem__(self, name):
        del self._modules[name]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, name):
        return name in self._modules

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """Pairs of a name and a module."""
        return self._modules.items()


class ParameterList(Module):
    """Parameters in a list."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        for parameter in parameters or []:
            self.append(parameter)

    def append(self, parameter: Any) -> Any:
        """Adds a parameter at the end and returns the list."""
        made = parameter if isinstance(parameter, Parameter) else Parameter(parameter)
        self.register_parameter(str(len(self)), made)
        return self

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def __getitem__(self, index):
        return list(self._parameters.values())[index]


class DataParallel(Module):
    """The module itself: replicas are PopTorch's replicationFactor."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: Any = 0) -> None:  # noqa: ARG002
        super().__init__()
        self.module = module

    def forward(self, *inputs: Any, **arguments: Any) -> Any:
        return self.module(*inputs, **arguments)
