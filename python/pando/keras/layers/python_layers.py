# SPDX-License-Identifier: Apache-2.0
"""Layers that are written in Python, on ops: what a user's own layer looks like."""
from __future__ import annotations

from typing import Any, Mapping, Sequence

from pando.core import ops
from pando.core.calls import current_call
from pando.core.dispatch import call
from pando.core.hints import Activation, Function, Identifier, Sizes
from pando.keras import activations, initializers, regularizers
from pando.keras.arguments import number, refuse, tell_of_seed, whole
from pando.keras.layers.base import Layer
from pando.tensors.tensor import wrap


class Lambda(Layer):
    """A function as a layer."""

    def __init__(self, function: Function, output_shape: Any = None, mask: Any = None,
                 arguments: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        refuse("Lambda", mask=mask)
        super().__init__(**kwargs)
        self.function, self.arguments = function, dict(arguments or {})

    def call(self, inputs: Any) -> Any:
        return self.function(inputs, **self.arguments)


class Identity(Layer):
    """Changes nothing."""

    def call(self, inputs: Any) -> Any:
        return inputs


class Softmax(Layer):
    """Probabilities along an axis, or along several together: exp(x) divided by its sum."""

    def __init__(self, axis: Sizes | None = -1, **kwargs: Any) -> None:
        if axis == -1:
            self._make("Softmax", {}, **kwargs)
        else:
            super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        if not isinstance(self.axis, (list, tuple)):
            return ops.softmax(inputs, axis=self.axis)
        axes = list(self.axis)
        powers = ops.exp(inputs - ops.max(inputs, axis=axes, keepdims=True))
        return powers / ops.sum(powers, axis=axes, keepdims=True)


class ELU(Layer):
    """x, or alpha * (exp(x) - 1) where x is negative."""

    def __init__(self, alpha: float | None = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = number(self, "alpha", alpha)

    def call(self, inputs: Any) -> Any:
        return ops.elu(inputs, alpha=self.alpha)


class PReLU(Layer):
    """x, or a trained multiple of x where x is negative."""

    def __init__(self, alpha_initializer: Identifier = "zeros", alpha_regularizer: Any = None,
                 alpha_constraint: Any = None, shared_axes: Sequence[int] | None = None, **kwargs: Any) -> None:
        refuse("PReLU", alpha_constraint=alpha_constraint)
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer, self.shared_axes = alpha_regularizer, shared_axes

    def build(self, input_shape: Any) -> Any:
        shape = list(input_shape[1:])
        for axis in self.shared_axes or []:
            shape[axis - 1] = 1
        self.alpha = self.add_weight(name="alpha", shape=shape, initializer=self.alpha_initializer,
                                     regularizer=self.alpha_regularizer)

    def call(self, inputs: Any) -> Any:
        return ops.relu(inputs) - self.alpha * ops.relu(-inputs)


class GaussianNoise(Layer):
    """Adds normal noise in training."""

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        tell_of_seed("GaussianNoise", seed)
        super().__init__(**kwargs)
        self.stddev = number(self, "stddev", stddev)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if not training:
            return inputs
        _, caller = current_call()
        return inputs + wrap(caller.random_normal(tuple(inputs.shape), 0.0, self.stddev))


class _GlobalPooling1D(Layer):
    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self.keepdims = bool(keepdims)


class GlobalAveragePooling1D(_GlobalPooling1D):
    """The mean over the steps of a sequence, [batch, steps, features]."""

    def call(self, inputs: Any) -> Any:
        return ops.mean(inputs, axis=1, keepdims=self.keepdims)


class GlobalMaxPooling1D(_GlobalPooling1D):
    """The largest over the steps of a sequence, [batch, steps, features]."""

    def call(self, inputs: Any) -> Any:
        return ops.max(inputs, axis=1, keepdims=self.keepdims)


class Conv1D(Layer):
    """Convolution of sequences, [batch, steps, features]."""

    def __init__(self, filters: int, kernel_size: Sizes, strides: Sizes | None = 1, padding: Any = "valid",
                 data_format: str | None = "channels_last", dilation_rate: Sizes = 1, groups: int = 1,
                 activation: Activation = None, use_bias: bool = True,
                 kernel_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier = "zeros",
                 kernel_regularizer: Any = None, bias_regularizer: Any = None, **kwargs: Any) -> None:
        super().__init__(data_format=data_format, **kwargs)
        one = [value[0] if isinstance(value, (tuple, list)) else value
               for value in (kernel_size, strides, dilation_rate)]
        self.filters, (self.kernel_size, self.strides, self.dilation_rate) = whole(self, "filters", filters), one
        self.padding, self.groups, self.use_bias = str(padding).lower(), whole(self, "groups", groups), bool(use_bias)
        if self.padding not in ("valid", "same", "causal"):
            raise ValueError(f"Conv1D: padding is {padding!r} but must be 'valid', 'same' or 'causal'")
        self.activation = activations.get(activation)
        self.kernel_initializer, self.bias_initializer = map(initializers.get, (kernel_initializer, bias_initializer))
        self.kernel_regularizer, self.bias_regularizer = map(regularizers.get, (kernel_regularizer, bias_regularizer))

    def build(self, input_shape: Any) -> Any:
        self.kernel = self.add_weight(
            name="kernel", shape=(self.kernel_size, input_shape[-1] // self.groups, self.filters),
            initializer=self.kernel_initializer, regularizer=self.kernel_regularizer)
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(self.filters,), initializer=self.bias_initializer,
                                        regularizer=self.bias_regularizer)
        else:
            self.bias = None

    def call(self, inputs: Any) -> Any:
        padding = self.padding
        if padding == "causal":
            inputs = ops.pad(inputs, [[0, 0], [self.dilation_rate * (self.kernel_size - 1), 0], [0, 0]])
            padding = "valid"
        images = ops.expand_dims(inputs, 1)
        result = call("conv2d", images, ops.expand_dims(self.kernel, 0), strides=[1, self.strides], padding=padding,
                            dilations=[1, self.dilation_rate], groups=self.groups)
        result = ops.squeeze(result, 1)
        if self.use_bias:
            result = result + self.bias
        return self.activation(result)


class _Pooling1D(Layer):
    _op = ""

    def __init__(self, pool_size: Sizes = 2, strides: Sizes | None = None, padding: Any = "valid",
                 data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format=data_format, **kwargs)
        self.pool_size, self.padding = pool_size, str(padding).lower()
        self.strides = pool_size if strides is None else strides

    def call(self, inputs: Any) -> Any:
        images = ops.expand_dims(inputs, 1)
        return ops.squeeze(call(self._op, images, window=[1, self.pool_size], strides=[1, self.strides],
                                padding=self.padding), 1)


class MaxPooling1D(_Pooling1D):
    """The largest value of each window of a sequence."""
    _op = "max_pool"


class AveragePooling1D(_Pooling1D):
    """The mean of each window of a sequence."""
    _op = "average_pool"


class RepeatVector(Layer):
    """Repeats each sample [features] n times: [n, features]."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = whole(self, "n", n)

    def call(self, inputs: Any) -> Any:
        return ops.broadcast_to(ops.expand_dims(inputs, 1), (-1, self.n, inputs.shape[-1]))


class Cropping2D(Layer):
    """Cuts rows and columns off images."""

    def __init__(self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format=data_format, **kwargs)
        if isinstance(cropping, int):
            cropping = (cropping, cropping)
        self.cropping = tuple((side, side) if isinstance(side, int) else tuple(side) for side in cropping)

    def call(self, inputs: Any) -> Any:
        (top, bottom), (left, right) = self.cropping
        return inputs[:, top:inputs.shape[1] - bottom, left:inputs.shape[2] - right, :]


MaxPool1D, AvgPool1D, Convolution1D = MaxPooling1D, AveragePooling1D, Conv1D
GlobalAvgPool1D, GlobalMaxPool1D = GlobalAveragePooling1D, GlobalMaxPooling1D
