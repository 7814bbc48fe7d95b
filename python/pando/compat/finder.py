# SPDX-License-Identifier: Apache-2.0
"""The finder that lets ``import tensorflow`` and others find Pando's packages.

It answers for every name under a framework's, found or not. If it left some to Python, Python would find them in the
``__path__`` of Pando's package, and load that module a second time under another name, with classes of its own.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pkgutil
import sys
import types
from typing import Any

from pando.compat.names import ALIASES, FOLDERS, target_of
from pando.core.nearest import nearest


class _Loader(importlib.abc.Loader):
    """Puts Pando's module under the name that was asked for."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def create_module(self, spec: Any) -> Any:
        # The import system writes its spec into what is returned here, so it must not be the real module.
        return None

    def exec_module(self, module: Any) -> Any:
        sys.modules[module.__name__] = importlib.import_module(self._target)


class _FolderLoader(importlib.abc.Loader):
    """Makes a module that only holds others."""

    def create_module(self, spec: Any) -> Any:
        module = types.ModuleType(spec.name, "Holds the modules of Pando that have this beginning of their names.")
        module.__path__ = []
        return module

    def exec_module(self, module: Any) -> Any:
        pass


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the frameworks that it stands for."""

    def __init__(self) -> None:
        self.roots = set()

    def find_spec(self, fullname: Any, path: Any = None, target: Any = None) -> Any:
        """Where Python finds the module of this name: Pando's package, or nothing for a name that is not shadowed."""
        if fullname.partition(".")[0] not in self.roots:
            return None
        if fullname in FOLDERS:
            return importlib.machinery.ModuleSpec(fullname, _FolderLoader(), is_package=True)
        real = target_of(fullname)
        if not _exists(real):
            # Without the name of the module in it, the exception also reaches the user of `from a import b`.
            raise ModuleNotFoundError(_absence(fullname))
        return importlib.machinery.ModuleSpec(fullname, _Loader(real))


def _exists(name):
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _absence(name):
    root = name.partition(".")[0]
    found = nearest(name, [known for known in modules() if known.partition(".")[0] == root])
    hint = f"; the nearest is {found}" if found else ""
    return f"{name} is not in Pando, which stands for {root} here{hint}"


def modules() -> Any:
    """The names of all modules that the packages stand for."""
    names = set(ALIASES) | set(FOLDERS)
    for alias, real in ALIASES.items():
        try:
            folders = importlib.util.find_spec(real).submodule_search_locations
        except ImportError:
            continue  # the names that there are help even then
        names.update(_below(alias, folders))
    return sorted(names)


def _below(name, folders):
    for found in pkgutil.iter_modules(folders or []):
        if found.name.startswith("_"):
            continue
        yield f"{name}.{found.name}"
        if found.ispkg:
            yield from _below(f"{name}.{found.name}", [os.path.join(found.module_finder.path, found.name)])
