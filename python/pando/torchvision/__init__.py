# SPDX-License-Identifier: Apache-2.0
"""torchvision on Pando: data sets of images and their transforms."""
from pando.compat.versions import VERSIONS as _VERSIONS
from pando.core.nearest import missing_attribute as _missing_attribute
from pando.torchvision import datasets, transforms, utils

__version__ = _VERSIONS["torchvision"]
__all__ = ["datasets", "transforms", "utils"]


def __getattr__(name):
    raise _missing_attribute("torchvision", name, __all__)
