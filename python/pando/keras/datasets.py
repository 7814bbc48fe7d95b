# SPDX-License-Identifier: Apache-2.0
"""keras.datasets: MNIST and Fashion-MNIST, found by Pando's own search, and digits that are drawn."""
import os
import sys
import types
import typing as _typing

from pando import _core
from pando.core.messages import tell_once


def _shorter(arrays):
    """PANDO_TEST_SAMPLES=n keeps the first n training samples and n / 6 test samples, for tests of whole scripts."""
    count = os.environ.get("PANDO_TEST_SAMPLES")
    if not count:
        return arrays
    train, test = int(count), max(1, int(count) // 6)
    x_train, y_train, x_test, y_test = arrays
    return x_train[:train], y_train[:train], x_test[:test], y_test[:test]


def _load(name):
    x_train, y_train, x_test, y_test = _shorter(_core.load_dataset(name))
    return (x_train, y_train), (x_test, y_test)


def _module(name, doc):
    module = types.ModuleType(f"{__name__}.{name}", doc)

    def load_data(path=None):
        """((x_train, y_train), (x_test, y_test)): images as uint8 [n, 28, 28] and their labels."""
        if path is not None:
            tell_once(f"{name}.load_data: path has no effect in Pando; PANDO_DATA says where data sets are")
        return _load(name)
    module.load_data = load_data
    sys.modules[module.__name__] = module
    return module


__path__ = []
mnist = _module("mnist", "60,000 handwritten digits to train on and 10,000 to test with.")
fashion_mnist = _module("fashion_mnist", "60,000 pictures of clothes to train on and 10,000 to test with.")
synthetic_digits = _module("synthetic_digits", "Digits drawn by a generator; it needs no files.")


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        from pando.core.nearest import missing_attribute
        raise missing_attribute(__name__, name, ["mnist", "fashion_mnist", "synthetic_digits"])
