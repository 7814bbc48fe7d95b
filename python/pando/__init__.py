# SPDX-License-Identifier: Apache-2.0
"""Pando: trains and runs neural networks on virtual IPUs made of CPU cores and GPUs.

To know where to begin, choose the framework you know. The packages follow those whose names they have::

    from pando import keras              # tf.keras
    from pando import ipu                # tensorflow.python.ipu
    import pando.tf as tf                # tf.data, and the session style in pando.tf.compat.v1
    from pando import poptorch           # for modules of the installed PyTorch
    from pando.torch import compile_step  # the same, without Graphcore's interface

A first network, with ``help(keras.Model.fit)`` and ``help(keras.layers)`` for more::

    >>> from pando import keras
    >>> (x, y), test = keras.datasets.synthetic_digits.load_data()
    >>> model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])
    >>> model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    >>> history = model.fit(x, y, epochs=1, verbose=0)

``help(pando.torch.compile_step)`` shows the same with PyTorch's modules, and ``pando.tf.compat.v1`` has sessions.
``python3 -m pando SCRIPT`` runs a script that imports tensorflow, keras or poptorch, unchanged, on these packages.
No package is loaded before it is used.
"""
import importlib as _importlib
import sys as _sys
import typing as _typing

from pando._core import Error, InternalError, OutOfRangeError, __version__, machine, set_look, set_random_seed
from pando.core import messages as _messages
from pando.core.nearest import Absences as _Absences
from pando.core.nearest import missing_attribute as _missing_attribute

_messages.install()
_sys.meta_path.append(_Absences())

_PACKAGES = ("compat", "core", "ipu", "keras", "poptorch", "tf", "torch")

__all__ = ["Error", "InternalError", "OutOfRangeError", "__version__", "compat", "core", "ipu", "keras", "machine",
           "poptorch", "set_look", "set_random_seed", "tf", "torch"]


if _typing.TYPE_CHECKING:
    from pando import compat, core, ipu, keras, poptorch, tf, torch
else:
    def __getattr__(name):
        if name in _PACKAGES:
            return _importlib.import_module(f"pando.{name}")
        raise _missing_attribute(__name__, name, __dir__())


def __dir__():
    return sorted(__all__)
