# SPDX-License-Identifier: Apache-2.0
"""ipu.ops: modules by the names that upstream gives them."""
import sys

from pando.ipu import pipelining_ops

__path__ = []
sys.modules[f"{__name__}.pipelining_ops"] = pipelining_ops
