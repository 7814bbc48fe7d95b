# SPDX-License-Identifier: Apache-2.0
"""torchvision.transforms: what is done to images when they are fetched. Those that C++ has run there, for a whole batch at
once; a Compose of these and Python functions runs in Python."""
from __future__ import annotations

import numbers
import typing as _typing
from typing import Any

import numpy as np

from pando import _core
from pando.core.hints import Function
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.tensor import Tensor as CoreTensor
from pando.torch.tensor import Tensor

_make = _core.torchvision


def _pair(size):
    return (size, size) if isinstance(size, numbers.Integral) else tuple(size)


def as_array(image: Any) -> Any:
    """A picture of PIL's, a tensor or an array, as an array."""
    return image._array("transform") if isinstance(image, CoreTensor) else np.asarray(image)


class _Transform:
    """A transform of C++."""

    def __call__(self, image: Any) -> Any:
        result = self._core(np.ascontiguousarray(as_array(image)))
        return Tensor(result) if result.dtype == np.float32 else result

    def __repr__(self):
        return str(self._core)


class ToTensor(_Transform):
    """Turns an image [height, width] or [height, width, channels] of bytes into float32 [channels, height, width] in
    [0, 1]."""

    def __init__(self) -> None:
        self._core = _make.to_tensor()


class Normalize(_Transform):
    """(tensor - mean) / std, for each channel."""

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:  # noqa: ARG002
        as_list = [[float(x) for x in np.atleast_1d(as_array(values))] for values in (mean, std)]
        self.mean, self.std = mean, std
        self._core = _make.normalize(*as_list)


class RandomCrop(_Transform):
    """Cuts a part of this size from a random place."""

    def __init__(self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill: float = 0,
                 padding_mode: str = "constant") -> None:
        if pad_if_needed:
            raise ValueError("RandomCrop: pad_if_needed=True is not in Pando; give the padding")
        padding = 0 if padding is None else padding if isinstance(padding, int) else int(padding[0])
        self._core = _make.random_crop(_pair(size), padding, float(fill), padding_mode)


class RandomHorizontalFlip(_Transform):
    """Mirrors an image with probability p."""

    def __init__(self, p: float = 0.5) -> None:
        self._core = _make.random_horizontal_flip(p)


class Resize(_Transform):
    """Resizes to (height, width); one number is the size of both for square images."""

    def __init__(self, size: Any, interpolation: Any = None, max_size: int | None = None,
                 antialias: bool | None = None) -> None:  # noqa: ARG002
        self._core = _make.resize(_pair(size))


class CenterCrop:
    """The middle of an image."""

    def __init__(self, size: Any) -> None:
        self.size = _pair(size)

    def __call__(self, image: Any) -> Any:
        array = as_array(image)
        is_tensor = isinstance(image, CoreTensor)
        high, wide = array.shape[-2:] if is_tensor else array.shape[:2]
        top, left = (high - self.size[0]) // 2, (wide - self.size[1]) // 2
        rows, columns = slice(top, top + self.size[0]), slice(left, left + self.size[1])
        return Tensor(np.ascontiguousarray(array[..., rows, columns])) if is_tensor else array[rows, columns]

    def __repr__(self):
        return f"CenterCrop(size={self.size})"


class Lambda:
    """A function of an image."""

    def __init__(self, lambd: Function) -> None:
        self.lambd = lambd

    def __call__(self, image: Any) -> Any:
        return self.lambd(image)

    def __repr__(self):
        return "Lambda()"


class Grayscale:
    """The brightness of a coloured image."""

    def __init__(self, num_output_channels: int = 1) -> None:
        self.num_output_channels = num_output_channels

    def __call__(self, image: Any) -> Any:
        array = as_array(image).astype(np.float32)
        grey = array @ np.array([0.299, 0.587, 0.114], np.float32) if array.ndim == 3 else array
        grey = grey.round().astype(np.uint8)
        return np.stack([grey] * self.num_output_channels, -1) if self.num_output_channels > 1 else grey


class PILToTensor:
    """The bytes of an image as a tensor [channels, height, width]."""

    def __call__(self, image: Any) -> Any:
        array = as_array(image)
        return Tensor(array[None] if array.ndim == 2 else np.ascontiguousarray(array.transpose(2, 0, 1)))


class Compose:
    """Applies transforms one after the other."""

    def __init__(self, transforms: Any) -> None:
        self.transforms = list(transforms)

    @property
    def _core(self):
        """The same as one transform of C++, or None if a part of it is Python's."""
        cores = [core_of(transform) for transform in self.transforms]
        return _make.compose(cores) if cores and all(core is not None for core in cores) else None

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image

    def __repr__(self):
        return "Compose(\n" + "".join(f"    {transform}\n" for transform in self.transforms) + ")"


def core_of(transform: Function | None) -> Any:
    """The transform of C++, or None."""
    return getattr(transform, "_core", None)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
