# SPDX-License-Identifier: Apache-2.0
"""A forward() while it is traced: which losses it computes, and where the nodes of its graph come from.

A node has a place: the module whose call made it, and the IPU of the block around it. A node of the backward pass has the
place of the forward pass that it belongs to. PyTorch's autograd tells which that is: every result of a function has a
grad_fn, which gets the place of the function, and a hook that runs when its part of the backward pass has been traced.
"""
from __future__ import annotations

import threading
from typing import Any, NamedTuple

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

from pando import _core
from pando.poptorch import masks
from pando.torch.tracing import mark_place


class Place(NamedTuple):
    """Where nodes come from."""
    # The path of the module; empty in the model's own forward().
    module: str = ""
    # The number and the module of the call that they belong to. Calls of modules can become the stages of a pipeline.
    call: int = 0
    title: str = ""
    # The IPU of the block; None if no block has begun.
    ipu: int | None = None
    # Whether they are of the backward pass.
    is_backward: bool = False


class _Running(threading.local):
    forward = None


_running = _Running()


def running() -> Forward | None:
    """The forward() that this thread traces."""
    return _running.forward


def _is_call(module):
    """Whether a call of the module is one, and not the calls inside it: modules of PyTorch are, but for containers."""
    inside = type(module).__module__
    return (inside.startswith("torch.nn.") and inside != "torch.nn.modules.container") or not any(module.children())


class Forward(TorchFunctionMode):
    """Within it, a forward() is traced. `ipus` are the IPUs of blocks by their names, if the strategy gives them. `mask`
    is that of the samples, `inputs` are what depends on them."""

    def __init__(self, model: torch.nn.Module, ipus: dict, mask: torch.Tensor | None, inputs: Any) -> None:
        super().__init__()
        self.ipus, self.blocks, self.open = ipus, set(), []
        self.losses, self.identity_loss, self.mask = [], None, mask
        self._paths = {module: path for path, module in reversed([*model.named_modules()])}
        # The places of the calls that have ended: those of one module's, without the calls inside it.
        self.calls, self._stack, self._place = [], [], Place()
        # By what shows that it is the same object.
        self._fed = {id(tensor): tensor for tensor in inputs} if mask is not None else {}
        self._noted = {}

    def __enter__(self):
        self._outer, _running.forward = _running.forward, self
        self._hooks = [register_module_forward_pre_hook(_begin), register_module_forward_hook(_end)]
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        for hook in self._hooks:
            hook.remove()
        _running.forward = self._outer

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
        depends = any(id(x) in self._fed for x in given)
        made = masks.call(function, args, kwargs, self.mask) if depends else function(*args, **kwargs)
        found = [x for x in tree_flatten(made)[0] if isinstance(x, torch.Tensor)]
        if made is None:    # an assignment to a part of the first argument
            found = given[:1]
        if depends:
            self._fed.update((id(x), x) for x in found)
        for x in found:
            self._note(x.grad_fn)
        if function in masks.LOSSES:
            self.losses.append(made)
        return made

    def reduced(self, x: torch.Tensor, reduction: str) -> torch.Tensor:
        """The mean or the sum of x, of the real samples if it has some."""
        return masks.reduced(x, reduction, self.mask if id(x) in self._fed else None)

    def set_identity_loss(self, loss: torch.Tensor) -> None:
        """The tensor is what training minimises."""
        if self.identity_loss is not None:
            raise _core.Error("identity_loss: it was called before in this forward(); call it once, on the sum")
        self.identity_loss = loss

    def loss(self) -> torch.Tensor:
        """What training minimises. Raises Error if it is not clear which it is."""
        found = self.losses if self.identity_loss is None else [self.identity_loss]
        if not found:
            raise _core.Error("trainingModel: forward() computes no loss; use a loss of torch.nn or poptorch.identity_loss")
        if len(found) > 1:
            raise _core.Error(f"trainingModel: forward() computes {len(found)} losses; combine them and call "
                              "poptorch.identity_loss on the result")
        if found[0].numel() != 1:
            raise _core.Error(f"trainingModel: the loss has shape {list(found[0].shape)} but must be one number; use the "
                              "reduction 'mean' or 'sum'")
        return found[0]

    def begin_block(self, ipu: int) -> None:
        """What comes after it belongs to the IPU."""
        self._move(ipu=ipu)

    def begin_backward(self, loss: torch.Tensor) -> None:
        """What comes after it is the backward pass."""
        self._note(loss.grad_fn)
        self._move()
        self._place = self._place._replace(is_backward=True)

    def _move(self, **changes):
        """The nodes that were traced until here have the place that holds until here."""
        mark_place(self._place)
        self._place = self._place._replace(**changes)

    def _begin(self, module):
        path = self._paths.get(module, type(module).__name__)
        is_call = _is_call(module) and not any(outer for _, outer in self._stack)
        self._stack.append((self._place.module, is_call))
        changes = {"call": self._place.call + 1, "title": path} if is_call else {}
        self._move(module=path, **changes)

    def _end(self):
        outer, is_call = self._stack.pop()
        if is_call:
            self.calls.append(self._place)
        self._move(module=outer)

    def _note(self, grad_fn):
        """Gives the place to the parts of the backward pass that are new."""
        todo, place = [grad_fn], self._place._replace(is_backward=True)
        while todo:
            current = todo.pop()
            if current is None or current in self._noted or type(current).__name__ == "AccumulateGrad":
                continue
            self._noted[current] = place
            current.register_hook(lambda *_, place=place: self._end_backward_of(place))
            todo += [following for following, _ in current.next_functions]

    def _end_backward_of(self, place):
        # Within forward(), a backward pass makes values like any other code.
        if self._place.is_backward:
            mark_place(place)

    def end(self) -> None:
        """To be called after the trace: drops what it knows of autograd's graph, which knows it, too."""
        self._move()
        self._noted.clear()
        self._fed.clear()


def _begin(module, inputs):  # noqa: ARG001
    forward = running()
    if forward is not None:
        forward._begin(module)


def _end(module, inputs, outputs):  # noqa: ARG001
    forward = running()
    if forward is not None:
        forward._end()
