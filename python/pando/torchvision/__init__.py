# SPDX-License-Identifier: Apache-2.0
"""torchvision on Pando: data sets of images and their transforms."""
from pando.core.nearest import missing_attribute as _missing_attribute
from pando.torchvision import datasets, transforms, utils

__version__ = "0.14.1+pando"
__all__ = ["datasets", "transforms", "utils"]


def __getattr__(name):
    raise _missing_attribute("torchvision", name, __all__)
