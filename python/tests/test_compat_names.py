# SPDX-License-Identifier: Apache-2.0
"""Every name of another framework is the same module as Pando's."""
import importlib
import sys

import pytest

from pando import compat
from pando.compat import names


@pytest.fixture
def shim():
    compat.install()
    yield
    compat.uninstall()


def test_every_alias_can_be_imported(shim):
    for alias, real in names.ALIASES.items():
        assert importlib.import_module(alias) is importlib.import_module(real)


def test_keras_is_one_module_by_all_of_its_names(shim):
    import keras
    import tensorflow as tf
    import tensorflow.python.keras
    from tensorflow import keras as other
    assert keras is other is tf.keras is tensorflow.python.keras is sys.modules["pando.keras"]
