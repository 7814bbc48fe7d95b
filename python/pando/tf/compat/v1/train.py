# SPDX-License-Identifier: Apache-2.0
"""tf.train of TensorFlow 1: optimizers that add their update to the computation that is compiled, and Saver."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.hints import Path
from pando.core.keywords import accepts as _accepts
from pando.core.messages import notice_once
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.structure import flatten
from pando.tf.compat.v1.graph import global_variables
from pando.tensors.tensor import is_symbolic, wrap


class Optimizer:
    """Adds its update to the computation that is being compiled."""

    def __init__(self, **arguments: Any) -> None:
        self._native = _core.make_train_optimizer(type(self).__name__, arguments)

    @_accepts("aggregation_method", "colocate_gradients_with_ops", "gate_gradients", grad_loss=None)
    def compute_gradients(self, loss: Any, var_list: Any = None) -> Any:
        """Pairs of gradients and variables."""
        if not is_symbolic(loss):
            raise TypeError(f"{type(self).__name__}: the loss must be a tensor of the graph, not {loss!r}")
        variables = [variable._variable for variable in var_list or []]
        return [(wrap(gradient), parameter)
                for gradient, parameter in self._native.compute_gradients(loss._value, variables)]

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """The update by these gradients; ``global_step`` counts them."""
        pairs = []
        for gradient, variable in grads_and_vars:
            parameter = variable._variable.parameter if hasattr(variable, "_variable") else variable
            pairs.append((gradient._value, parameter))
        if global_step is not None:
            global_step.assign_add(1)
        return self._native.apply_gradients(pairs)

    @_accepts("aggregation_method", "colocate_gradients_with_ops", "gate_gradients", grad_loss=None)
    def minimize(self, loss: Any, global_step: Any = None, var_list: Any = None, *, name: str | None = None) -> Any:
        """The update that makes the loss smaller."""
        return self.apply_gradients(self.compute_gradients(loss, var_list), global_step, name)


class GradientDescentOptimizer(Optimizer):
    """Gradient descent."""

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str | None = "GradientDescent") -> None:
        super().__init__(learning_rate=_rate(learning_rate))


class MomentumOptimizer(Optimizer):
    """Gradient descent with momentum."""

    def __init__(self, learning_rate: Any, momentum: float, use_locking: bool = False, name: str | None = "Momentum",
                 use_nesterov: bool = False) -> None:
        super().__init__(learning_rate=_rate(learning_rate), momentum=float(momentum), use_nesterov=bool(use_nesterov))


class AdamOptimizer(Optimizer):
    """Steps scaled by running means of the gradient and of its square."""

    def __init__(self, learning_rate: Any = 0.001, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                 use_locking: bool = False, name: str | None = "Adam") -> None:
        super().__init__(learning_rate=_rate(learning_rate), beta1=float(beta1), beta2=float(beta2),
                         epsilon=float(epsilon))


class RMSPropOptimizer(Optimizer):
    """Divides the gradient by a running root mean square."""

    def __init__(self, learning_rate: Any, decay: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-10,
                 use_locking: bool = False, centered: bool = False, name: str | None = "RMSProp") -> None:
        super().__init__(learning_rate=_rate(learning_rate), decay=float(decay), momentum=float(momentum),
                         epsilon=float(epsilon), centered=bool(centered))


def _rate(value):
    if hasattr(value, "_value"):
        raise NotImplementedError("the learning rate of a tf.train optimizer must be a number in Pando")
    return float(value)


class Saver:
    """Writes all that sessions keep between runs to one file, and reads it back."""

    @_accepts("allow_empty", "builder", "defer_build", "filename", "keep_checkpoint_every_n_hours", "name",
              "pad_step_number", "reshape", "restore_sequentially", "save_relative_paths", "saver_def", "sharded",
              "write_version")
    def __init__(self, var_list: Any = None, *, max_to_keep: int = 5) -> None:
        if var_list is not None and {variable.name for variable in flatten(var_list)} != {
                variable.name for variable in global_variables()}:
            raise NotImplementedError("Saver: var_list without some of the variables is not in Pando, which saves and "
                                      "restores all")
        if max_to_keep != 5:
            notice_once("tf", "Saver: max_to_keep has no effect in Pando, which deletes no files")
        self._native = _core.Saver()

    @_accepts("latest_filename", "meta_graph_suffix", "save_debug_info", "strip_default_attrs", "write_meta_graph",
              "write_state")
    def save(self, sess: Any, save_path: Path, global_step: Any = None) -> Any:
        """Writes the file and returns its path."""
        path = str(save_path) if global_step is None else f"{save_path}-{int(global_step)}"
        self._native.save(sess._native, path)
        return path

    def restore(self, sess: Any, save_path: Path) -> Any:
        """Reads the file; everything is initialised for the session afterwards."""
        self._native.restore(sess._native, str(save_path))


def get_or_create_global_step(graph: Any = None) -> Any:
    """The number of updates; Pando's optimizers count by themselves."""
    return None


get_global_step = get_or_create_global_step

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
