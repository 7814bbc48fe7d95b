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
from pando.torch.aten import TABLE, Absent, aten
from pando.torch.aten.random import dropped

Tensor = torch.Tensor
_library = torch.library.Library("pando", "DEF")
_mask_lock = threading.Lock()
_PLACES = "list of places of max pooling"


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


# ---- max pooling
def _define_pooling(axes: int) -> None:
    """Gradients of max pooling from its input alone, without the list of places where it found the largest."""
    plain, adaptive = f"max_pool{axes}d_with_indices", f"adaptive_max_pool{axes}d"

    @_defined(f"max_pool{axes}d_gradient(Tensor g, Tensor x, int[] kernel, int[] stride, int[] padding, int[] dilation, "
              "bool ceil_mode) -> Tensor")
    def gradient(g: Tensor, x: Tensor, *geometry: Any) -> Tensor:
        places = getattr(torch.ops.aten, plain)(x, *geometry)[1]
        return getattr(torch.ops.aten, f"{plain}_backward")(g, x, *geometry, places)

    @aten(f"max_pool{axes}d_gradient")
    def lowered(c: Any, g: Any, x: Any, *geometry: Any) -> Any:
        return TABLE[f"{plain}_backward"](c, g, x, *geometry, Absent(_PLACES))

    @_defined(f"{adaptive}_gradient(Tensor g, Tensor x, int[] size) -> Tensor")
    def adaptive_gradient(g: Tensor, x: Tensor, size: list[int]) -> Tensor:
        places = getattr(torch.ops.aten, adaptive)(x, size)[1]
        return getattr(torch.ops.aten, f"{adaptive}_backward")(g, x, places)

    @aten(f"{adaptive}_gradient")
    def lowered_adaptive(c: Any, g: Any, x: Any, size: Any) -> Any:
        return TABLE[f"{adaptive}_backward"](c, g, x, Absent(_PLACES, size=list(size)))


for _axes in (2, 3):
    _define_pooling(_axes)
