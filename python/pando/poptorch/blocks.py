# SPDX-License-Identifier: Apache-2.0
"""Blocks: which parts of a model run on which IPU."""
import functools
import threading

from pando import _core


class _Begun(threading.local):
    # The blocks that have begun in the forward() that is being traced.
    blocks = None


begun = _Begun()


class Block:
    """Calls of modules in it belong to the IPU."""

    def __init__(self, user_id=None, ipu_id=None):
        ipu_id = user_id if ipu_id is None and isinstance(user_id, int) else ipu_id
        self._block = _core.poptorch.Block(0 if ipu_id is None else ipu_id)

    def __enter__(self):
        if begun.blocks is not None:
            self._block.enter()
        return self

    def __exit__(self, *_):
        if begun.blocks is not None:
            self._block.leave()


def BeginBlock(layer_to_call=None, user_id=None, ipu_id=None):  # noqa: N802, PopTorch's name
    """From the first call of the module on, or from here on in forward(), calls belong to the IPU."""
    if isinstance(layer_to_call, (str, int)):
        layer_to_call, user_id = None, layer_to_call
    if ipu_id is None:
        ipu_id = user_id if isinstance(user_id, int) else 0
    if layer_to_call is None:
        if begun.blocks is not None:
            _core.poptorch.begin_block(ipu_id)
        return None
    mark = object()

    def begin(module, inputs):  # noqa: ARG001
        if begun.blocks is not None and mark not in begun.blocks:
            begun.blocks.add(mark)
            _core.poptorch.begin_block(ipu_id)
    layer_to_call.register_forward_pre_hook(begin)
    return layer_to_call


def BlockFunction(user_id=None, ipu_id=None):  # noqa: N802
    """A decorator: the calls of the function belong to the IPU."""
    def decorate(function):
        @functools.wraps(function)
        def wrapped(*arguments, **keywords):
            with Block(user_id, ipu_id):
                return function(*arguments, **keywords)
        return wrapped
    return decorate
