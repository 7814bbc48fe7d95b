# SPDX-License-Identifier: Apache-2.0
"""Pooling, of windows and to a size."""
import math

import numpy as np

from pando.torch.aten.table import Absent, aten
from pando.torch.layout import channels_first, channels_last, mean, reshape, swap_axes
from pando.torch.symbols import multiply, op, rank, vjp
from pando.torch.unsupported import refuse


class Pooling:
    """The arguments of a pooling op of PyTorch over the last axes of a tensor of one size."""

    def __init__(self, x, axes, kernel, stride, padding, ceil_mode, dilation=(1,)):
        self.axes = axes
        self.kernel, self.stride, self.padding, self.dilation = (
            [int(n) for n in v] * (axes // len(v)) for v in (kernel, stride or kernel, padding or [0], dilation))
        self.after = list(self.padding)
        self.exceeds = False
        for i in range(axes):
            n, s, p = x.shape[i - axes], self.stride[i], self.padding[i]
            k = (self.kernel[i] - 1) * self.dilation[i] + 1
            if ceil_mode:
                count = -(-(n + 2 * p - k) // s) + 1
                count -= (count - 1) * s >= n + p    # a window must begin in the image or before it
                self.after[i] = max((count - 1) * s + k - n - p, 0)
                self.exceeds = self.exceeds or self.after[i] > p

    def counts(self, y, x, i):
        """How many places of the padded tensor lie in each window along an axis."""
        axis = i - self.axes
        begin = np.arange(y.shape[axis]) * self.stride[i] - self.padding[i]
        made = np.minimum(begin + self.kernel[i], x.shape[axis] + self.padding[i]) - begin
        return made.reshape([-1] + [1] * (-axis - 1))

    def pooled(self, name, x, **attributes):
        """Pando pools images, and volumes where there are three axes or dilations."""
        flat = any(d != 1 for d in self.dilation) and self.axes == 2
        numbers = [self.kernel, self.stride, [n for pair in zip(self.padding, self.after) for n in pair]]
        if self.axes == 3 or flat:
            name += "3d"
            if name == "max_pool3d":
                attributes["dilations"] = [1] * flat + self.dilation
        if flat:
            numbers = [[1, *numbers[0]], [1, *numbers[1]], [0, 0, *numbers[2]]]
        batch = [1] if rank(x) == self.axes + 1 else []
        places = list(x.shape[-self.axes:])
        images = reshape(x, [*batch, *x.shape[:-self.axes], *[1] * flat, *places])
        y = channels_first(op(name, channels_last(images), window=numbers[0], strides=numbers[1], padding=numbers[2],
                              **attributes))
        return reshape(y, [*x.shape[:-self.axes], *y.shape[-self.axes:]])


def max_pooling(name, axes):
    def pooled(x, kernel, stride, padding, dilation, ceil_mode):
        return Pooling(x, axes, kernel, stride, padding, ceil_mode, dilation).pooled("max_pool", x)

    @aten(name)
    def forward(c, x, kernel, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
        return pooled(x, kernel, stride, padding, dilation, ceil_mode), Absent("list of places of max pooling")

    @aten(f"{name}_backward", takes_absent=True)
    def backward(c, g, x, kernel, stride, padding, dilation, ceil_mode, indices):
        if not isinstance(indices, Absent):
            refuse("places of max pooling from elsewhere")
        return vjp(lambda v: pooled(v, kernel, stride, padding, dilation, ceil_mode), [x], g)[0]


max_pooling("max_pool2d_with_indices", 2)
max_pooling("max_pool3d_with_indices", 3)


def average_pooling(name, axes):
    def pooled(c, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
        pooling = Pooling(x, axes, kernel, stride, padding, ceil_mode)
        counted = count_include_pad and any(pooling.padding)
        if not divisor_override and not (pooling.exceeds and counted):
            return pooling.pooled("average_pool", x, count_padding=bool(counted))
        whole = pooling.pooled("average_pool", x, count_padding=True)    # each divided by the size of the whole window
        divisors = divisor_override or math.prod(pooling.counts(whole, x, i) for i in range(axes))
        return multiply(whole, c.constant(math.prod(pooling.kernel) / divisors, "float32"))

    @aten(name)
    def forward(c, x, kernel, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True, divisor_override=None):
        return pooled(c, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)

    @aten(f"{name}_backward")
    def backward(c, g, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
        return vjp(lambda v: pooled(c, v, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override), [x], g)[0]


average_pooling("avg_pool2d", 2)
average_pooling("avg_pool3d", 3)


# ---- pooling to a size
def shares(n, out):
    """[n, out]: what averages n places to `out` as adaptive pooling does."""
    made = np.zeros((n, out), np.float32)
    for i in range(out):
        begin, end = i * n // out, -(-(i + 1) * n // out)
        made[begin:end, i] = 1 / (end - begin)
    return made


@aten("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_avg_pool(c, x, size):
    return adaptive(c, x, list(size))


def adaptive(c, x, size):
    if all(n == 1 for n in size):
        return mean(x, list(range(-len(size), 0)), True)
    for i, out in enumerate(size):
        axis, last = rank(x) - len(size) + i, rank(x) - 1
        if x.shape[axis] != out:
            x = swap_axes(op("matmul", swap_axes(x, axis, last), c.constant(shares(x.shape[axis], out))), axis, last)
    return x


@aten("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(c, g, x):
    axes = 3 if "3d" in c.node.target._schema.name else 2
    return vjp(lambda v: adaptive(c, v, list(g.shape[-axes:])), [x], g)[0]


# ---- the largest of parts of equal size
def adaptive_max_pooling(name):
    def pooled(x, size):
        places = x.shape[-len(size):]
        if any(n % out for n, out in zip(places, size)):
            refuse("adaptive max pooling to a size that does not divide that of the image")
        return Pooling(x, len(size), [n // out for n, out in zip(places, size)], (), (), False).pooled("max_pool", x)

    @aten(name)
    def forward(c, x, size):
        return pooled(x, size), Absent("list of places of max pooling", size=list(size))

    @aten(f"{name}_backward", takes_absent=True)
    def backward(c, g, x, indices):
        if not isinstance(indices, Absent):
            refuse("places of max pooling from elsewhere")
        return vjp(lambda v: pooled(v, indices.kept["size"]), [x], g)[0]


adaptive_max_pooling("adaptive_max_pool2d")
adaptive_max_pooling("adaptive_max_pool3d")
