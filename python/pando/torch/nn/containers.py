# SPDX-License-Identifier: Apache-2.0
"""Modules that hold modules or parameters."""
import collections

from pando.torch.nn.module import Module
from pando.torch.nn.parameter import Parameter


class Sequential(Module):
    """Modules that are called one after the other."""

    def __init__(self, *modules):
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], collections.OrderedDict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(modules):
                self.add_module(str(i), module)

    def forward(self, input):  # noqa: A002
        for module in self._modules.values():
            input = module(input)  # noqa: A001
        return input

    def append(self, module):
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

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or [])

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
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

    def __init__(self, modules=None):
        super().__init__()
        self.update(modules or {})

    def update(self, modules):
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

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()


class ParameterList(Module):
    """Parameters in a list."""

    def __init__(self, parameters=None):
        super().__init__()
        for parameter in parameters or []:
            self.append(parameter)

    def append(self, parameter):
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

    def __init__(self, module, device_ids=None, output_device=None, dim=0):  # noqa: ARG002
        super().__init__()
        self.module = module

    def forward(self, *inputs, **arguments):
        return self.module(*inputs, **arguments)
