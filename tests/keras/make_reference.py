#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Make tests/keras/data/reference.npz: Keras's layers, optimizers, losses and metrics, computed by PyTorch.

Usage:
    python3 make_reference.py tests/keras/data/reference.npz

Needs numpy and torch; the stored file was made with Debian 12's python3-numpy 1.24.2
and python3-torch 1.13.1 on aarch64, and running it again gives the same bytes.

Everything is computed in float64, except where rounding is part of the result (the losses
of predictions that are exactly 0 or 1), and stored in float32.  PyTorch gives the
arithmetic of layers and the gradients; what Keras does otherwise is written out: the
asymmetric padding of "same", moving statistics, update rules (those of Keras 2's
OptimizerV2 and of 2.11 for AdamW; torch.optim confirms them where it has the same
formula) and losses.

Inputs, targets and first weights are not stored.  Element i of array number n is, with
32-bit unsigned arithmetic,
    h = i * 2654435761 + n * 40503 * 65537 + 271; h ^= h >> 15; h *= 2246822519;
    h ^= h >> 13; h *= 3266489917; h ^= h >> 16; u = (h >> 8) / 2^24; float32(2u - 1)
n is 0 for the input, 1 for the target and 2, 3, ... for the weights, layer by layer.
Weights of two and more axes are multiplied by sqrt(6 / (window * (in + out))) of their shape
[window..., in, out], others by 0.5; gammas and variances are moved up by 1.  Embedding
takes floor(u * rows).

Layers are tested after a Dense layer, or several for layers of several inputs, which keeps
the number of channels: so what they hand back to the layer before them is tested too.

  <layer>.forward     the output, not in training
  <layer>.training    the output in training, where it differs
  <name>.weight<i>    after 10 steps, of layers by SGD with rate 0.1 on the mean squared
                      error; i counts from the Dense layer's kernel on
  <loss>.value        before these steps
  <metric>.value
  targets.<kind>, predictions.<kind>
"""
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

STEPS, BATCH, RATE = 10, 8, 0.1
EPSILON = 1e-7
ARRAYS = {}


def hashed(number, shape):
    mask = np.uint64(0xFFFFFFFF)
    h = np.arange(math.prod(shape), dtype=np.uint64) * np.uint64(2654435761)
    h = (h + np.uint64(number * 40503 * 65537 + 271)) & mask
    for shift, factor in (15, 2246822519), (13, 3266489917):
        h ^= h >> np.uint64(shift)
        h = (h * np.uint64(factor)) & mask
    h ^= h >> np.uint64(16)
    u = (h >> np.uint64(8)).astype(np.float64) / 2**24
    return torch.tensor((2 * u - 1).reshape(shape))


def first_weight(number, name, shape):
    limit = 0.5
    if len(shape) > 1:
        limit = math.sqrt(6 / (math.prod(shape[:-2]) * (shape[-2] + shape[-1])))
    offset = 1 if name in ("gamma", "variance") else 0
    value = (hashed(number, shape) * limit + offset).float().double()
    return value.requires_grad_(name not in ("mean", "variance"))


def store(name, value):
    ARRAYS[name] = np.ascontiguousarray(value.detach().numpy().astype(np.float32))


def descend(weights, loss):
    """One step of plain SGD."""
    trained = [w for w in weights if w.requires_grad]
    gradients = torch.autograd.grad(loss, trained)
    with torch.no_grad():
        for w, g in zip(trained, gradients):
            w -= RATE * g


def store_weights(name, start, weights):
    for i, (before, w) in enumerate(zip(start, weights)):
        store(f"{name}.weight{i}", w)
        moved = ((w - before).norm() / w.norm()).item()
        # A normalised batch does not depend on the bias before it.
        free = name.startswith("batch_normalization") and i == 1
        assert free or moved > 1e-3, f"{name}: weight {i} moved by {moved} only and tests nothing"


# Layers: functions of the input, the weights and whether it is training.
def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


def same_padding(size, window, stride, dilation=1):
    """What TensorFlow adds before and after an axis: the odd one after."""
    reach = (math.ceil(size / stride) - 1) * stride + (window - 1) * dilation + 1
    total = max(reach - size, 0)
    return total // 2, total - total // 2


def padded(x, window, strides, padding, dilation=(1, 1), value=0.0):
    """x in NCHW."""
    if padding == "valid":
        return x
    rows = same_padding(x.shape[2], window[0], strides[0], dilation[0])
    columns = same_padding(x.shape[3], window[1], strides[1], dilation[1])
    return F.pad(x, (*columns, *rows), value=value)


def dense(x, w, training=False):
    return x @ w[0] + w[1]


def conv(padding="valid", strides=(1, 1), dilation=(1, 1), groups=1, activation=lambda y: y):
    def run(x, w, training=False):
        x = padded(nchw(x), w[0].shape[:2], strides, padding, dilation)
        kernel = w[0].permute(3, 2, 0, 1)
        bias = w[1] if len(w) > 1 else None
        return activation(nhwc(F.conv2d(x, kernel, bias, strides, 0, dilation, groups)))
    return run


def conv_transpose(padding="valid", strides=(1, 1), dilation=(1, 1)):
    """The kernel is [height, width, out, in]; the full result is cut, or continued by zeros."""
    def run(x, w, training=False):
        y = F.conv_transpose2d(nchw(x), w[0].permute(3, 2, 0, 1), None, strides, dilation=dilation)
        edges = []
        for axis in (0, 1):
            size, stride = x.shape[1 + axis], strides[axis]
            window = (w[0].shape[axis] - 1) * dilation[axis] + 1
            length = size * stride + (max(window - stride, 0) if padding == "valid" else 0)
            before = same_padding(length, window, stride)[0] if padding == "same" else 0
            edges.insert(0, (-before, length + before - y.shape[2 + axis]))
        return nhwc(F.pad(y, (*edges[0], *edges[1]))) + w[1]
    return run


def depthwise(padding="valid", strides=(1, 1), dilation=(1, 1)):
    def run(x, w, training=False):
        height, width, channels, multiplier = w[0].shape
        x = padded(nchw(x), (height, width), strides, padding, dilation)
        kernel = w[0].permute(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width)
        y = nhwc(F.conv2d(x, kernel, None, strides, 0, dilation, channels))
        return y + w[1] if len(w) == 2 else y @ w[1][0, 0] + w[2]
    return run


def max_pool(window, strides, padding="valid"):
    return lambda x, w, training: nhwc(
        F.max_pool2d(padded(nchw(x), window, strides, padding, value=-math.inf), window, strides))


def average_pool(window, strides, padding="valid"):
    """Over the pixels inside the image."""
    def run(x, w, training):
        def total(values):
            return F.avg_pool2d(padded(nchw(values), window, strides, padding), window, strides)
        return nhwc(total(x) / total(torch.ones_like(x)))
    return run


def batch_norm(momentum, epsilon=1e-3, scale=True, center=True):
    def run(x, w, training):
        gamma = w[0] if scale else 1.0
        beta = w[int(scale)] if center else 0.0
        mean, variance = w[-2:]
        if training:
            axes = tuple(range(x.dim() - 1))
            now = x.mean(axes), x.var(axes, unbiased=False)
            with torch.no_grad():
                for moving, seen in zip((mean, variance), now):
                    moving.mul_(momentum).add_(seen * (1 - momentum))
            mean, variance = now
        return (x - mean) / torch.sqrt(variance + epsilon) * gamma + beta
    return run


def layer_norm(epsilon=1e-3):
    return lambda x, w, training: F.layer_norm(
        x, x.shape[-1:], w[0] if w else None, w[1] if w else None, epsilon)


def upsample(size, mode):
    corners = {"align_corners": False} if mode == "bilinear" else {}
    return lambda x, w, training: nhwc(F.interpolate(nchw(x), scale_factor=size, mode=mode, **corners))


def plain(function):
    return lambda x, w, training: function(x)


ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "softplus": F.softplus,
    "softsign": F.softsign,
    "elu": F.elu,
    "selu": F.selu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "gelu": F.gelu,
    "swish": F.silu,
    "silu": F.silu,
    "exponential": torch.exp,
    "hard_sigmoid": lambda x: torch.clamp(0.2 * x + 0.5, 0, 1),
}


def kernel_and_bias(*shape, bias=None):
    return [("kernel", shape), ("bias", (bias or shape[-1],))]


def norm_weights(channels, *names):
    return [(name, (channels,)) for name in names]


# name: shape of a sample, weights, function
IMAGE, WIDE = (7, 6, 2), (7, 6, 4)
STATISTICS = ("mean", "variance")
LAYERS = {
    "dense": ((5,), kernel_and_bias(5, 4), dense),
    "dense_no_bias": ((5,), [("kernel", (5, 4))], lambda x, w, training: x @ w[0]),
    "dense_rank3": ((3, 5), kernel_and_bias(5, 4), dense),
    "dense_relu": ((5,), kernel_and_bias(5, 4), lambda x, w, training: F.relu(dense(x, w))),
    "conv2d": (IMAGE, kernel_and_bias(3, 2, 2, 3), conv()),
    "conv2d_no_bias_relu": (IMAGE, [("kernel", (3, 3, 2, 3))], conv(activation=F.relu)),
    "conv2d_same": (IMAGE, kernel_and_bias(3, 3, 2, 3), conv("same")),
    "conv2d_same_even": (IMAGE, kernel_and_bias(2, 4, 2, 3), conv("same")),
    "conv2d_strides": (IMAGE, kernel_and_bias(3, 3, 2, 3), conv(strides=(2, 1))),
    "conv2d_same_strides": (IMAGE, kernel_and_bias(3, 3, 2, 3), conv("same", (2, 2))),
    "conv2d_same_even_strides": (IMAGE, kernel_and_bias(4, 2, 2, 3), conv("same", (2, 3))),
    "conv2d_dilation": (IMAGE, kernel_and_bias(3, 2, 2, 3), conv(dilation=(2, 3))),
    "conv2d_same_dilation": (IMAGE, kernel_and_bias(3, 2, 2, 3), conv("same", dilation=(2, 3))),
    "conv2d_groups": (WIDE, kernel_and_bias(3, 3, 2, 6), conv("same", groups=2)),
    "conv2d_transpose": (IMAGE, kernel_and_bias(3, 2, 3, 2, bias=3), conv_transpose()),
    "conv2d_transpose_strides": (IMAGE, kernel_and_bias(3, 2, 3, 2, bias=3), conv_transpose(strides=(2, 2))),
    "conv2d_transpose_gaps": (IMAGE, kernel_and_bias(2, 1, 3, 2, bias=3), conv_transpose(strides=(3, 2))),
    "conv2d_transpose_dilation": (IMAGE, kernel_and_bias(3, 2, 3, 2, bias=3), conv_transpose(dilation=(2, 2))),
    "conv2d_transpose_same": (IMAGE, kernel_and_bias(3, 4, 3, 2, bias=3), conv_transpose("same")),
    "conv2d_transpose_same_strides": (IMAGE, kernel_and_bias(3, 4, 3, 2, bias=3), conv_transpose("same", (2, 2))),
    "conv2d_transpose_same_gaps": (IMAGE, kernel_and_bias(2, 1, 3, 2, bias=3), conv_transpose("same", (3, 2))),
    "depthwise_conv2d": (IMAGE, kernel_and_bias(3, 2, 2, 1, bias=2), depthwise()),
    "depthwise_conv2d_multiplier": (IMAGE, kernel_and_bias(3, 2, 2, 2, bias=4), depthwise("same", (2, 2))),
    "depthwise_conv2d_dilation": (IMAGE, kernel_and_bias(3, 2, 2, 2, bias=4), depthwise(dilation=(2, 2))),
    "separable_conv2d": (IMAGE, [("depthwise", (3, 3, 2, 1)), *kernel_and_bias(1, 1, 2, 3)], depthwise()),
    "separable_conv2d_multiplier": (IMAGE, [("depthwise", (2, 3, 2, 2)), *kernel_and_bias(1, 1, 4, 3)],
                                    depthwise("same", (2, 2))),
    "max_pooling2d": (IMAGE, [], max_pool((2, 2), (2, 2))),
    "max_pooling2d_same": (IMAGE, [], max_pool((2, 3), (2, 3), "same")),
    "max_pooling2d_overlapping": (IMAGE, [], max_pool((3, 3), (2, 1))),
    "max_pooling2d_same_overlapping": (IMAGE, [], max_pool((3, 2), (1, 1), "same")),
    "average_pooling2d": (IMAGE, [], average_pool((2, 2), (2, 2))),
    "average_pooling2d_same": (IMAGE, [], average_pool((2, 3), (2, 3), "same")),
    "average_pooling2d_overlapping": (IMAGE, [], average_pool((3, 3), (2, 1))),
    "average_pooling2d_same_overlapping": (IMAGE, [], average_pool((3, 2), (1, 1), "same")),
    "global_average_pooling2d": (IMAGE, [], plain(lambda x: x.mean((1, 2)))),
    "global_average_pooling2d_keepdims": (IMAGE, [], plain(lambda x: x.mean((1, 2), keepdim=True))),
    "global_max_pooling2d": (IMAGE, [], plain(lambda x: x.amax((1, 2)))),
    "global_max_pooling2d_keepdims": (IMAGE, [], plain(lambda x: x.amax((1, 2), keepdim=True))),
    "flatten": (IMAGE, [], plain(lambda x: x.flatten(1))),
    "reshape": (IMAGE, [], plain(lambda x: x.reshape(BATCH, 12, 7))),
    "permute": (IMAGE, [], plain(lambda x: x.permute(0, 3, 1, 2))),
    "re_lu": ((3, 6), [], plain(F.relu)),
    "re_lu_max_value": ((3, 6), [], plain(lambda x: torch.clamp(x, 0, 0.4))),
    "re_lu_negative_slope": ((3, 6), [], plain(lambda x: torch.clamp_max(F.leaky_relu(x, 0.1), 0.4))),
    "leaky_re_lu": ((3, 6), [], plain(lambda x: F.leaky_relu(x, 0.3))),
    "softmax": ((3, 6), [], plain(ACTIVATIONS["softmax"])),
    "batch_normalization": ((5,), norm_weights(5, "gamma", "beta", *STATISTICS), batch_norm(0.99)),
    "batch_normalization_images": (IMAGE, norm_weights(2, "gamma", "beta", *STATISTICS), batch_norm(0.7, 0.1)),
    "batch_normalization_no_scale": ((5,), norm_weights(5, "beta", *STATISTICS), batch_norm(0.9, scale=False)),
    "batch_normalization_no_center": ((5,), norm_weights(5, "gamma", *STATISTICS), batch_norm(0.9, center=False)),
    "layer_normalization": ((5,), norm_weights(5, "gamma", "beta"), layer_norm()),
    "layer_normalization_images": ((3, 3, 6), norm_weights(6, "gamma", "beta"), layer_norm(0.1)),
    "layer_normalization_plain": ((3, 6), [], layer_norm()),
    "add": ((3, 4), [], plain(sum)),
    "multiply": ((3, 4), [], plain(lambda parts: parts[0] * parts[1] * parts[2])),
    "concatenate": ((3, 4), [], plain(lambda parts: torch.cat(parts, -1))),
    "concatenate_axis": ((3, 4), [], plain(lambda parts: torch.cat(parts, 1))),
    "zero_padding2d": (IMAGE, [], plain(lambda x: F.pad(x, (0, 0, 1, 1, 1, 1)))),
    "zero_padding2d_sides": (IMAGE, [], plain(lambda x: F.pad(x, (0, 0, 0, 2, 1, 0)))),
    "up_sampling2d": ((3, 4, 2), [], upsample((2, 3), "nearest")),
    "up_sampling2d_bilinear": ((3, 4, 2), [], upsample((2, 3), "bilinear")),
    "rescaling": ((3, 4), [], plain(lambda x: x * 0.5 - 0.25)),
    **{f"activation_{name}": ((3, 6), [], plain(function)) for name, function in ACTIVATIONS.items()},
}
MERGED = {"add": 3, "multiply": 3, "concatenate": 3, "concatenate_axis": 3}


def make_layer(name, sample, shapes, function):
    fronts = MERGED.get(name, 1)
    shapes = kernel_and_bias(sample[-1], sample[-1]) * fronts + shapes
    weights = [first_weight(2 + i, *shape) for i, shape in enumerate(shapes)]
    x = hashed(0, (BATCH, *sample))

    def forward(training, w):
        parts = [dense(x, w[2 * i:2 * i + 2]) for i in range(fronts)]
        return function(parts if fronts > 1 else parts[0], w[2 * fronts:], training)

    y = forward(False, weights)
    store(f"{name}.forward", y)
    if name.startswith("batch_normalization"):
        store(f"{name}.training", forward(True, [w.detach().clone() for w in weights]))
    target = hashed(1, tuple(y.shape))
    start = [w.detach().clone() for w in weights]
    for _ in range(STEPS):
        descend(weights, F.mse_loss(forward(True, weights), target))
    store_weights(name, start, weights)


def make_embedding():
    rows, columns = 6, 3
    words = ((hashed(0, (BATCH, 4)) + 1) / 2 * rows).floor().long()
    weights = [first_weight(2, "embeddings", (rows, columns))]
    y = weights[0][words]
    store("embedding.forward", y)
    start, target = [weights[0].detach().clone()], hashed(1, tuple(y.shape))
    for _ in range(STEPS):
        descend(weights, F.mse_loss(weights[0][words], target))
    store_weights("embedding", start, weights)


# Optimizers: each rule gets the rate, the number of the update (from 1), the gradient and
# the states, which it changes, and says what to take away from the parameter.
def sgd(momentum=0.0, nesterov=False):
    def rule(rate, t, g, state):
        if momentum == 0:
            return rate * g
        state["a"] = momentum * state.get("a", 0) - rate * g
        return -(momentum * state["a"] - rate * g) if nesterov else -state["a"]
    return rule


def moments(g, state, beta_1, beta_2):
    state["m"] = beta_1 * state.get("m", 0) + (1 - beta_1) * g
    state["v"] = beta_2 * state.get("v", 0) + (1 - beta_2) * g * g


def adam(beta_1=0.9, beta_2=0.999, epsilon=EPSILON):
    """Epsilon is added before the bias is corrected."""
    def rule(rate, t, g, state):
        moments(g, state, beta_1, beta_2)
        alpha = rate * math.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        return alpha * state["m"] / (state["v"].sqrt() + epsilon)
    return rule


def nadam(beta_1=0.9, beta_2=0.999, epsilon=EPSILON):
    def rule(rate, t, g, state):
        now, following = (beta_1 * (1 - 0.5 * 0.96**(0.004 * s)) for s in (t, t + 1))
        moments(g, state, beta_1, beta_2)
        state["schedule"] = state.get("schedule", 1.0) * now
        mean = (1 - now) * g / (1 - state["schedule"])
        mean = mean + following * state["m"] / (1 - state["schedule"] * following)
        return rate * mean / ((state["v"] / (1 - beta_2**t)).sqrt() + epsilon)
    return rule


def rmsprop(rho=0.9, momentum=0.0, epsilon=EPSILON, centered=False):
    """With momentum a kernel of its own does it, which adds epsilon inside the root."""
    def rule(rate, t, g, state):
        state["s"] = rho * state.get("s", 0) + (1 - rho) * g * g
        spread = state["s"]
        if centered:
            state["mean"] = rho * state.get("mean", 0) + (1 - rho) * g
            spread = spread - state["mean"]**2
        if momentum == 0:
            return rate * g / (spread.sqrt() + epsilon)
        state["a"] = momentum * state.get("a", 0) + rate * g / (spread + epsilon).sqrt()
        return state["a"]
    return rule


def adagrad(start=0.1, epsilon=EPSILON):
    def rule(rate, t, g, state):
        state["s"] = state.get("s", start) + g * g
        return rate * g / (state["s"].sqrt() + epsilon)
    return rule


def clip_by_norm(limit):
    return lambda gradients: [g * limit / max(g.norm(), limit) for g in gradients]


def clip_by_global_norm(limit):
    def clip(gradients):
        norm = torch.stack([g.norm() for g in gradients]).norm()
        return [g * limit / max(norm, limit) for g in gradients]
    return clip


def clip_by_value(limit):
    return lambda gradients: [g.clamp(-limit, limit) for g in gradients]


def warm_up(step):
    return 0.2 * step / 4 if step < 4 else 0.2 * 0.5**((step - 4) / 3)


# name: rule, rate (a number, or a function of the number of updates done), weight decay, clipping
OPTIMIZERS = {
    "sgd": (sgd(), 0.1, 0, None),
    "sgd_momentum": (sgd(0.9), 0.1, 0, None),
    "sgd_nesterov": (sgd(0.9, True), 0.1, 0, None),
    "sgd_clipnorm": (sgd(), 0.5, 0, clip_by_norm(0.1)),
    "sgd_global_clipnorm": (sgd(), 0.5, 0, clip_by_global_norm(0.2)),
    "sgd_clipvalue": (sgd(), 0.5, 0, clip_by_value(0.05)),
    "adam": (adam(), 0.01, 0, None),
    "adam_epsilon": (adam(0.8, 0.9, 0.01), 0.05, 0, None),
    "adam_clipnorm": (adam(epsilon=0.1), 0.05, 0, clip_by_norm(0.1)),
    "adamw": (adam(), 0.01, 0.1, None),
    "adamw_epsilon": (adam(0.8, 0.9, 0.01), 0.05, 0.1, None),
    "nadam": (nadam(), 0.01, 0, None),
    "nadam_epsilon": (nadam(0.8, 0.9, 0.01), 0.05, 0, None),
    "rmsprop": (rmsprop(), 0.01, 0, None),
    "rmsprop_epsilon": (rmsprop(0.8, 0, 0.01), 0.01, 0, None),
    "rmsprop_momentum": (rmsprop(0.9, 0.5, 1e-4), 0.01, 0, None),
    "rmsprop_centered": (rmsprop(0.9, 0, 1e-4, True), 0.01, 0, None),
    "rmsprop_centered_momentum": (rmsprop(0.9, 0.5, 1e-4, True), 0.01, 0, None),
    "adagrad": (adagrad(), 0.1, 0, None),
    "adagrad_epsilon": (adagrad(0.01, 0.05), 0.1, 0, None),
    "exponential_decay": (sgd(), lambda step: 0.2 * 0.5**(step / 3), 0, None),
    "exponential_decay_staircase": (sgd(), lambda step: 0.2 * 0.5**(step // 3), 0, None),
    "cosine_decay": (sgd(), lambda step: 0.2 * (0.9 * (0.5 + 0.5 * math.cos(math.pi * min(step / 8, 1))) + 0.1), 0,
                     None),
    "polynomial_decay": (sgd(), lambda step: 0.19 * (1 - min(step / 8, 1))**2 + 0.01, 0, None),
    "piecewise_constant_decay": (sgd(), lambda step: 0.2 if step <= 3 else 0.1 if step <= 6 else 0.05, 0, None),
    "warm_up": (sgd(), warm_up, 0, None),
    "schedule_in_velocity": (sgd(0.9), lambda step: 0.2 * 0.5**(step / 3), 0, None),
}


def network(x, w):
    return torch.tanh(x @ w[0] + w[1]) @ w[2] + w[3]


def mlp():
    shapes = kernel_and_bias(5, 6) + kernel_and_bias(6, 3)
    return hashed(0, (BATCH, 5)), hashed(1, (BATCH, 3)), [first_weight(2 + i, *s) for i, s in enumerate(shapes)]


def optimize(rule, rate, decay, clip):
    x, target, weights = mlp()
    states = [{} for _ in weights]
    for step in range(STEPS):
        gradients = torch.autograd.grad(F.mse_loss(network(x, weights), target), weights)
        now = rate(step) if callable(rate) else rate
        with torch.no_grad():
            for w, g, state in zip(weights, clip(gradients) if clip else gradients, states):
                w -= now * decay * w
                w -= rule(now, step + 1, g, state)
    return weights


def make_optimizer(name, settings):
    store_weights(name, mlp()[2], optimize(*settings))


def confirm(optimizer, rule, rate, decay=0):
    """That torch.optim, where it has the same formula, comes to the same weights."""
    x, target, weights = mlp()
    torch_optimizer = optimizer(weights)
    for _ in range(STEPS):
        torch_optimizer.zero_grad()
        F.mse_loss(network(x, weights), target).backward()
        torch_optimizer.step()
    for a, b in zip(weights, optimize(rule, rate, decay, None)):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12), optimizer


def confirm_rules():
    from torch import optim
    confirm(lambda w: optim.SGD(w, 0.1), sgd(), 0.1)
    confirm(lambda w: optim.SGD(w, 0.1, momentum=0.9), sgd(0.9), 0.1)
    confirm(lambda w: optim.SGD(w, 0.1, momentum=0.9, nesterov=True), sgd(0.9, True), 0.1)
    # PyTorch adds epsilon after the correction: without it the formulas are the same.
    confirm(lambda w: optim.Adam(w, 0.01, eps=0), adam(epsilon=0), 0.01)
    confirm(lambda w: optim.AdamW(w, 0.01, eps=0, weight_decay=0.1), adam(epsilon=0), 0.01, 0.1)
    # Not NAdam: PyTorch 1.13 counts the current momentum twice in the product of the next step.
    confirm(lambda w: optim.RMSprop(w, 0.01, 0.8, 0.01), rmsprop(0.8, 0, 0.01), 0.01)
    confirm(lambda w: optim.RMSprop(w, 0.01, 0.9, 1e-4, centered=True), rmsprop(0.9, 0, 1e-4, True), 0.01)
    # With momentum Keras has the rate in the velocity and epsilon in the root.
    confirm(lambda w: optim.RMSprop(w, 0.01, 0.9, 0, momentum=0.5), rmsprop(0.9, 0.5, 0), 0.01)
    confirm(lambda w: optim.Adagrad(w, 0.1, initial_accumulator_value=0.01, eps=0.05), adagrad(0.01, 0.05), 0.1)


# Losses: one number a sample, or several which are averaged.
def smooth(target, amount, classes):
    return target * (1 - amount) + amount / classes


def categorical(p, target):
    p = (p / p.sum(-1, keepdim=True)).clamp(EPSILON, 1 - EPSILON)
    return -(target * p.log()).sum(-1)


def sparse_categorical(p, labels):
    """Logarithms, used as logits: what was clipped is made to sum to 1 afterwards."""
    logits = p.clamp(EPSILON, 1 - EPSILON).log()
    return -F.log_softmax(logits, -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def binary(p, target):
    p = p.clamp(EPSILON, 1 - EPSILON)
    return -(target * (p + EPSILON).log() + (1 - target) * (1 - p + EPSILON).log())


def categorical_logits(x, target):
    return -(target * F.log_softmax(x, -1)).sum(-1)


def sparse_logits(x, labels):
    return -F.log_softmax(x, -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def binary_logits(x, target):
    return F.binary_cross_entropy_with_logits(x, target, reduction="none")


def hinge(y, target):
    return F.relu(1 - torch.where(target == 0, -torch.ones_like(target), target) * y)


def divergence(p, target):
    p, target = p.clamp(EPSILON, 1), target.clamp(EPSILON, 1)
    return (target * (target / p).log()).sum(-1)


HEADS = {
    "linear": lambda x: x,
    "softmax": lambda x: F.softmax(x, -1),
    "sigmoid": torch.sigmoid,
    "softplus": F.softplus,
    "shares": lambda x: F.softmax(x, -1) * 0.8 + 0.02,
    "chances": lambda x: torch.sigmoid(x) * 0.9 + 0.05,
}

# name: head after the Dense layer, kind of targets, function
LOSSES = {
    "categorical_crossentropy_logits": ("linear", "one_hot", categorical_logits),
    "categorical_crossentropy_softmax": ("softmax", "one_hot", categorical),
    "categorical_crossentropy_probabilities": ("shares", "one_hot", categorical),
    "categorical_crossentropy_smoothing": ("softmax", "one_hot", lambda p, t: categorical(p, smooth(t, 0.2, 4))),
    "categorical_crossentropy_distribution": ("linear", "distribution", categorical_logits),
    "categorical_crossentropy_smoothing_logits": ("linear", "one_hot",
                                                  lambda x, t: categorical_logits(x, smooth(t, 0.2, 4))),
    "sparse_categorical_crossentropy_logits": ("linear", "labels", sparse_logits),
    "sparse_categorical_crossentropy_softmax": ("softmax", "labels", sparse_categorical),
    "sparse_categorical_crossentropy_probabilities": ("shares", "labels", sparse_categorical),
    "sparse_categorical_crossentropy_rank3": ("softmax", "labels_rank3", sparse_categorical),
    "binary_crossentropy_logits": ("linear", "binary", binary_logits),
    "binary_crossentropy_sigmoid": ("sigmoid", "binary", binary),
    "binary_crossentropy_probabilities": ("chances", "binary", binary),
    "binary_crossentropy_smoothing": ("sigmoid", "binary", lambda p, t: binary(p, smooth(t, 0.2, 2))),
    "binary_crossentropy_smoothing_logits": ("linear", "binary", lambda x, t: binary_logits(x, smooth(t, 0.2, 2))),
    "mean_squared_error": ("linear", "real", lambda y, t: (y - t)**2),
    "mean_squared_error_rank3": ("linear", "real_rank3", lambda y, t: (y - t)**2),
    "mean_absolute_error": ("linear", "real", lambda y, t: (y - t).abs()),
    "huber": ("linear", "real", lambda y, t: F.huber_loss(y, t, reduction="none")),
    "huber_delta": ("linear", "real", lambda y, t: F.huber_loss(y, t, reduction="none", delta=0.3)),
    "log_cosh": ("linear", "real", lambda y, t: torch.log(torch.cosh(y - t))),
    "hinge_signs": ("linear", "signs", hinge),
    "hinge_binary": ("linear", "binary", hinge),
    "hinge_real": ("linear", "real", hinge),
    "poisson": ("softplus", "counts", lambda y, t: y - t * (y + EPSILON).log()),
    "kl_divergence": ("softmax", "distribution", divergence),
}
# Without layers: predictions that are 0, 1 or beyond, in float32.
EXTREMES = {
    "categorical_crossentropy_extremes": ("one_hot", categorical),
    "sparse_categorical_crossentropy_extremes": ("labels", sparse_categorical),
    "binary_crossentropy_extremes": ("binary", binary),
    "poisson_extremes": ("counts", lambda y, t: y - t * (y + EPSILON).log()),
    "kl_divergence_extremes": ("distribution", divergence),
}


def part(number, *shape):
    """In [0, 1)."""
    return (hashed(number, shape) + 1) / 2


def make_targets():
    labels = (part(20, BATCH) * 4).floor().long()
    shares = part(24, BATCH, 4) + 0.1
    return {
        "labels": labels,
        "labels_rank3": (part(21, BATCH, 3) * 4).floor().long(),
        "one_hot": F.one_hot(labels, 4).double(),
        "binary": part(22, BATCH, 4).round(),
        "signs": part(22, BATCH, 4).round() * 2 - 1,
        "counts": (part(23, BATCH, 4) * 3).floor(),
        "distribution": (shares / shares.sum(-1, keepdim=True)).float().double(),
        "real": (hashed(25, (BATCH, 4)) * 2).float().double(),
        "real_rank3": hashed(26, (BATCH, 3, 4)),
    }


def make_loss(name, head, target, function):
    sample = (3, 5) if target.dim() == 3 or name.endswith("rank3") else (5,)
    x, weights = hashed(0, (BATCH, *sample)), [first_weight(2 + i, *s) for i, s in enumerate(kernel_and_bias(5, 4))]
    start = [w.detach().clone() for w in weights]

    def value():
        return function(HEADS[head](dense(x, weights)), target).mean()

    store(f"{name}.value", value())
    for _ in range(STEPS):
        descend(weights, value())
    store_weights(name, start, weights)


def make_losses():
    targets = make_targets()
    for kind, target in targets.items():
        is_label = target.dtype == torch.long
        ARRAYS[f"targets.{kind}"] = target.numpy().astype(np.int32 if is_label else np.float32)
    for name, (head, kind, function) in LOSSES.items():
        make_loss(name, head, targets[kind], function)
    extreme = (hashed(30, (BATCH, 4)) * 1.2 + 0.4).clamp(0, 1.3)
    extreme[:2] = torch.tensor([[0, 1, 0, 0], [0, 0, 1, 0]])
    extreme = extreme.float()
    store("predictions.extreme", extreme)
    for name, (kind, function) in EXTREMES.items():
        target = targets[kind]
        store(f"{name}.value", function(extreme, target if target.dtype == torch.long else target.float()).mean())


def in_top(predictions, labels, k):
    own = predictions.gather(-1, labels.unsqueeze(-1))
    return (predictions > own).sum(-1) < k


def make_metrics():
    # Rounded, so that some are equal.
    scores = (hashed(40, (40, 6)) * 10).round() / 10
    labels = (part(41, 40) * 6).floor().long()
    one_hot = F.one_hot(labels, 6).double()
    logits, binary_labels = hashed(42, (40, 1)) * 4, part(43, 40, 1).round()
    for name, value in ("scores", scores), ("logits", logits):
        store(f"predictions.{name}", value)
    for name, value in ("class", labels), ("class_one_hot", one_hot), ("class_binary", binary_labels):
        ARRAYS[f"targets.{name}"] = value.numpy().astype(np.int32 if value.dtype == torch.long else np.float32)
    right = torch.tensor(scores.numpy().argmax(-1)) == labels
    values = {
        "accuracy_binary": (logits > 0.5) == (binary_labels == 1),
        "accuracy_categorical": right,
        "accuracy_sparse": right,
        "categorical_accuracy": right,
        "sparse_categorical_accuracy": right,
        "binary_accuracy": (logits > 0.5) == (binary_labels == 1),
        "binary_accuracy_high": (logits > 1.5) == (binary_labels == 1),
        "binary_accuracy_low": (logits > -1.5) == (binary_labels == 1),
        "top_k_categorical_accuracy": in_top(scores, labels, 5),
        "top_k_categorical_accuracy_2": in_top(scores, labels, 2),
        "sparse_top_k_categorical_accuracy": in_top(scores, labels, 5),
        "sparse_top_k_categorical_accuracy_2": in_top(scores, labels, 2),
        "metric_mean_squared_error": (scores - one_hot)**2,
        "metric_mean_absolute_error": (scores - one_hot).abs(),
        "metric_of_loss": categorical_logits(scores, one_hot),
    }
    for name, value in values.items():
        store(f"{name}.value", value.double().mean())


def make_regularized():
    """Dense with l1 = 0.02 and l2 = 0.03 on the kernel and l2 = 0.05 on the bias."""
    x, target = hashed(0, (BATCH, 5)), hashed(1, (BATCH, 4))
    weights = [first_weight(2 + i, *s) for i, s in enumerate(kernel_and_bias(5, 4))]
    start = [w.detach().clone() for w in weights]

    def value():
        penalty = 0.02 * weights[0].abs().sum() + 0.03 * (weights[0]**2).sum() + 0.05 * (weights[1]**2).sum()
        return F.mse_loss(dense(x, weights), target) + penalty

    store("regularized.value", value())
    for _ in range(STEPS):
        descend(weights, value())
    store_weights("regularized", start, weights)


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    for name, case in LAYERS.items():
        make_layer(name, *case)
    make_embedding()
    confirm_rules()
    for name, settings in OPTIMIZERS.items():
        make_optimizer(name, settings)
    make_losses()
    make_metrics()
    make_regularized()
    np.savez(sys.argv[1], **ARRAYS)


if __name__ == "__main__":
    main()
