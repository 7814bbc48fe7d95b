# SPDX-License-Identifier: Apache-2.0
"""Blocks: which parts of a model run on which IPU."""
from __future__ import annotations

import functools
from typing import Any

from pando.poptorch.forward import Forward, running


def _ipu_of(forward: Forward, user_id: Any, ipu_id: int | None) -> int:
    """The IPU of a block: what its strategy says of its name, or the number that it was given."""
    if user_id in forward.ipus:
        return forward.ipus[user_id]
    return ipu_id if ipu_id is not None else user_id if isinstance(user_id, int) else 0


class Stage:
    """Blocks, by their names, that run on one IPU."""

    def __init__(self, *block_ids: Any) -> None:
        self.blocks, self._ipu = block_ids, None

    def ipu(self, number: int) -> Any:
        """The number of the IPU that the stage runs on; returns the stage."""
        self._ipu = number
        return self


class Block:
    """Calls of modules in it belong to the IPU."""

    def __init__(self, user_id: str | int | None = None, ipu_id: int | None = None) -> None:
        self._user_id, self._ipu_id = user_id, ipu_id

    def __enter__(self):
        forward = running()
        if forward is not None:
            forward.open.append(_ipu_of(forward, self._user_id, self._ipu_id))
            forward.begin_block(forward.open[-1])
        return self

    def __exit__(self, *_):
        # What comes after the outermost block stays on its IPU.
        forward = running()
        if forward is not None and forward.open:
            forward.open.pop()
            if forward.open:
                forward.begin_block(forward.open[-1])


def BeginBlock(layer_to_call: Any = None, user_id: str | int | None = None, ipu_id: int | None = None) -> Any:  # noqa: N802
    """From the first call of the module on, or from here on in forward(), calls belong to the IPU."""
    if isinstance(layer_to_call, (str, int)):
        layer_to_call, user_id = None, layer_to_call
    if layer_to_call is None:
        forward = running()
        if forward is not None:
            forward.begin_block(_ipu_of(forward, user_id, ipu_id))
        return None
    mark = object()

    def begin(module, inputs):  # noqa: ARG001
        forward = running()
        if forward is not None and mark not in forward.blocks:
            forward.blocks.add(mark)
            forward.begin_block(_ipu_of(forward, user_id, ipu_id))
    layer_to_call.register_forward_pre_hook(begin)
    return layer_to_call


def BlockFunction(user_id: str | int | None = None, ipu_id: int | None = None) -> Any:  # noqa: N802
    """A decorator: the calls of the function belong to the IPU."""
    def decorate(function):
        @functools.wraps(function)
        def wrapped(*arguments, **keywords):
            with Block(user_id, ipu_id):
                return function(*arguments, **keywords)
        return wrapped
    return decorate
