# SPDX-License-Identifier: Apache-2.0
"""torchvision.datasets: images and labels. MNIST and Fashion-MNIST are read from `root`, as torchvision lays the files out,
or found by Pando's own search, which downloads them if they are nowhere."""
from __future__ import annotations

import os
import shutil
import tempfile
import typing as _typing
from typing import Any

import numpy as np

from pando import _core
from pando.core.hints import Function, Path
from pando.core.nearest import attributes_of as _attributes_of
from pando.torch.tensor import Tensor
from pando.torch.utils.data import Dataset
from pando.torchvision.transforms import core_of

_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def picture(array: np.ndarray) -> Any:
    """A picture of PIL's if that is installed, else the array."""
    try:
        from PIL import Image
    except ImportError:
        return array
    return Image.fromarray(array)


class VisionDataset(Dataset):
    """Images, bytes [n, height, width] or [n, height, width, channels], and their labels."""

    def __init__(self, root: Path, transform: Function | None = None, target_transform: Function | None = None,
                 transforms: Any = None) -> None:
        self.root = os.path.expanduser(root) if isinstance(root, (str, os.PathLike)) else root
        if transforms is not None:
            raise ValueError("transforms: give transform and target_transform instead")
        self.transform, self.target_transform = transform, target_transform

    def __len__(self):
        return len(self._images)

    def __getitem__(self, index):
        image, label = self._images[int(index)], int(self._labels[int(index)])
        if self.transform is not None:
            image = self.transform(image if core_of(self.transform) is not None else picture(image))
        else:
            image = picture(image)
        return image, label if self.target_transform is None else self.target_transform(label)

    def _core_loader(self, subset, *options):
        """C++ loads the batches if nothing of it is Python's; None otherwise."""
        core = core_of(self.transform)
        if core is None or self.target_transform is not None:
            return None
        dataset = _core.torchvision.VisionDataset(self._images, self._labels.astype(np.int32), core,
                                                  list(getattr(self, "classes", [])))
        return _core.data.image_loader(dataset, subset, *options)

    @property
    def data(self) -> Any:
        """All images, as one tensor."""
        return Tensor(self._images)

    @property
    def targets(self) -> Any:
        """All classes, as one tensor."""
        return Tensor(self._labels)

    def __repr__(self):
        lines = [f"Dataset {type(self).__name__}", f"    Number of datapoints: {len(self)}"]
        if self.root is not None:
            lines.append(f"    Root location: {self.root}")
        if hasattr(self, "train"):
            lines.append(f"    Split: {'Train' if self.train else 'Test'}")
        if self.transform is not None:
            text = repr(self.transform).replace("\n", "\n           ")
            lines += ["    StandardTransform", f"Transform: {text}"]
        return "\n".join(lines)


class MNIST(VisionDataset):
    """28 x 28 grey images of digits: 60,000 to train on, 10,000 to test with."""
    _name = "mnist"
    classes = ["0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven",
               "8 - eight", "9 - nine"]

    def __init__(self, root: Path, train: bool = True, transform: Function | None = None,
                 target_transform: Function | None = None, download: bool = False) -> None:
        super().__init__(root, transform, target_transform)
        self.train = train
        folder = self._folder()
        if folder is None:
            if not download:
                raise RuntimeError("Dataset not found. You can use download=True to download it")
            folder = self._fetch()
        arrays = _core.torchvision.load(self._name, folder)
        images, labels = arrays[:2] if train else arrays[2:]
        limit = int(os.environ.get("PANDO_TEST_SAMPLES", "0")) or len(images)
        self._images, self._labels = images[:limit], labels[:limit].astype(np.int64)

    @property
    def raw_folder(self) -> Any:
        """Where the downloaded files are."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> Any:
        """The number of each class by its name."""
        return {name: i for i, name in enumerate(self.classes)}

    def _folder(self):
        """Where the four files are, plain or gzipped: root/MNIST/raw, or root itself."""
        for folder in (self.raw_folder, self.root):
            if any(all(os.path.exists(os.path.join(folder, name + end)) for name in _FILES) for end in ("", ".gz")):
                return folder
        return None

    def _fetch(self):
        """Loads the files by Pando's search and copies them into `root`, where others find them, too."""
        _core.torchvision.load(self._name, "")
        source = _core.torchvision.folder_of(self._name)
        os.makedirs(os.path.dirname(self.raw_folder), exist_ok=True)
        made = tempfile.mkdtemp(dir=os.path.dirname(self.raw_folder), prefix="raw.")
        try:
            for name in os.listdir(source):
                if name.removesuffix(".gz") in _FILES:
                    shutil.copyfile(os.path.join(source, name), os.path.join(made, name))
            os.chmod(made, 0o755)
            os.rename(made, self.raw_folder)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            if self._folder() is None:
                return source
        return self.raw_folder


class FashionMNIST(MNIST):
    """28 x 28 grey images of clothes."""
    _name = "fashion_mnist"
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class FakeData(VisionDataset):
    """Random images, for tests."""

    def __init__(self, size: int = 1000, image_size: Any = (3, 224, 224), num_classes: int = 10,
                 transform: Function | None = None, target_transform: Function | None = None,
                 random_offset: int = 0) -> None:
        super().__init__(None, transform, target_transform)
        draw = np.random.default_rng(random_offset)
        channels, high, wide = image_size
        shape = (size, high, wide) if channels == 1 else (size, high, wide, channels)
        self._images, self._labels = draw.integers(0, 256, shape, np.uint8), draw.integers(0, num_classes, size)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
