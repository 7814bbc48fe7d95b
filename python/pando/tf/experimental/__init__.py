# SPDX-License-Identifier: Apache-2.0
"""tf.experimental."""
from pando.core.nearest import attributes_of as _attributes_of
from pando.tf.experimental import dlpack

__all__ = ["dlpack"]

__getattr__ = _attributes_of(__name__)
