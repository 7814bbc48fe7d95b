# SPDX-License-Identifier: Apache-2.0
"""torchvision on Pando: data sets of images and their transforms."""
import typing as _typing

from pando.core.versions import VERSIONS as _VERSIONS
from pando.core.nearest import missing_attribute as _missing_attribute
from pando.torchvision import datasets, transforms, utils

__version__ = _VERSIONS["torchvision"]
__all__ = ["datasets", "transforms", "utils"]


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        raise _missing_attribute("torchvision", name, __all__)
