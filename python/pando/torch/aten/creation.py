# SPDX-License-Identifier: Apache-2.0
"""New tensors. Their values are known when the program is made, or are those of their arguments."""
import numpy as np
import torch

from pando.torch.aten.table import aten
from pando.torch.layout import broadcast
from pando.torch.symbols import cast, is_symbol
from pando.torch.unsupported import refuse

# Where a tensor lies has no meaning in a program; of layouts it has one.
_PLACE = {"device", "pin_memory", "memory_format", "layout", "requires_grad"}


def check(options):
    unknown = {name for name, value in options.items() if name not in _PLACE and value is not None}
    if unknown or options.get("layout") not in (None, torch.strided):
        refuse(f"the options {sorted(unknown) or options['layout']}")


def filled(c, value, options):
    check(options)
    if is_symbol(value):
        return broadcast(cast(value, c.dtype), c.shape)
    return c.full(c.shape, bool(value) if c.dtype == "bool" else value, c.dtype)


@aten("full")
def full(c, size, value, dtype=None, **options):
    return filled(c, value, options)


@aten("full_like", "fill")
def full_like(c, x, value, dtype=None, **options):
    return filled(c, value, options)


@aten("new_full")
def new_full(c, x, size, value, dtype=None, **options):
    return filled(c, value, options)


@aten("scalar_tensor")
def scalar_tensor(c, value, dtype=None, **options):
    return filled(c, value, options)


def constant_creation(value, *names):
    """Ops that fill a tensor with one number, whatever says its shape."""
    @aten(*names)
    def function(c, *arguments, dtype=None, **options):
        return filled(c, value, options)


# What is in new memory is not promised; here it is zeros.
constant_creation(0, "zeros", "zeros_like", "new_zeros", "zero", "empty", "empty_like", "new_empty", "empty_strided",
                  "new_empty_strided", "_efficientzerotensor", "empty_permuted")
constant_creation(1, "ones", "ones_like", "new_ones")


def made(c, tensor):
    """A tensor that PyTorch itself makes while the program is made."""
    return c.constant(tensor.numpy(), c.dtype)


@aten("arange")
def arange(c, *arguments, dtype=None, **options):
    check(options)
    return made(c, torch.arange(*arguments, dtype=c.result.dtype))


@aten("linspace")
def linspace(c, start, end, steps=100, dtype=None, **options):
    check(options)
    return made(c, torch.linspace(start, end, steps, dtype=c.result.dtype))


@aten("logspace")
def logspace(c, start, end, steps=100, base=10.0, dtype=None, **options):
    check(options)
    return made(c, torch.logspace(start, end, steps, base, dtype=c.result.dtype))


@aten("eye")
def eye(c, *sizes, dtype=None, **options):
    check(options)
    return c.constant(np.eye(*sizes), c.dtype)


@aten("tril_indices")
def tril_indices(c, *arguments, dtype=None, **options):
    check(options)
    return made(c, torch.tril_indices(*arguments, dtype=c.result.dtype))


@aten("triu_indices")
def triu_indices(c, *arguments, dtype=None, **options):
    check(options)
    return made(c, torch.triu_indices(*arguments, dtype=c.result.dtype))
