# SPDX-License-Identifier: Apache-2.0
"""Other frameworks' names stand for Pando's packages where that was asked for, and nowhere else."""
import importlib
import sys

import pytest

import pando
from pando import _core, compat


@pytest.fixture
def shim():
    compat.install()
    yield
    compat.uninstall()


def test_nothing_is_shadowed_before_install():
    assert compat.installed() == []
    assert not any(type(finder).__module__.startswith("pando.compat") for finder in sys.meta_path)


def test_bars_look_as_those_of_the_release(monkeypatch):
    monkeypatch.delenv("PANDO_LOOK", raising=False)
    before = _core.look()
    compat.install("keras")
    assert _core.look() == "keras2"
    compat.uninstall()
    assert _core.look() == before
    monkeypatch.setenv("PANDO_LOOK", "keras3")
    compat.install()
    assert _core.look() == before
    compat.uninstall()


def test_both_names_are_one_module(shim):
    import torch
    import torch.nn.functional
    from torch.utils import data

    import pando.torch
    assert torch is pando.torch
    assert torch.nn.functional is pando.torch.nn.functional
    assert data is sys.modules["pando.torch.utils.data"]
    assert torch.__spec__.name == "pando.torch"


def test_a_module_that_is_missing_is_named_with_the_nearest(shim):
    with pytest.raises(ModuleNotFoundError, match="torch.nm is not in Pando.*the nearest is torch.nn$"):
        importlib.import_module("torch.nm")


def test_an_attribute_that_is_missing_is_named_with_the_nearest(shim):
    import torch
    with pytest.raises(AttributeError, match="nearest is zeros"):
        torch.zerros
    assert not hasattr(torch, "no_such_thing")
    with pytest.raises(ImportError, match="nearest is Tensor"):
        from torch import Tensr  # noqa: F401


def test_a_framework_that_is_loaded_is_not_shadowed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", type(sys)("torch"))
    with pytest.raises(ImportError, match="torch is loaded already; call pando.compat.install\\(\\) before"):
        compat.install()
    compat.install(force=True)
    assert importlib.import_module("torch").__name__ == "pando.torch"
    compat.uninstall()


def test_an_unknown_framework_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="no framework 'tensorfow'; the nearest is tensorflow"):
        compat.install("tensorfow")


def test_uninstall_gives_the_names_back(shim):
    importlib.import_module("poptorch")
    compat.uninstall()
    assert "poptorch" not in sys.modules
    assert compat.installed() == []


def test_errors_are_what_scripts_catch():
    assert issubclass(pando.Error, ValueError) and issubclass(pando.Error, RuntimeError)
    assert issubclass(pando.OutOfRangeError, pando.Error)


def test_a_name_of_pando_that_is_missing_is_named_with_the_nearest():
    with pytest.raises(AttributeError, match="the nearest is keras"):
        pando.kears
