# SPDX-License-Identifier: Apache-2.0
"""torchvision.utils: many images as one, and files of them."""
from __future__ import annotations

import math
import typing as _typing
from typing import Any

import numpy as np

from pando.core.nearest import attributes_of as _attributes_of
from pando.torch.tensor import Tensor


def make_grid(tensor: Any, nrow: int = 8, padding: Any = 2, normalize: bool = False, value_range: Any = None,
              pad_value: float = 0.0, **_: Any) -> Any:
    """The images [n, channels, height, width] side by side, in rows of `nrow`."""
    images = np.stack([t._array("make_grid") for t in tensor]) if isinstance(tensor, (list, tuple)) else \
        tensor._array("make_grid")
    if images.ndim < 4:
        images = images.reshape(1, *images.shape[:-2] or (1,), *images.shape[-2:])
    if images.shape[1] == 1:
        images = np.repeat(images, 3, 1)
    if normalize:
        low, high = value_range or (images.min(), images.max())
        images = (np.clip(images, low, high) - low) / max(high - low, 1e-5)
    count, channels, high, wide = images.shape
    columns = min(nrow, count)
    rows = math.ceil(count / columns)
    grid = np.full((channels, rows * (high + padding) + padding, columns * (wide + padding) + padding), pad_value,
                   np.float32)
    for i in range(count):
        top, left = i // columns * (high + padding) + padding, i % columns * (wide + padding) + padding
        grid[:, top:top + high, left:left + wide] = images[i]
    return Tensor(grid)


def save_image(tensor: Any, fp: Any, format: Any = None, **options: Any) -> Any:  # noqa: A002
    """Writes a grid of the images as a PNG file; needs matplotlib."""
    import matplotlib.image
    grid = make_grid(tensor, **options)._array("save_image")
    matplotlib.image.imsave(fp, np.clip(grid.transpose(1, 2, 0) * 255 + 0.5, 0, 255).astype(np.uint8), format=format)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
