# SPDX-License-Identifier: Apache-2.0
"""torch.Tensor: the methods of tensors, and how they print. Most methods are the functions of torch/functions.py."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from pando import _core
from pando.core import dtypes, ops
from pando.core.hints import DTypeLike, Function
from pando.core.indexing import changed, plain_index
from pando.core.tensor import Tensor as CoreTensor
from pando.torch import lazy

TYPES = dtypes.family("torch")
_VALUES = (np.ndarray, lazy.Node, _core.Symbol)


class Size(tuple):
    """A shape."""

    def __repr__(self):
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)


class device:  # noqa: N801, PyTorch's name
    """Where tensors are; all devices are the same machine here."""

    def __init__(self, type: str = "cpu", index: int | None = None) -> None:  # noqa: A002
        text = type.type if isinstance(type, device) else str(type)
        self.type, _, number = text.partition(":")
        self.index = int(number) if number else index

    def __repr__(self):
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))


class Tensor(CoreTensor):
    """A tensor as PyTorch has it. Values are NumPy's; what needs a module, a parameter or a gradient is recorded and runs
    as a compiled program when it is looked at."""
    _prefix = "torch"
    _takes_lists = False
    _wraps_numbers = True
    # Of a gradient: the step that has used it.
    _use = None

    def __init__(self, *data: Any) -> None:
        # A value of the recorder or of a model, or an array; else PyTorch's forms: sizes, or numbers.
        if len(data) == 1 and isinstance(data[0], _VALUES):
            value = data[0]
        elif data and all(isinstance(size, int) for size in data):
            value = np.zeros(data, np.float32)
        else:
            value = np.array(data[0] if data else [], np.float32)
        self._value = value
        self._grad = None
        if type(value) is lazy.Node and value.record is not None:
            lazy.alive.add(self)

    @property
    def shape(self) -> Size:
        """The sizes."""
        return Size(self._value.shape)

    def size(self, dim: Any = None) -> Any:
        """The sizes, or that of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self._value.shape)

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self.shape.numel()

    nelement = numel

    def element_size(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def device(self) -> Any:
        """Where the tensor is: always the CPU."""
        return device("cpu")

    @property
    def is_cuda(self) -> bool:
        """False: tensors are on the CPU."""
        return False

    is_xpu = is_mps = is_sparse = is_quantized = is_complex = is_cuda

    @property
    def layout(self) -> Any:
        """``torch.strided``: there are no sparse tensors."""
        return "torch.strided"

    @property
    def T(self) -> Tensor:  # noqa: N802
        """The tensor with its dimensions in reverse order."""
        return ops.transpose(self)

    @property
    def mT(self) -> Tensor:  # noqa: N802
        """The tensor with its last two dimensions exchanged."""
        return ops.swap_axes(self, -1, -2)

    # Gradients.

    @property
    def requires_grad(self) -> bool:
        """Whether ``backward`` computes a gradient of it, or goes through it."""
        return bool(getattr(self._value, "requires_grad", False))

    @requires_grad.setter
    def requires_grad(self, needed):
        self.requires_grad_(needed)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Sets whether gradients of it are computed, and returns it."""
        if isinstance(self._value, lazy.Node) and self._value.record is not None:
            if not requires_grad:
                raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a "
                                   "computed variable in a subgraph that doesn't require differentiation use detach()")
            return self
        if requires_grad and not self.dtype.is_floating_point:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        array = self._array("requires_grad")
        if requires_grad:
            self._value = lazy.leaf(array, True)
            self._value.owner = _reference(self)
        else:
            self._value = array
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether it was given rather than computed."""
        return not (isinstance(self._value, lazy.Node) and self._value.record is not None and self.requires_grad)

    @property
    def grad_fn(self) -> Any:
        """None for a leaf; otherwise a note that the tensor was recorded."""
        return None if self.is_leaf else "<Recorded>"

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward`` made, or None."""
        found = self._grad
        if found is not None and found._use is not None:
            found._use.is_looked_at = True
        if found is not None and found._value is None:
            raise gradient_not_kept()
        return found

    @grad.setter
    def grad(self, value):
        self._grad = value

    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False) -> None:  # noqa: ARG002
        """Makes the gradients of the leaves that this tensor depends on."""
        if not self.requires_grad:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        total = self if gradient is None else ops.sum(self * gradient)
        if total.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        leaves = lazy.leaves_of(total._value)
        for leaf, node in zip(leaves, lazy.gradient_nodes(total._value, leaves)):
            owner = leaf.owner() if leaf.owner is not None else None
            if owner is None:
                continue
            before = owner._grad
            if before is not None and before._value is None:
                # A step has used it; the sum is not known either, and zero_grad() begins anew.
                continue
            made = _unregistered(node)
            owner._grad = made if before is None else _unwanted(before + made)
            lazy.gradients_alive.add(owner._grad)

    def detach(self) -> Tensor:
        """The same values, through which no gradient goes."""
        if isinstance(self._value, np.ndarray):
            return Tensor(self._value)
        if isinstance(self._value, lazy.Node) and self._value.value is not None:
            return Tensor(self._value.value)
        return ops.stop_gradient(self)

    def detach_(self) -> Tensor:
        """Stops gradients at this tensor."""
        self._value = self.detach()._value
        return self

    @property
    def data(self) -> Tensor:
        """The same values, through which no gradient goes."""
        return self.detach()

    @data.setter
    def data(self, value):
        needed, self._value = self.requires_grad, self._array("data")
        self._take(value)
        if needed:
            self._value = self._array("data")
            self.requires_grad_()

    def retain_grad(self) -> Any:
        """Refused for tensors that are computed: use ``torch.autograd.grad``."""
        raise RuntimeError("retain_grad: gradients are kept for leaves only; use torch.autograd.grad for others")

    def register_hook(self, hook: Function) -> Any:
        """Refused: a hook cannot be part of a compiled program; change ``p.grad`` before ``step()``."""
        raise RuntimeError("register_hook: a hook on a gradient cannot be part of a compiled program; change p.grad "
                           "between backward() and step()")

    # Values.

    def cpu(self) -> Tensor:
        """The tensor itself."""
        return self

    def cuda(self, *_: Any, **__: Any) -> Tensor:
        """The tensor itself; says once that Pando chooses the device."""
        from pando.torch.devices import tell_cuda
        tell_cuda()
        return self

    def to(self, *targets: Any, dtype: DTypeLike = None, device: Any = None, non_blocking: bool = False,
           copy: bool = False, memory_format: Any = None) -> Tensor:  # noqa: ARG002
        """The tensor as another type; devices are accepted without effect."""
        for target in targets:
            if isinstance(target, dtypes.DType):
                dtype = target
            elif isinstance(target, CoreTensor):
                dtype = target.dtype
        return self if dtype is None else self.type(dtype)

    def type(self, dtype: DTypeLike = None) -> Any:  # noqa: A003
        """The tensor as another type; without one, the name of its type."""
        if dtype is None:
            return _TYPE_NAMES.get(self.dtype.name, f"torch.{self.dtype.name}")
        if isinstance(dtype, str):
            dtype = next((name for name, text in _TYPE_NAMES.items() if text == dtype), dtype)
        return ops.cast(self, dtypes.of(dtype, "torch"))

    def clone(self, memory_format: Any = None) -> Tensor:  # noqa: ARG002
        """A copy."""
        return Tensor(self._value.copy()) if isinstance(self._value, np.ndarray) else self * 1

    def contiguous(self, memory_format: Any = None) -> Tensor:  # noqa: ARG002
        """The tensor itself."""
        return self

    def is_contiguous(self, memory_format: Any = None) -> bool:  # noqa: ARG002
        """True."""
        return True

    def numpy(self, force: bool = False) -> np.ndarray:
        """The values as a NumPy array, which shares its memory; refused for a tensor that requires a gradient."""
        if self.requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self._array("numpy")

    def _set(self, value):
        """Takes the value, as in-place methods do. A leaf that requires a gradient stays one, within no_grad()."""
        before = self._value
        if type(before) is lazy.Node and before.record is None and before.requires_grad:
            if lazy.grad_mode.enabled:
                raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
            self._value = before.value
            self._value = self._take(value)._array("in place")
            return self.requires_grad_()
        return self._take(value)

    def _take(self, value):
        made = value if isinstance(value, CoreTensor) else Tensor(np.asarray(value, self.dtype.numpy))
        if tuple(made.shape) != tuple(self.shape):
            made = ops.broadcast_to(made, self.shape)
        self._value = ops.cast(made, self.dtype)._value
        if type(self._value) is lazy.Node and self._value.record is not None:
            lazy.alive.add(self)
        return self

    def __setitem__(self, index, value):
        if isinstance(self._value, _core.Symbol) or self.requires_grad or getattr(value, "requires_grad", False):
            self._set(changed(self, index, value))
            return
        lazy.flush()
        array = np.array(self._array("setitem"))
        array[plain_index(index)] = value._array("setitem") if isinstance(value, CoreTensor) else value
        self._set(Tensor(array))

    def __repr__(self, *, tensor_contents=None):  # noqa: ARG002
        from pando.torch.printing import text
        return text(self)

    __str__ = __repr__

    def __format__(self, spec):
        return format(self.item(), spec) if spec and self.dim() == 0 else self.__repr__()

    def __reduce__(self):
        return _restore, (np.array(self._array("pickle")),)

    def __deepcopy__(self, memo):
        return Tensor(np.array(self._array("deepcopy")))

    def __iadd__(self, other):
        return self._set(self + other)

    def __isub__(self, other):
        return self._set(self - other)

    def __imul__(self, other):
        return self._set(self * other)

    def __itruediv__(self, other):
        return self._set(self / other)


def gradient_not_kept():
    """The error for a gradient that only its step has seen."""
    return RuntimeError("optimizer.step() has used this gradient, and it was not kept: of large models that costs time, "
                        "and the program had not looked at gradients after the first step. Look at them before step(), or "
                        "after the first step, too; call zero_grad() before the next backward()")


def _restore(array):
    return Tensor(array)


def _unregistered(node):
    """The node as a tensor whose value is not wanted only because the tensor lives."""
    made = Tensor.__new__(Tensor)
    made._value, made._grad = node, None
    return made


def _unwanted(tensor):
    lazy.alive.discard(tensor)
    return tensor


def _reference(tensor):
    import weakref
    return weakref.ref(tensor)


_TYPE_NAMES = {"float32": "torch.FloatTensor", "float64": "torch.DoubleTensor", "int64": "torch.LongTensor",
               "int32": "torch.IntTensor", "uint8": "torch.ByteTensor", "bool": "torch.BoolTensor",
               "float16": "torch.HalfTensor"}
Tensor._result_class = Tensor
