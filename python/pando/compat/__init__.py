# SPDX-License-Identifier: Apache-2.0
"""Pando in the place of other frameworks: after install(), ``import tensorflow`` or ``import poptorch`` gives Pando's
packages. PyTorch itself is the one that is installed; its torchvision finds the data sets that Pando has fetched.

Nothing is shadowed before; ``python3 -m pando SCRIPT`` calls install() for a script, notebooks call it themselves, in
their first cell::

    import pando.compat
    pando.compat.install()
"""
from __future__ import annotations

import os
import sys
from typing import Any

from pando._core import look, set_look
from pando.compat.datasets import DatasetFinder
from pando.compat.finder import Finder
from pando.compat.names import FRAMEWORKS
from pando.core.nearest import suggestion
from pando.core.needs import Absent
from pando.core.versions import VERSIONS

__all__ = ["VERSIONS", "install", "installed", "uninstall"]

_finder, _dataset_finder, _absent = Finder(), DatasetFinder(), Absent()
_look_before: str | None = None


def _loaded(roots):
    """The modules of the frameworks that are loaded and not Pando's."""
    return [name for name, module in sys.modules.items() if name.partition(".")[0] in roots and
            not getattr(module, "__name__", name).startswith("pando.")]


def install(*frameworks: Any, force: bool = False) -> None:
    """Lets the frameworks' names, all by default, stand for Pando's packages.

    Raises ImportError if one of them is loaded already, because objects of both would meet; `force` forgets it.
    """
    for name in frameworks:
        if name not in FRAMEWORKS:
            raise ValueError(f"Pando stands for no framework {name!r}{suggestion(name, FRAMEWORKS)}")
    roots = {root for name in frameworks or FRAMEWORKS for root in FRAMEWORKS[name]} - _finder.roots
    foreign = _loaded(roots)
    if foreign and not force:
        raise ImportError(f"{foreign[0]} is loaded already; call pando.compat.install() before the first import of it, "
                          "or install(force=True) if nothing of it is in use")
    for name in foreign:
        del sys.modules[name]
    _finder.roots |= roots
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    if "poptorch" in roots:
        sys.meta_path.insert(0, _dataset_finder)
        sys.meta_path.append(_absent)
    if "keras" in roots:
        _take_look()


def _take_look() -> None:
    """Bars and tables look as those of the release that `keras` stands for, unless the user has chosen."""
    global _look_before
    if "PANDO_LOOK" not in os.environ:
        _look_before = look()
        set_look("keras" + VERSIONS["keras"][0])


def uninstall() -> None:
    """Gives all names back; what was imported before stays as it is."""
    global _look_before
    if _look_before is not None:
        set_look(_look_before)
        _look_before = None
    for name in list(sys.modules):
        if name.partition(".")[0] in _finder.roots:
            del sys.modules[name]
    _finder.roots.clear()
    for finder in (_finder, _dataset_finder, _absent):
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)


def installed() -> Any:
    """The names that stand for Pando's packages now."""
    return sorted(_finder.roots)
