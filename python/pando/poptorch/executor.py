# SPDX-License-Identifier: Apache-2.0
"""trainingModel and inferenceModel: a module compiled for virtual IPUs.

The arguments of a call are bound to those of forward(). Tensors are fed; None and other values are part of the program,
which is compiled when the model is first called. The structure of the results is that of what forward() returned."""
from __future__ import annotations

import inspect
import weakref
from typing import Any, Mapping

import numpy as np

from pando import _core
from pando.core import dispatch
from pando.core.hints import Path
from pando.core.structure import flatten, pack
from pando.core.tensor import Tensor as CoreTensor
from pando.poptorch.blocks import begun
from pando.poptorch.options import Options
from pando.torch import lazy
from pando.torch.nn.module import Module
from pando.torch.tensor import Tensor


def parts_of(module: Any) -> Any:
    """The leaves of the tree as it is now, and its own parameters and buffers, by their paths."""
    modules, parameters, buffers, known = [], [], [], set()
    for path, part in module.named_modules():
        if part._leaf is not None:
            part._leaf.train(part.training)
            modules.append((path or "module", part._leaf))
            known.update(id(value) for value in (*part._parameters.values(), *part._buffers.values()))
    for path, part in module.named_modules():
        for kind, into in (("_parameters", parameters), ("_buffers", buffers)):
            for name, value in part.__dict__[kind].items():
                if value is not None and id(value) not in known:
                    known.add(id(value))
                    into.append((f"{path}.{name}" if path else name, value._value.core))
    return _core.poptorch.ModuleParts(modules, parameters, buffers)


class _Arguments:
    """The arguments of a call: the arrays that are fed, and everything else, which is part of the program."""

    def __init__(self, signature: Any, arguments: Any, keywords: Any) -> None:
        bound = signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        self.structure = (list(bound.args), dict(bound.kwargs))
        leaves = flatten(self.structure)
        self.arrays, self.constants = [], []
        for leaf in leaves:
            is_fed = isinstance(leaf, (CoreTensor, np.ndarray))
            self.constants.append(_FED if is_fed else leaf)
            if is_fed:
                self.arrays.append(np.asarray(leaf._array("argument") if isinstance(leaf, CoreTensor) else leaf))

    def key(self) -> Any:
        return repr(pack(self.structure, [str(type(c)) + repr(c) for c in self.constants]))

    def filled(self, symbols: Any) -> Any:
        symbols = iter(symbols)
        return pack(self.structure, [Tensor(next(symbols)) if c is _FED else c for c in self.constants])


_FED = object()


def _returned(structure, outputs):
    """The outputs in the structure of what forward() returned."""
    if structure is _FED:
        return Tensor(outputs[0])
    if type(structure) is tuple and all(leaf is _FED for leaf in structure):
        return tuple(map(Tensor, outputs))
    outputs = iter(outputs)
    return pack(structure, [Tensor(next(outputs)) if leaf is _FED else leaf for leaf in flatten(structure)])


class PoplarExecutor:
    """A module that runs on virtual IPUs. Call it with what forward() takes."""

    def __init__(self, model: Any, options: Options | None = None, optimizer: Any = None,
                 training: bool = False) -> None:
        if not isinstance(model, Module):
            raise TypeError(f"{'trainingModel' if training else 'inferenceModel'}: the model is a "
                            f"{type(model).__name__} but must be a torch.nn.Module")
        self._model, self._optimizer, self._training = model, optimizer, training
        self._options = options if options is not None else Options()
        self._signature = inspect.signature(model.forward)
        self._executors, self._results, self._last = {}, {}, None
        # What calls with this many tensors and nothing else run, and the structure of what they return.
        self._plain = {}

    @property
    def options(self) -> Options:
        """The options that the model was made with."""
        return self._options

    @property
    def model(self) -> Module:
        """The module, whose parameters are those of the compiled model."""
        return self._model

    def __getattr__(self, name):
        # What a PoplarExecutor lacks is the model's.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._model, name)

    def _executor(self, arguments):
        key = arguments.key()
        found = self._executors.get(key)
        if found is None:
            if self._training and self._executors:
                raise _core.Error("trainingModel: the model was compiled for arguments of another structure; make "
                                  "another model for these")
            found = self._executors[key] = self._make(arguments, key)
        self._last = found
        return found

    def _make(self, arguments, key):
        # C++ keeps these functions, and Python cannot collect a cycle through C++.
        this = weakref.ref(self)
        structure = _Structure(arguments)

        def forward(symbols):
            return this()._forward(structure, key, symbols)

        def parts():
            return parts_of(this()._model)
        optimizer = self._optimizer.core().core if self._optimizer is not None else None
        if self._training:
            self._model.train()
        return _core.poptorch.Executor(type(self._model).__name__, parts, forward, len(arguments.arrays),
                                       self._options._core, optimizer)

    def _forward(self, structure, key, symbols):
        before = dispatch.mode.tracing, begun.blocks, begun.ipus, begun.open
        dispatch.mode.tracing = True
        begun.blocks, begun.ipus, begun.open = set(), self._options._values["ipus"], []
        try:
            arguments, keywords = structure.filled(symbols)
            result = self._model(*arguments, **keywords)
        finally:
            dispatch.mode.tracing, begun.blocks, begun.ipus, begun.open = before
        leaves = flatten(result)
        tensors = [leaf for leaf in leaves if isinstance(leaf, CoreTensor)]
        self._results[key] = pack(result, [_FED if isinstance(leaf, CoreTensor) else leaf for leaf in leaves])
        return dispatch.symbols_of([tensor._value for tensor in tensors])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        lazy.flush()
        is_plain = not kwargs and all(type(argument) is Tensor for argument in args)
        found = self._plain.get(len(args)) if is_plain else None
        if found is not None:
            executor, structure = found
            arrays = [argument._array("argument") for argument in args]
        else:
            arguments = _Arguments(self._signature, args, kwargs)
            executor, arrays = self._executor(arguments), arguments.arrays
        if self._optimizer is not None:
            self._optimizer.set_rates()
        outputs = executor.run(arrays)
        if found is None:
            structure = self._results[arguments.key()]
            if is_plain:
                self._plain[len(args)] = executor, structure
        return _returned(structure, outputs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles the model for these arguments and runs nothing."""
        arguments = _Arguments(self._signature, args, kwargs)
        self._executor(arguments).compile(arguments.arrays)

    def _compiled(self, what):
        if self._last is None:
            raise _core.Error(f"{what}: compile the model or call it first")
        return self._last

    def isCompiled(self) -> bool:  # noqa: N802
        """Whether a program was compiled, by ``compile`` or the first call."""
        return self._last is not None and self._last.is_compiled()

    def isAttachedToDevice(self) -> bool:  # noqa: N802
        """Whether the model has its virtual IPUs."""
        return self._last is not None and self._last.is_attached()

    def attachToDevice(self) -> None:  # noqa: N802
        """Takes the virtual IPUs back after ``detachFromDevice``."""
        self._compiled("attachToDevice").attach()

    def detachFromDevice(self) -> None:  # noqa: N802
        """Gives the virtual IPUs to other models; the program is kept."""
        for executor in self._executors.values() or [self._compiled("detachFromDevice")]:
            executor.detach()

    def copyWeightsToHost(self) -> None:  # noqa: N802
        """Checks that a device is attached: weights are shared, so there is nothing to copy."""
        self._compiled("copyWeightsToHost").check_attached()

    def copyWeightsToDevice(self) -> None:  # noqa: N802
        """Checks that a device is attached: weights are shared, so there is nothing to copy."""
        self._compiled("copyWeightsToDevice").check_attached()

    def setOptimizer(self, optimizer: Any) -> None:  # noqa: N802
        """Another optimizer, or new options of the same one."""
        if not self._training:
            raise _core.Error("setOptimizer: an inferenceModel has no optimizer")
        same = optimizer is self._optimizer and self._last is not None
        before = self._optimizer.core().key if same else None
        self._optimizer = optimizer
        compiled = optimizer.core()
        if self._last is not None and not (same and before == compiled.key):
            self._last.set_optimizer(compiled.core)

    def save(self, path: Path, export_model: bool = True, save_rng_state: bool = True) -> None:  # noqa: ARG002
        """The weights and the states of the optimizer, as a NumPy .npz file."""
        self._compiled("save").save(str(path))

    def load(self, path: Path) -> None:
        """Reads the weights and the states of the optimizer that ``save`` wrote."""
        self._compiled("load").load(str(path))

    def explain(self) -> str:
        """What a call does on which IPUs."""
        return self._compiled("explain").explain()

    def getPerfCounters(self) -> Any:  # noqa: N802
        """The times at which the last call began and ended."""
        return self._compiled("getPerfCounters").counters()

    def cycleCount(self) -> Any:  # noqa: N802
        """The number of cycles of the processor that the last call took."""
        return self._compiled("cycleCount").cycles()

    def destroy(self) -> None:
        """Drops the compiled program; the module keeps its weights."""
        for executor in self._executors.values():
            executor.destroy()

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The parameters and buffers of the module, by name."""
        return self._model.state_dict(*args, **kwargs)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Any:
        """Sets the parameters and buffers of the module."""
        return self._model.load_state_dict(state_dict, strict)

    def train(self, mode: bool = True) -> Any:
        """Puts the module into training mode."""
        self._model.train(mode)
        return self

    def eval(self) -> Any:
        """Puts the module into evaluation mode."""
        return self.train(False)

    def __repr__(self):
        return repr(self._model)


class _Structure:
    """The arguments without their arrays."""

    def __init__(self, arguments: Any) -> None:
        self.structure, self.constants = arguments.structure, arguments.constants
        self.structure = pack(self.structure, [None if c is _FED else c for c in self.constants])

    filled = _Arguments.filled


def trainingModel(model: Any, options: Options | None = None, optimizer: Any = None) -> PoplarExecutor:  # noqa: N802
    """The module compiled with its gradients and the optimizer; a call trains with a batch of ``options``'s size.

    The module returns its outputs and the loss from forward(). Without an optimizer it is SGD with lr=0.01.

    >>> import pando.torch as torch
    >>> from pando import poptorch
    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc, self.loss = torch.nn.Linear(3, 2), torch.nn.CrossEntropyLoss()
    ...     def forward(self, x, labels=None):
    ...         out = self.fc(x)
    ...         return out if labels is None else (out, self.loss(out, labels))
    >>> net = Net()
    >>> model = poptorch.trainingModel(net, optimizer=torch.optim.SGD(net.parameters(), lr=0.1))
    >>> out, loss = model(torch.ones(4, 3), torch.tensor([0, 1, 0, 1]))
    >>> out.shape
    torch.Size([4, 2])
    """
    if optimizer is None:
        from pando.torch.optim import SGD
        optimizer = SGD(model.parameters(), lr=0.01)
    return PoplarExecutor(model, options, optimizer, True)


def inferenceModel(model: Any, options: Options | None = None) -> PoplarExecutor:  # noqa: N802
    """The module compiled as it is; it shares the weights of the module."""
    return PoplarExecutor(model, options)
