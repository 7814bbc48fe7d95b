# SPDX-License-Identifier: Apache-2.0
"""Convolution and pooling. PyTorch's [N, C, H, W] is put around Pando's [N, H, W, C]; the compiler removes transposes that
meet. Signals of one axis are images of height 1."""
import math

import numpy as np

from pando.torch.aten.table import Absent, aten
from pando.torch.layout import mean, reshape, swap_axes, total, transpose
from pando.torch.symbols import add, multiply, op, rank, vjp
from pando.torch.unsupported import refuse


def channels_last(x):
    return transpose(x, [0, 2, 3, 1])


def channels_first(x):
    return transpose(x, [0, 3, 1, 2])


def as_image(x):
    """A signal [N, C, W] as an image [N, C, 1, W]."""
    return x if rank(x) == 4 else reshape(x, [*x.shape[:2], 1, x.shape[2]])


def pair(values, other):
    """One number of each axis of an image, and `other` for the height of a signal."""
    return [other, *values] if len(values) == 1 else list(values)


# ---- convolution
class Geometry:
    """The arguments of a convolution of images."""

    def __init__(self, stride, padding, dilation, transposed, output_padding, groups):
        if len(stride) > 2 or any(p < 0 for p in padding):
            refuse("convolution over more than two axes, or with negative padding")
        self.transposed, self.groups = transposed, groups
        self.stride, self.dilation, self.padding = pair(stride, 1), pair(dilation, 1), pair(padding, 0)

    def forward(self, x, w):
        """What the filters [O, I / groups, H, W] make of images."""
        padding = [self.padding[0], self.padding[0], self.padding[1], self.padding[1]]
        y = op("conv2d", channels_last(x), transpose(w, [2, 3, 1, 0]), strides=self.stride, dilations=self.dilation,
               padding=padding, groups=self.groups)
        return channels_first(y)

    def backward_of_input(self, g, w, like):
        return vjp(lambda x: self.forward(x, w), [like], g)[0]

    def backward_of_filters(self, g, x, like):
        return vjp(lambda w: self.forward(x, w), [like], g)[0]


@aten("convolution")
def convolution(c, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    geometry, shape = Geometry(stride, padding, dilation, transposed, output_padding, groups), c.shape
    images, filters = as_image(x), as_image(w)
    if transposed:
        like = c.full([*shape[:2], *pair(shape[2:], 1)], 0, "float32")
        y = geometry.backward_of_input(images, filters, like)
    else:
        y = geometry.forward(images, filters)
    y = reshape(y, shape)
    return y if bias is None else add(y, reshape(bias, [-1] + [1] * (len(shape) - 2)))


@aten("convolution_backward")
def convolution_backward(c, g, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    geometry = Geometry(stride, padding, dilation, transposed, output_padding, groups)
    gy, images, filters = as_image(g), as_image(x), as_image(w)
    gx = gw = None
    if transposed:    # the forward op is the gradient of a convolution, whose own gradients are these
        gx = geometry.forward(gy, filters) if mask[0] else None
        gw = geometry.backward_of_filters(images, gy, filters) if mask[1] else None
    else:
        gx, gw = vjp(geometry.forward, [images, filters], gy, mask[:2]) if any(mask[:2]) else (None, None)
    gb = total(g, [0, *range(2, rank(g))]) if mask[2] else None
    return gx and reshape(gx, x.shape), gw and reshape(gw, w.shape), gb


# ---- pooling
class Pooling:
    """The arguments of a pooling op of PyTorch for images of one size."""

    def __init__(self, x, kernel, stride, padding, ceil_mode):
        self.kernel, self.stride, self.padding = ([int(n) for n in v] * (2 // len(v))
                                                  for v in (kernel, stride or kernel, padding or [0]))
        self.after = list(self.padding)
        self.exceeds = False
        for i in range(2):
            n, k, s, p = x.shape[i - 2], self.kernel[i], self.stride[i], self.padding[i]
            if ceil_mode:
                count = -(-(n + 2 * p - k) // s) + 1
                count -= (count - 1) * s >= n + p    # a window must begin in the image or before it
                self.after[i] = max((count - 1) * s + k - n - p, 0)
                self.exceeds = self.exceeds or self.after[i] > p

    def counts(self, y, x, i):
        """How many places of the padded image lie in each window along an axis."""
        begin = np.arange(y.shape[i - 2]) * self.stride[i] - self.padding[i]
        return np.minimum(begin + self.kernel[i], x.shape[i - 2] + self.padding[i]) - begin

    def pooled(self, name, x, **attributes):
        sizes = list(x.shape)
        images = x if rank(x) == 4 else reshape(x, [1, *sizes])
        padding = [self.padding[0], self.after[0], self.padding[1], self.after[1]]
        y = channels_first(op(name, channels_last(images), window=self.kernel, strides=self.stride, padding=padding,
                              **attributes))
        return y if rank(x) == 4 else reshape(y, y.shape[1:])


@aten("max_pool2d_with_indices")
def max_pool(c, x, kernel, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    if any(d != 1 for d in dilation):
        refuse("max pooling with dilation")
    return Pooling(x, kernel, stride, padding, ceil_mode).pooled("max_pool", x), Absent("list of places of max pooling")


@aten("max_pool2d_with_indices_backward", takes_absent=True)
def max_pool_backward(c, g, x, kernel, stride, padding, dilation, ceil_mode, indices):
    if not isinstance(indices, Absent):
        refuse("places of max pooling from elsewhere")
    return vjp(lambda v: Pooling(v, kernel, stride, padding, ceil_mode).pooled("max_pool", v), [x], g)[0]


def average(c, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    pooling = Pooling(x, kernel, stride, padding, ceil_mode)
    if not divisor_override and not (pooling.exceeds and count_include_pad and any(pooling.padding)):
        return pooling.pooled("average_pool", x, count_padding=bool(count_include_pad and any(pooling.padding)))
    whole = pooling.pooled("average_pool", x, count_padding=True)    # each divided by the area of the whole window
    divisors = divisor_override or np.outer(pooling.counts(whole, x, 0), pooling.counts(whole, x, 1))
    return multiply(whole, c.constant(math.prod(pooling.kernel) / divisors, "float32"))


@aten("avg_pool2d")
def avg_pool(c, x, kernel, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True, divisor_override=None):
    return average(c, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


@aten("avg_pool2d_backward")
def avg_pool_backward(c, g, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    return vjp(lambda v: average(c, v, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override), [x], g)[0]


def shares(n, out):
    """[n, out]: what averages n places to `out` as adaptive pooling does."""
    made = np.zeros((n, out), np.float32)
    for i in range(out):
        begin, end = i * n // out, -(-(i + 1) * n // out)
        made[begin:end, i] = 1 / (end - begin)
    return made


@aten("_adaptive_avg_pool2d")
def adaptive_avg_pool(c, x, size):
    return adaptive(c, x, list(size))


def adaptive(c, x, size):
    if size == [1, 1]:
        return mean(x, [-2, -1], True)
    if size == list(x.shape[-2:]):
        return x
    x = op("matmul", x, c.constant(shares(x.shape[-1], size[1])))
    down = op("matmul", swap_axes(x, rank(x) - 1, rank(x) - 2), c.constant(shares(x.shape[-2], size[0])))
    return swap_axes(down, rank(x) - 1, rank(x) - 2)


@aten("_adaptive_avg_pool2d_backward")
def adaptive_avg_pool_backward(c, g, x):
    return vjp(lambda v: adaptive(c, v, list(g.shape[-2:])), [x], g)[0]


# ---- the largest of parts of equal size
@aten("adaptive_max_pool2d")
def adaptive_max_pool(c, x, size):
    return parts_of_equal_size(x, size).pooled("max_pool", x), Absent("list of places of max pooling", size=list(size))


@aten("adaptive_max_pool2d_backward", takes_absent=True)
def adaptive_max_pool_backward(c, g, x, indices):
    if not isinstance(indices, Absent):
        refuse("places of max pooling from elsewhere")
    return vjp(lambda v: parts_of_equal_size(v, indices.kept["size"]).pooled("max_pool", v), [x], g)[0]


def parts_of_equal_size(x, size):
    if any(n % out for n, out in zip(x.shape[-2:], size)):
        refuse("adaptive max pooling to a size that does not divide that of the image")
    return Pooling(x, [n // out for n, out in zip(x.shape[-2:], size)], (), (), False)
