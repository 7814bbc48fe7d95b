# SPDX-License-Identifier: Apache-2.0
"""The default graph: placeholders, constants, variables and their names. C++ keeps it; Python gives names a prefix."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando import _core
from pando.core import dtypes
from pando.core.hints import DTypeLike
from pando.core.keywords import accepts
from pando.core.structure import flatten
from pando.tensors.tensor import Tensor, convert, wrap
from pando.tensors.tracing import symbol_of

AUTO_REUSE = "auto_reuse"
_scopes = []
_placeholders = {}


# What variables of upstream are asked for, and what needs no answer here.
_OF_VARIABLES = ("aggregation", "caching_device", "collections", "synchronization", "use_resource", "validate_shape")


class GraphKeys:
    """Names of collections."""
    GLOBAL_VARIABLES, TRAINABLE_VARIABLES, LOCAL_VARIABLES = "variables", "trainable_variables", "local_variables"
    REGULARIZATION_LOSSES, UPDATE_OPS, LOSSES = "regularization_losses", "update_ops", "losses"


class Variable(Tensor):
    """A value that is kept between runs. It must be initialised before use."""

    __slots__ = ("_variable",)
    _result_class = Tensor
    _all = []

    @accepts(*_OF_VARIABLES, "expected_shape", "import_scope", "shape", "variable_def", constraint=None)
    def __init__(self, initial_value: Any, trainable: bool = True, name: str | None = None,
                 dtype: DTypeLike = None) -> None:
        if callable(initial_value):
            initial_value = initial_value()
        array = np.asarray(convert(initial_value, dtype)._value)
        self._variable = _core.Variable(array, _prefixed(name or "Variable"), bool(trainable))
        Variable._all.append(self)

    @property
    def _value(self):
        return self._variable.symbol()

    @property
    def name(self) -> Any:
        """The name, with those of its scopes and ":0"."""
        return self._variable.name + ":0"

    @property
    def trainable(self) -> Any:
        """Whether optimizers change it."""
        return self._variable.trainable

    @property
    def op(self) -> Any:
        """The operation that has its name."""
        return self

    initializer = property(lambda self: _core.global_variables_initializer(),
                           doc="The operation that gives all variables their first values.")

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """The variable takes the value at the end of the step."""
        return self._variable.assign(symbol_of(value))

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """An operation that adds to the value."""
        return self.assign(self + delta)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """An operation that subtracts from the value."""
        return self.assign(self - delta)

    def read_value(self) -> Any:
        """The value, as a tensor of the graph."""
        return wrap(self._value)

    value = read_value
    __hash__ = Tensor.__hash__

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={tuple(self._variable.shape)} dtype={self._variable.dtype}>"


def _made(native):
    variable = Variable.__new__(Variable)
    variable._variable = native
    for known in global_variables():
        if known._variable.name == native.name:
            return known
    Variable._all.append(variable)
    return variable


def _prefixed(name):
    return "/".join([scope.name for scope in _scopes if scope.name] + [name])


def _initializer_of_scopes():
    """What the innermost scope that has one gives to variables."""
    return next((scope.initializer for scope in reversed(_scopes) if scope.initializer is not None), None)


class variable_scope:
    """Variables made within it have names that begin with its name."""

    @accepts("auxiliary_name_scope", "caching_device", "partitioner", "use_resource", regularizer=None,
             custom_getter=None, constraint=None)
    def __init__(self, name_or_scope: Any, default_name: Any = None, values: Any = None, initializer: Any = None,
                 reuse: Any = None, dtype: DTypeLike = None) -> None:
        if dtype is not None and dtypes.of(dtype).name != "float32":
            raise NotImplementedError(f"variable_scope: dtype={dtypes.of(dtype).name!r} is not in Pando; give it to "
                                      "get_variable()")
        self.name = getattr(name_or_scope, "name", name_or_scope) or default_name
        self.initializer = initializer

    def __enter__(self):
        _scopes.append(self)
        return self

    def __exit__(self, *arguments):
        _scopes.pop()

    def reuse_variables(self) -> Any:
        """Variables of the same name are always the same."""


@accepts(*_OF_VARIABLES, "partitioner", regularizer=None, custom_getter=None, constraint=None)
def get_variable(name: str | None, shape: Any = None, dtype: DTypeLike = "float32", initializer: Any = None,
                 *, trainable: bool = True) -> Any:
    """The variable of that name, made if there is none."""
    from pando.keras import initializers
    initializer = _initializer_of_scopes() if initializer is None else initializer
    if initializer is not None and not callable(initializer) and not isinstance(initializer, str):
        array = convert(initializer)._value
    else:
        made = initializers.get(initializer or "glorot_uniform")
        array = np.asarray(made(tuple(shape if shape is not None else ()), dtype), dtype=dtypes.of(dtype).numpy)
    return _made(_core.get_variable(_prefixed(name), np.asarray(array), bool(trainable)))


def placeholder(dtype: DTypeLike, shape: Any = None, name: str | None = None) -> Any:
    """A value that must be fed to every run."""
    if shape is None:
        raise ValueError("placeholder: give its shape; None is possible for the first size only")
    made = wrap(_core.placeholder(dtypes.of(dtype).name, tuple(shape), name or "Placeholder"))
    if name:
        _placeholders[f"{name}:0"] = made
    return made


def tensor_named(name: str | None) -> Any:
    """The placeholder of a name, for feeds by name."""
    found = _placeholders.get(name if ":" in name else f"{name}:0")
    if found is None:
        raise KeyError(f"there is no placeholder named {name!r}")
    return found


def name_of_placeholder(symbol: Any) -> str:
    """The name of a placeholder, for messages; "a placeholder" if it was given none."""
    return next((name for name, tensor in _placeholders.items() if tensor._value.is_same(symbol)), "a placeholder")


def constant(value: Any, dtype: DTypeLike = None, shape: Any = None, name: str | None = "Const",
             verify_shape: bool = False) -> Any:
    """A value that never changes."""
    array = convert(value, dtype)._value
    if verify_shape and shape is not None and array.shape != tuple(shape):
        raise TypeError(f"constant: the value has the shape {array.shape}, but verify_shape wants {tuple(shape)}")
    if shape is not None:
        array = np.broadcast_to(array, tuple(shape)) if array.size == 1 else array.reshape(tuple(shape))
    return wrap(_core.tf_constant(np.asarray(array)))


def assign(ref: Any, value: Any, validate_shape: bool | None = None, use_locking: bool | None = None,
           name: str | None = None) -> Any:
    """The variable takes the value at the end of the step."""
    return ref.assign(value)


def global_variables_initializer() -> Any:
    """Gives every variable that exists now its initial value, including those of layers and optimizers."""
    return _core.global_variables_initializer()


initialize_all_variables = local_variables_initializer = global_variables_initializer


def global_variables(scope: Any = None) -> Any:
    """All variables of the default graph, in the order in which they were made."""
    # Those of a computation that has failed are gone.
    Variable._all[:] = [variable for variable in Variable._all if variable._variable.exists]
    return [variable for variable in Variable._all if scope is None or variable.name.startswith(scope)]


def trainable_variables(scope: Any = None) -> Any:
    """The variables of the default graph that optimizers change."""
    return [variable for variable in global_variables(scope) if variable.trainable]


def get_collection(key: Any, scope: Any = None) -> Any:
    """The variables of the graph; other collections are empty."""
    if key == GraphKeys.TRAINABLE_VARIABLES:
        return trainable_variables(scope)
    return global_variables(scope) if key == GraphKeys.GLOBAL_VARIABLES else []


@accepts("aggregation_method", "colocate_gradients_with_ops", "gate_gradients", "unconnected_gradients", grad_ys=None,
         stop_gradients=None)
def gradients(ys: Any, xs: Any, *, name: str | None = None) -> Any:
    """The gradients of a scalar, within a computation that is compiled."""
    y = ys[0] if isinstance(ys, (list, tuple)) else ys
    made = _core.tf_gradients(y._value, [x._value for x in flatten(xs)])
    return [wrap(symbol) for symbol in made]


def reset_default_graph() -> Any:
    """Forgets all variables."""
    Variable._all.clear()
    _placeholders.clear()
    _core.reset_default_graph()


class Graph:
    """The default graph. There is one: a new Graph forgets the variables of the one before when it is entered."""

    _entered = False

    def as_default(self) -> Any:
        """Makes it the graph of what is made in the ``with`` block."""
        return self

    def __enter__(self):
        if not self._entered:
            reset_default_graph()
        self._entered = True
        return self

    def __exit__(self, *arguments):
        return None

    def finalize(self) -> Any:
        """Accepted."""

    def get_tensor_by_name(self, name: str | None) -> Any:
        """A placeholder or variable by its name, such as "x:0"."""
        return tensor_named(name)


_default = Graph()
_default._entered = True


def get_default_graph() -> Any:
    """The graph that functions add to."""
    return _default
