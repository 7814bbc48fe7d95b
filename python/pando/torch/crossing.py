# SPDX-License-Identifier: Apache-2.0
"""Ops for graphs whose backward pass is another program than their forward pass. What Pando does not make, such as the mask
of dropout, cannot cross from one to the other; these ops make it again."""
from __future__ import annotations

import functools
import threading
from typing import Any

import torch

from pando import _core
import pando.torch.symbols as symbols
from pando.torch.aten import Absent, aten
from pando.torch.aten.images import adaptive_max_pool_backward, max_pool_backward
from pando.torch.aten.random import dropped

Tensor = torch.Tensor
_library = torch.library.Library("pando", "DEF")
_mask_lock = threading.Lock()


def _defined(schema: str) -> Any:
    """Defines an op of PyTorch, with what PyTorch runs for it where no program does."""
    def define(function: Any) -> Any:
        name = _library.define(schema)
        _library.impl(name, function, "CompositeExplicitAutograd")
        return function
    return define


# ---- dropout
@_defined("random_key(*, Device device) -> Tensor")
def random_key(*, device: torch.device) -> Tensor:
    """What the masks of a call depend on. PyTorch's generator draws it, so torch.manual_seed repeats masks."""
    return torch.randint(2**62, (2,), device=device)


@_defined("dropout_by_key(Tensor x, Tensor key, float rate, int stream) -> Tensor")
def dropout_by_key(x: Tensor, key: Tensor, rate: float, stream: int) -> Tensor:
    """Dropout with a mask that the key and the number of the dropout decide, in forward and backward passes alike."""
    return x * _mask(x.shape, key, rate, stream)


torch.library.register_fake("pando::dropout_by_key", lambda x, key, rate, stream: torch.empty_like(x), lib=_library)


@aten("dropout_by_key")
def lowered_dropout_by_key(c: Any, x: Any, key: Any, rate: float, stream: int) -> Any:
    return dropped(x, rate, key, stream, 0)


def _mask(shape: torch.Size, key: Tensor, rate: float, stream: int) -> Tensor:
    """What Pando multiplies by, by a program of Pando: the other pass may be one."""
    mask, key = torch.empty(shape, device=key.device), key.contiguous()
    if key.device.type == "cuda":
        torch.cuda.current_stream(key.device).synchronize()
    with _mask_lock:
        _mask_step(shape, rate, stream, key.device.type).run([key.data_ptr()], [mask.data_ptr()], 0)
    return mask


@functools.lru_cache(maxsize=64)
def _mask_step(shape: torch.Size, rate: float, stream: int, device: str) -> Any:
    def body(inputs: list[Any], held: list[Any], counter: Any) -> tuple[list[Any], list[Any]]:
        return [dropped(symbols.full(counter, shape, 1.0, "float32"), rate, inputs[0], stream, 0)], []

    step = _core.steps.Step("mask of dropout", [("int64", (2,))], [], body, "cuda" if device == "cuda" else "", "float32")
    step.hold([])
    return step


# ---- pooling
@_defined("max_pool2d_backward(Tensor g, Tensor x, int[] kernel, int[] stride, int[] padding, int[] dilation, bool ceil_mode) "
          "-> Tensor")
def max_pool2d_backward(g: Tensor, x: Tensor, *geometry: Any) -> Tensor:
    """The gradient of max pooling, from its input alone."""
    places = torch.ops.aten.max_pool2d_with_indices(x, *geometry)[1]
    return torch.ops.aten.max_pool2d_with_indices_backward(g, x, *geometry, places)


@aten("max_pool2d_backward")
def lowered_max_pool2d_backward(c: Any, g: Any, x: Any, *geometry: Any) -> Any:
    return max_pool_backward(c, g, x, *geometry, Absent("list of places of max pooling"))


@_defined("adaptive_max_pool2d_backward(Tensor g, Tensor x, int[] size) -> Tensor")
def adaptive_max_pool2d_backward(g: Tensor, x: Tensor, size: list[int]) -> Tensor:
    """The gradient of adaptive max pooling, from its input alone."""
    return torch.ops.aten.adaptive_max_pool2d_backward(g, x, torch.ops.aten.adaptive_max_pool2d(x, size)[1])


@aten("adaptive_max_pool2d_backward")
def lowered_adaptive_max_pool2d_backward(c: Any, g: Any, x: Any, size: Any) -> Any:
    return adaptive_max_pool_backward(c, g, x, Absent("list of places of max pooling", size=list(size)))
