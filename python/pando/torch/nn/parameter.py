# SPDX-License-Identifier: Apache-2.0
"""Parameter: a tensor that modules train. C++ has its value; it is a symbol while a model is traced."""
from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np

from pando import _core
from pando.core.hints import ArrayLike
from pando.core.tensor import Tensor as CoreTensor
from pando.torch import lazy
from pando.torch.tensor import Tensor

_numbers = itertools.count()


class ParameterValue:
    """What a parameter holds: C++'s parameter, with what is asked of every value."""
    __slots__ = ("core", "shape", "type", "number", "owner", "_requires_grad", "__weakref__")
    dtype = "float32"

    def __init__(self, core: Any) -> None:
        self.core, self.number, self.owner = core, next(_numbers), None
        self.shape = tuple(core.shape)
        # Asked for each parameter and turn of a loop, so Python remembers what C++ has.
        self._requires_grad = core.requires_grad
        self.type = ("float32", self.shape)

    @property
    def requires_grad(self) -> Any:
        """Whether gradients of it are computed."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, needed):
        self.core.requires_grad = self._requires_grad = needed

    def symbol(self) -> Any:
        """Its symbol in the model that is traced."""
        return self.core.symbol()

    def compute(self) -> Any:
        """Its value as an array."""
        return self.core.value()


class Parameter(Tensor):
    """A tensor that is registered as a parameter when it is assigned to an attribute of a module."""

    def __init__(self, data: ArrayLike = None, requires_grad: bool = True, _core_parameter: Any = None) -> None:
        if _core_parameter is None:
            array = np.array(data._array("Parameter") if isinstance(data, CoreTensor) else data)
            if array.dtype.kind != "f" and requires_grad:
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            _core_parameter = _core.torch.Parameter(array.astype(np.float32), requires_grad)
        self._value = ParameterValue(_core_parameter)
        self._value.owner = weakref.ref(self)
        self._grad = None

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Sets whether gradients of it are computed, and returns it."""
        self._value.requires_grad = bool(requires_grad)
        return self

    @property
    def is_leaf(self) -> Any:
        """True: nothing computes a parameter."""
        return True

    @property
    def data(self) -> Any:
        """Its values without gradients; in-place methods on them change the parameter."""
        return _ParameterData(self)

    @data.setter
    def data(self, value):
        self._set(value)

    def detach(self) -> Any:
        """A tensor of its values now."""
        return Tensor(self._value.compute())

    def _set(self, value):
        lazy.flush()
        array = value._array("data") if isinstance(value, CoreTensor) else np.asarray(value)
        self._value.core.set_value(np.asarray(np.broadcast_to(array, self._value.shape), np.float32))
        return self

    def __repr__(self, **_):
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo):
        made = Parameter(self._value.compute(), self.requires_grad)
        memo[id(self)] = made
        return made

    def __reduce__(self):
        return Parameter, (np.array(self._value.compute()), self.requires_grad)


class _ParameterData(Tensor):
    """parameter.data: in-place methods on it change the parameter."""

    def __init__(self, parameter: Any) -> None:
        super().__init__(parameter._value.compute())
        self._parameter = parameter

    def _set(self, value):
        self._parameter._set(value)
        self._value = self._parameter._value.compute()
        return self


Parameter._result_class = _ParameterData._result_class = Tensor


class Buffer(Parameter):
    """A value that a module keeps but does not train."""

    def __init__(self, data: ArrayLike = None, persistent: bool = True, _core_parameter: Any = None) -> None:
        super().__init__(data, False, _core_parameter)
        self.persistent = persistent

    def __repr__(self, **_):
        return Tensor.__repr__(self)
