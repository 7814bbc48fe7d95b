# SPDX-License-Identifier: Apache-2.0
"""tf.compat: the session style of TensorFlow 1 is in tf.compat.v1."""
import importlib as _importlib
import typing as _typing


if _typing.TYPE_CHECKING:
    import pando.tf as v2
    from pando.tf.compat import v1
else:
    def __getattr__(name):
        if name == "v1":
            return _importlib.import_module("pando.tf.compat.v1")
        if name == "v2":
            return _importlib.import_module("pando.tf")
        from pando.core.nearest import missing_attribute
        raise missing_attribute(__name__, name, ["v1", "v2"])
