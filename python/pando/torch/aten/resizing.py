# SPDX-License-Identifier: Apache-2.0
"""Images of other sizes: borders and interpolation, as products with matrices and choices of places."""
import numpy as np

from pando.torch.aten.table import aten
from pando.torch.layout import swap_axes, taken
from pando.torch.symbols import is_float, op, rank, vjp
from pando.torch.unsupported import refuse


# ---- borders
def bordered(x, widths, mode):
    """x with its last axes padded by elements of its own, as np.pad does."""
    pairs = [(widths[i], widths[i + 1]) for i in range(len(widths) - 2, -1, -2)]
    for offset, (before, after) in enumerate(pairs):
        axis = rank(x) - len(pairs) + offset
        n = x.shape[axis]
        cut = np.arange(n)[max(-before, 0):n - max(-after, 0)]
        x = taken(x, axis, np.pad(cut, (max(before, 0), max(after, 0)), mode)) if before or after else x
    return x


def border(name, mode):
    @aten(*(f"{name}_pad{axes}d" for axes in (1, 2, 3)))
    def forward(c, x, widths):
        return bordered(x, widths, mode)

    @aten(*(f"{name}_pad{axes}d_backward" for axes in (1, 2, 3)))
    def backward(c, g, x, widths):
        return vjp(lambda v: bordered(v, widths, mode), [x], g)[0]


border("reflection", "reflect")
border("replication", "edge")


# ---- interpolation
def interpolated(c, x, matrices):
    """Each of the last axes of x times its matrix [n, out]."""
    for i, matrix in enumerate(reversed(matrices)):
        axis, last = rank(x) - 1 - i, rank(x) - 1
        x = swap_axes(op("matmul", swap_axes(x, axis, last), c.constant(matrix)), axis, last)
    return x


def steps(n, out, scale):
    """How far neighbours of the result lie apart in the image."""
    return np.float32(1 / scale) if scale else np.float32(n / out)


def nearest_places(n, out, scale, exact):
    at = (np.arange(out, dtype=np.float32) + np.float32(0.5 if exact else 0)) * steps(n, out, scale)
    return np.minimum(at.astype(int), n - 1)


def linear_matrix(n, out, align_corners, scale):
    if align_corners:
        at = np.arange(out, dtype=np.float32) * np.float32((n - 1) / (out - 1) if out > 1 else 0)
    else:
        at = np.maximum((np.arange(out, dtype=np.float32) + np.float32(0.5)) * steps(n, out, scale) - np.float32(0.5), 0)
    low = np.minimum(at.astype(int), n - 1)
    share = np.clip(at - low, 0, 1).astype(np.float32)
    made = np.zeros((n, out), np.float32)
    np.add.at(made, (low, np.arange(out)), 1 - share)
    np.add.at(made, (np.minimum(low + 1, n - 1), np.arange(out)), share)
    return made


def scales_of(arguments, axes):
    """The numbers that say how much larger the result is, which PyTorch (.vec) gives as a list or (.default) one by one."""
    if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)):
        return list(arguments[0])
    return (list(arguments) + [None] * axes)[:axes]


def nearest(name, axes, exact):
    def forward_of(x, sizes, scales):
        for i, (out, scale) in enumerate(zip(sizes, scales)):
            axis = rank(x) - axes + i
            x = taken(x, axis, nearest_places(x.shape[axis], out, scale, exact))
        return x

    @aten(name)
    def forward(c, x, size, *scales):
        return forward_of(x, c.shape[-axes:], scales_of(scales, axes))

    @aten(f"{name}_backward")
    def backward(c, g, size, input_size, *scales):
        return vjp(lambda v: forward_of(v, list(g.shape[-axes:]), scales_of(scales, axes)), [c.full(input_size, 0, "float32")],
                   g)[0]


for _axes in (1, 2, 3):
    nearest(f"upsample_nearest{_axes}d", _axes, False)
    nearest(f"_upsample_nearest_exact{_axes}d", _axes, True)


def linear(name, axes):
    def matrices(sizes, out, align_corners, scales):
        return [linear_matrix(n, m, align_corners, scale) for n, m, scale in zip(sizes, out, scales)]

    @aten(name)
    def forward(c, x, size, align_corners, *scales):
        if not is_float(x):
            refuse("interpolation of integers; use float32")
        return interpolated(c, x, matrices(x.shape[-axes:], c.shape[-axes:], align_corners, scales_of(scales, axes)))

    @aten(f"{name}_backward")
    def backward(c, g, size, input_size, align_corners, *scales):
        found = matrices(input_size[-axes:], g.shape[-axes:], align_corners, scales_of(scales, axes))
        return interpolated(c, g, [matrix.T for matrix in found])


linear("upsample_linear1d", 1)
linear("upsample_bilinear2d", 2)
linear("upsample_trilinear3d", 3)
