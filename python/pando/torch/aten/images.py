# SPDX-License-Identifier: Apache-2.0
"""Convolution of signals, images and volumes. PyTorch's [N, C, H, W] is put around Pando's [N, H, W, C]; the compiler removes
transposes that meet. Signals of one axis are images of height 1."""
from pando.torch.aten.table import aten
from pando.torch.layout import channels_first, channels_last, reshape, total, transpose
from pando.torch.symbols import add, op, rank, vjp
from pando.torch.unsupported import refuse


def as_image(x):
    """A signal [N, C, W] as an image [N, C, 1, W]."""
    return x if rank(x) > 3 else reshape(x, [*x.shape[:2], 1, x.shape[2]])


def pair(values, other):
    """One number of each axis of an image, and `other` for the height of a signal."""
    return [other, *values] if len(values) == 1 else list(values)


# ---- convolution
class Geometry:
    """The arguments of a convolution."""

    def __init__(self, stride, padding, dilation, transposed, output_padding, groups):
        if len(stride) > 3 or any(p < 0 for p in padding):
            refuse("convolution over more than three axes, or with negative padding")
        self.transposed, self.groups = transposed, groups
        self.stride, self.dilation, self.padding = pair(stride, 1), pair(dilation, 1), pair(padding, 0)

    def forward(self, x, w):
        """What the filters [O, I / groups, H, W] make of images."""
        axes = range(2, rank(w))
        y = op(f"conv{len(axes)}d", channels_last(x), transpose(w, [*axes, 1, 0]), strides=self.stride,
               dilations=self.dilation, padding=[p for p in self.padding for _ in range(2)], groups=self.groups)
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
