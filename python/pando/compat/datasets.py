# SPDX-License-Identifier: Apache-2.0
"""torchvision finds the data sets that Pando has fetched: where MNIST or FashionMNIST would be downloaded, their files are
copied from Pando's folder into the one that torchvision reads."""
from __future__ import annotations

import functools
import gzip
import importlib.abc
import importlib.machinery
import os
import shutil
from typing import Any

from pando import _core
from pando.core.messages import notice_once

_MODULE = "torchvision.datasets.mnist"
_SETS = {"MNIST": "mnist", "FashionMNIST": "fashion_mnist"}
_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


class DatasetFinder(importlib.abc.MetaPathFinder):
    """Finds torchvision's module of MNIST as Python does, and changes what its classes do instead of a download."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """The spec of that module, and None for every other."""
        if fullname != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                _change(module)
            spec.loader.exec_module = exec_module
        return spec


def _change(module):
    sets = {str(getattr(module, name).resources): kept for name, kept in _SETS.items()}
    download = module.MNIST.download

    @functools.wraps(download)
    def found_or_downloaded(self):
        name = sets.get(str(self.resources))
        if name is not None and not self._check_exists():
            _copy(name, self.raw_folder)
        download(self)
    module.MNIST.download = found_or_downloaded


def _copy(name, folder):
    """Copies the files of a data set, decompressed, if Pando has them."""
    source = _core.dataset_folder(name)
    if not source:
        return
    os.makedirs(folder, exist_ok=True)
    for file in _FILES:
        path = os.path.join(source, file)
        opened = open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz")
        # Another process may read the folder.
        made = os.path.join(folder, f".{file}.{os.getpid()}")
        with opened as compressed, open(made, "wb") as plain:
            shutil.copyfileobj(compressed, plain)
        os.replace(made, os.path.join(folder, file))
    notice_once("datasets", f"{folder}: copied from {source}, where Pando keeps this data set")
