# SPDX-License-Identifier: Apache-2.0
"""The forward and the backward pass of a micro-batch, as a program that C++ divides over IPUs.

PyTorch's autograd makes the gradients while the module is traced: no_grad, hooks and functions with gradients of their own
mean what they mean there. C++ gives the samples of a micro-batch, and sums the gradients of micro-batches and replicas."""
from __future__ import annotations

import threading
from typing import Any, Callable

import torch

from pando import _core
from pando.core.structure import flatten, pack
from pando.poptorch.forward import Forward, Place
from pando.poptorch.weights import Weights
from pando.torch.lowering import Lowering
from pando.torch.tracing import swapped, traced
from pando.torch.unsupported import Unsupported

_core_poptorch = _core.poptorch
# Traces change PyTorch's own classes while they last.
_tracing = threading.RLock()
FED = object()


class Passes:
    """Called by C++ with the symbols of a micro-batch, it makes the program of its passes. Later `structure` is what
    forward() returned, with FED in place of tensors, and `dtypes` are the types of those."""

    def __init__(self, model: torch.nn.Module, weights: Weights, options: Any, is_training: bool,
                 filled: Callable[[Any], Any], seed: int) -> None:
        self.model, self.weights, self.options, self.is_training = model, weights, options, is_training
        self.filled, self._seed = filled, seed
        self.structure, self.dtypes = None, []

    def __call__(self, tensors, counter, mask, weight):
        parameters, buffers = self.weights.named()
        # Wherever the call is that compiles the model, such as under no_grad().
        with _tracing, torch.inference_mode(False), torch.enable_grad(), _in_mode(self.model, self.is_training):
            passes = _Traced(self, [*parameters.values()], [*buffers.values()], tensors, mask, weight)
            graph = passes.trace()
        self.structure, self.dtypes = passes.structure, passes.dtypes
        lowering = PlacedLowering(graph, counter, self._seed, passes.calls)
        known = [self.weights.core(x) for x in (*parameters.values(), *buffers.values())]
        found = lowering.run([*(x.symbol() for x in known), *tensors, *(x for x in (mask, weight) if x is not None)])
        self._assign(lowering.assigned, list(parameters.items()), list(buffers.items()))
        outputs, found = found[:len(self.dtypes)], found[len(self.dtypes):]
        if not self.is_training:
            return outputs, None, []
        self.weights.changed.update((id(x), x) for i, x in enumerate(parameters.values()) if i in passes.trained)
        return outputs, found[0], [(known[i], gradient) for i, gradient in zip(passes.trained, found[1:])]

    def _assign(self, assigned, parameters, buffers):
        for index, symbol in assigned.items():
            if index < len(parameters):
                raise Unsupported(f"forward() changes the parameter '{parameters[index][0]}'; only buffers may change there")
            index -= len(parameters)
            if index >= len(buffers):
                raise Unsupported(f"forward() changes its argument {index - len(buffers)}; let it change a clone()")
            tensor = buffers[index][1]
            _core_poptorch.assign_statistic(self.weights.core(tensor), symbol)
            self.weights.changed[id(tensor)] = tensor


class _in_mode:  # noqa: N801, used as a function
    """While it lasts, all modules are those of a model that does not train, or as they are."""

    def __init__(self, model, is_training):
        self._training = [] if is_training else [module for module in model.modules() if module.training]

    def __enter__(self):
        for module in self._training:
            module.training = False

    def __exit__(self, *_):
        for module in self._training:
            module.training = True


class _Traced:
    """One trace of a model, and what is known after it."""

    def __init__(self, passes, parameters, buffers, tensors, mask, weight):
        self._passes, self._error, self.trained, self.calls, self.structure, self.dtypes = passes, None, [], [], None, []
        self._own = [*parameters, *buffers]
        self._fed = [torch.empty(list(x.shape), dtype=getattr(torch, x.dtype)) for x in tensors]
        self._mask, self._weight = ([torch.empty(list(x.shape))] if x is not None else [] for x in (mask, weight))
        self._parameters = len(parameters)

    def trace(self):
        try:
            return traced(self._function, self._own, self._fed, self._mask, self._weight)
        except Unsupported:
            if self._error is not None:
                raise self._error from None
            raise

    def _function(self, own, fed, mask, weight):
        try:
            return self._results(own, fed, mask[0] if mask else None, weight[0] if weight else None)
        except _core.Error as error:    # said of the model, not of the trace
            self._error = error
            raise

    def _results(self, own, fed, mask, weight):
        passes = self._passes
        arguments, keywords = passes.filled(fed)
        forward = Forward(passes.model, passes.options._values["ipus"], mask, fed)
        try:
            with swapped(passes.model, self._own, own):
                with forward:
                    result = passes.model(*arguments, **keywords)
                outputs = self._outputs(result)
                return outputs + (self._gradients(forward, own, weight) if passes.is_training else [])
        finally:
            self.calls = forward.calls
            forward.end()

    def _outputs(self, result):
        leaves = flatten(result)
        self.structure = pack(result, [FED if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves])
        tensors = [leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self.dtypes = [tensor.dtype for tensor in tensors]
        return tensors

    def _gradients(self, forward, own, weight):
        """The loss and the gradients of the parameters that it depends on."""
        loss = forward.loss()
        parameters = [(i, x) for i, x in enumerate(own[:self._parameters]) if x.requires_grad]
        if not loss.requires_grad:
            raise _core.Error("trainingModel: the loss depends on no parameter that needs a gradient")
        total = loss.reshape([])
        forward.begin_backward(total)
        found = torch.autograd.grad(total, [x for _, x in parameters], weight, allow_unused=True)
        self.trained = [i for (i, _), gradient in zip(parameters, found) if gradient is not None]
        return [total.detach(), *(gradient for gradient in found if gradient is not None)]


class PlacedLowering(Lowering):
    """Tells C++ the place of each node, and of the calls of modules."""

    def __init__(self, module, counter, seed, calls):
        super().__init__(module, counter, seed)
        self._calls, self._is_backward = calls, False
        # Of the nodes, and of the calls that have begun; what comes before the first call is in stage 0.
        self._stages, self._stages_of_calls = {}, [0]

    def run(self, inputs):
        outputs = super().run(inputs)
        self._begin_calls(len(self._calls))
        return outputs

    def call(self, node):
        self._begin(node)
        return super().call(node)

    def _begin(self, node):
        place = node.meta.get("place") or Place(is_backward=self._is_backward)
        if not place.is_backward:
            self._begin_calls(place.call)
            self._begin_block(place.ipu)
        elif not self._is_backward:
            self._is_backward = True
            self._begin_calls(len(self._calls))
            _core_poptorch.end_forward()
        stage = self._stages[node] = self._stage(node, place)
        name = "/".join(part for part in (place.module, "gradient" if place.is_backward else "") if part)
        _core_poptorch.begin_node(name, stage)

    def _begin_calls(self, count):
        """Begins the calls up to this one, those that make no node, too."""
        for call in self._calls[len(self._stages_of_calls) - 1:count]:
            _core_poptorch.begin_node("", self._stages_of_calls[-1])
            self._begin_block(call.ipu)
            self._stages_of_calls.append(_core_poptorch.begin_call(call.title))

    def _begin_block(self, ipu):
        if ipu is not None:
            _core_poptorch.begin_block(ipu)

    def _stage(self, node, place):
        stage = place.ipu if place.ipu is not None else self._stages_of_calls[place.call]
        if not place.is_backward:
            return stage
        # The sum of two gradients is made where the later of them is, so that only one passes to the stages before.
        makers = [self._stages.get(x, stage) for x in node.all_input_nodes]
        return max(stage, min(makers)) if str(node.target) == "aten.add.Tensor" and len(makers) == 2 else stage
