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
    import tensorflow
    import tensorflow.keras.layers
    from tensorflow.keras import losses

    import pando.tf
    assert tensorflow is pando.tf
    assert tensorflow.keras.layers is pando.keras.layers
    assert losses is sys.modules["pando.keras.losses"]
    assert tensorflow.__spec__.name == "pando.tf"


def test_a_module_that_is_missing_is_named_with_the_nearest(shim):
    with pytest.raises(ModuleNotFoundError, match="keras.layrs is not in Pando.*the nearest is keras.layers$"):
        importlib.import_module("keras.layrs")


def test_an_attribute_that_is_missing_is_named_with_the_nearest(shim):
    import tensorflow
    with pytest.raises(AttributeError, match="nearest is zeros"):
        tensorflow.zerros
    assert not hasattr(tensorflow, "no_such_thing")
    with pytest.raises(ImportError, match="nearest is Tensor"):
        from tensorflow import Tensr  # noqa: F401


def test_a_framework_that_is_loaded_is_not_shadowed(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", type(sys)("keras"))
    with pytest.raises(ImportError, match="keras is loaded already; call pando.compat.install\\(\\) before"):
        compat.install()
    compat.install(force=True)
    assert importlib.import_module("keras").__name__ == "pando.keras"
    compat.uninstall()


def test_pytorch_is_not_shadowed(shim):
    assert not {"torch", "torchvision"} & set(compat.installed())
    with pytest.raises(ValueError, match="no framework 'torch'; the nearest is poptorch"):
        compat.install("torch")


def test_an_unknown_framework_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="no framework 'tensorfow'; the nearest is tensorflow"):
        compat.install("tensorfow")


def test_uninstall_gives_the_names_back(shim):
    importlib.import_module("keras")
    compat.uninstall()
    assert "keras" not in sys.modules
    assert compat.installed() == []


def test_errors_are_what_scripts_catch():
    assert issubclass(pando.Error, ValueError) and issubclass(pando.Error, RuntimeError)
    assert issubclass(pando.OutOfRangeError, pando.Error)


def test_a_name_of_pando_that_is_missing_is_named_with_the_nearest():
    with pytest.raises(AttributeError, match="the nearest is keras"):
        pando.kears
