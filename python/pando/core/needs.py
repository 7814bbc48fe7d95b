# SPDX-License-Identifier: Apache-2.0
"""Packages that Pando works with and does not bring."""
import contextlib
import importlib.abc
import importlib.util

# What it is called, and the packages of Debian and of the Python package index.
_PACKAGES = {"torch": ("PyTorch", "python3-torch", "torch"),
             "torchvision": ("torchvision", "python3-torchvision", "torchvision")}


def _error(package, who):
    title, debian, index = _PACKAGES[package]
    # Without the name of the module in it, the exception also reaches the user of `from a import b`.
    return ModuleNotFoundError(f"{who} needs {title}: apt install {debian}, or pip install {index}")


def need(package, who):
    """Raises ModuleNotFoundError, which says how to install the package, if it is not there."""
    with contextlib.suppress(ModuleNotFoundError):    # as Absent says
        if importlib.util.find_spec(package) is not None:
            return
    raise _error(package, who)


class Absent(importlib.abc.MetaPathFinder):
    """The last finder while a program runs that was written for these packages."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname in _PACKAGES:
            raise _error(fullname, "the program")
        return None
