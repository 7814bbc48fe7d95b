# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.ipu.distributed: the strategy for several processes under its newer name."""
from pando.ipu.distributed import popdist_strategy
from pando.ipu.distributed.popdist_strategy import PopDistStrategy

__all__ = ["PopDistStrategy", "popdist_strategy"]
