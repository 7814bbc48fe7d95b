# SPDX-License-Identifier: Apache-2.0
"""trainingModel and inferenceModel: a module compiled for virtual IPUs.

The arguments of a call are bound to those of forward(). Tensors are fed; None and other values are part of the program,
which is compiled when the model is first called. The structure of the results is that of what forward() returned."""
from __future__ import annotations

import inspect
from typing import Any, Callable, Iterable, Mapping

import numpy as np
import torch

from pando import _core
from pando.core.hints import Path
from pando.core.structure import flatten, pack
from pando.poptorch.options import Options
from pando.poptorch.passes import FED, Passes
from pando.poptorch.updates import Updates
from pando.poptorch.weights import Weights, array_of


class _Arguments:
    """The arguments of a call: the arrays that are fed, and everything else, which is part of the program."""

    def __init__(self, signature: Any, arguments: Any, keywords: Any) -> None:
        bound = signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        self._structure = (list(bound.args), dict(bound.kwargs))
        leaves = flatten(self._structure)
        self.arrays = [_array(leaf) for leaf in leaves if isinstance(leaf, (torch.Tensor, np.ndarray))]
        self._constants = [FED if isinstance(leaf, (torch.Tensor, np.ndarray)) else leaf for leaf in leaves]

    def key(self) -> str:
        """The same for calls that run the same program."""
        return repr(pack(self._structure, [str(type(c)) + repr(c) for c in self._constants]))

    def filling(self) -> Callable[[Iterable[Any]], Any]:
        """A function of tensors that returns the positional and the named arguments with these. It keeps no array."""
        constants = self._constants
        structure = pack(self._structure, [None if c is FED else c for c in constants])

        def filled(tensors):
            tensors = iter(tensors)
            return pack(structure, [next(tensors) if c is FED else c for c in constants])
        return filled


def _array(leaf):
    return array_of(leaf) if isinstance(leaf, torch.Tensor) else leaf


def _returned(passes, arrays):
    """The outputs of a call in the structure of what forward() returned."""
    tensors = []
    for array, dtype in zip(arrays, passes.dtypes):
        tensor = torch.from_numpy(array)
        tensors.append(tensor if tensor.dtype == dtype else tensor.to(dtype))
    if passes.structure is FED:
        return tensors[0]
    made = iter(tensors)
    return pack(passes.structure, [next(made) if leaf is FED else leaf for leaf in flatten(passes.structure)])


class PoplarExecutor:
    """A module that runs on virtual IPUs. Call it with what forward() takes."""

    def __init__(self, model: Any, options: Options | None = None, optimizer: Any = None,
                 training: bool = False) -> None:
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"{'trainingModel' if training else 'inferenceModel'}: the model is a "
                            f"{type(model).__name__} but must be a torch.nn.Module")
        self._model, self._training = model, training
        self._options = options if options is not None else Options()
        self._signature = inspect.signature(model.forward)
        self._weights = Weights(model)
        self._updates = Updates(optimizer, self._weights) if optimizer is not None else None
        # By what calls have in common: the program, and its passes.
        self._executors, self._last = {}, None
        # For calls with this many tensors and nothing else.
        self._plain = {}

    @property
    def options(self) -> Options:
        """The options that the model was made with."""
        return self._options

    @property
    def model(self) -> torch.nn.Module:
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
            found = self._executors[key] = self._make(arguments)
        self._last = found[0]
        return found

    def _make(self, arguments):
        if self._training:
            self._model.train()
        is_training = self._updates is not None
        seed = self._options._values["random_seed"]
        seed = int(torch.randint(2**31 - 1, ())) if seed is None and is_training else seed or 0
        passes = Passes(self._model, self._weights, self._options, is_training, arguments.filling(), seed)
        optimizer = self._updates.core() if is_training else None
        # C++ keeps these functions, and Python cannot collect a cycle through C++: neither knows this object.
        return _core.poptorch.Executor(type(self._model).__name__, self._weights.parts, passes, len(arguments.arrays),
                                       self._options._core, optimizer), passes

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_plain = not kwargs and all(isinstance(argument, torch.Tensor) for argument in args)
        found = self._plain.get(len(args)) if is_plain else None
        if found is not None:
            arrays = [array_of(argument) for argument in args]
        else:
            arguments = _Arguments(self._signature, args, kwargs)
            found, arrays = self._executor(arguments), arguments.arrays
        executor, passes = found
        self._follow_weights()
        if self._updates is not None:
            self._updates.set_rates()
        outputs = executor.run(arrays)
        self._weights.tell_changes()
        if is_plain:
            self._plain[len(args)] = found
        return _returned(passes, outputs)

    def _follow_weights(self):
        if self._weights.have_moved():
            for executor, _ in self._executors.values():
                executor.rebuild()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles the model for these arguments and runs nothing."""
        arguments = _Arguments(self._signature, args, kwargs)
        self._follow_weights()
        self._executor(arguments)[0].compile(arguments.arrays)

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
        self._compiled("detachFromDevice")
        for executor, _ in self._executors.values():
            executor.detach()

    def copyWeightsToHost(self) -> None:  # noqa: N802
        """Checks that a device is attached: the module has the weights after each call, so there is nothing to copy."""
        self._compiled("copyWeightsToHost").check_attached()

    def copyWeightsToDevice(self) -> None:  # noqa: N802
        """Checks that a device is attached: a call uses the weights that the module has, so there is nothing to copy."""
        self._compiled("copyWeightsToDevice").check_attached()

    def setOptimizer(self, optimizer: Any) -> None:  # noqa: N802
        """Another optimizer, or new options of the same one."""
        if not self._training:
            raise _core.Error("setOptimizer: an inferenceModel has no optimizer")
        updates = Updates(optimizer, self._weights)
        before, self._updates = self._updates, updates
        if self._last is None:
            return
        if updates.key == before.key:
            updates.keep(before)
        else:
            self._follow_weights()
            self._last.set_optimizer(updates.core())

    def save(self, path: Path, export_model: bool = True, save_rng_state: bool = True) -> None:  # noqa: ARG002
        """The weights and the states of the optimizer, as a NumPy .npz file."""
        executor = self._compiled("save")
        self._follow_weights()
        executor.save(str(path))

    def load(self, path: Path) -> None:
        """Reads the weights and the states of the optimizer that ``save`` wrote."""
        executor = self._compiled("load")
        self._follow_weights()
        executor.load(str(path))
        self._weights.tell_changes()

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
        for executor, _ in self._executors.values():
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


def trainingModel(model: Any, options: Options | None = None, optimizer: Any = None) -> PoplarExecutor:  # noqa: N802
    """The module compiled with its gradients and the optimizer; a call trains with a batch of ``options``'s size.

    The module returns its outputs and the loss from forward(). Without an optimizer it is SGD with lr=0.01.

    >>> import torch
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
    if optimizer is None and isinstance(model, torch.nn.Module):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return PoplarExecutor(model, options, optimizer, True)


def inferenceModel(model: Any, options: Options | None = None) -> PoplarExecutor:  # noqa: N802
    """The module compiled as it is, without training; it shares the weights of the module."""
    return PoplarExecutor(model, options)
