# SPDX-License-Identifier: Apache-2.0
"""How the tests run what was traced: a function of PyTorch's tensors as a program on one tile."""
import numpy as np
import torch
from torch.utils import _pytree as pytree

from pando import _core
from pando.torch.lowering import lower
from pando.torch.tracing import swapped, traced
from pando.torch.unsupported import Unsupported


def array_of(tensor):
    if tensor.dtype == torch.bfloat16:
        raise Unsupported("NumPy has no bfloat16")
    return tensor.detach().contiguous().numpy()


def tensors_in(examples):
    return [x for x in pytree.tree_flatten(examples)[0] if isinstance(x, torch.Tensor)]


def run(function, *examples, updates=0):
    """What Pando makes of a function that returns a list of tensors and None: these, and what its inputs become, by number."""
    module = traced(function, *examples)
    arrays = [array_of(x) for x in tensors_in(examples)]
    made, numbers = [], []

    def body(symbols):
        outputs, assigned = lower(module, symbols[:-1], symbols[-1], 7)
        made[:] = [x is not None for x in outputs]
        numbers[:] = list(assigned)
        results = [x for x in outputs if x is not None] + list(assigned.values())
        if any(x.dtype == "bfloat16" for x in results):
            raise Unsupported("NumPy has no bfloat16")
        return results
    program = _core.TensorProgram("traced", body)
    found = iter([torch.from_numpy(np.array(x)) for x in program(arrays + [np.array([updates, 0], np.int32)])])
    outputs = [next(found) if there else None for there in made]
    return outputs, {number: next(found) for number in numbers}


def joint(model, loss):
    """Loss and gradients as a function of parameters, buffers and inputs, for `run`; and its first two arguments."""
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    old = [*parameters.values(), *buffers.values()]
    trained = [name for name, p in parameters.items() if p.requires_grad]

    def function(parameters, buffers, *inputs):
        with swapped(model, old, [*parameters.values(), *buffers.values()]):
            made = loss(model(*inputs))
            found = torch.autograd.grad(made, [parameters[name] for name in trained], allow_unused=True)
        return [made.detach(), *found]
    return function, (parameters, buffers)
