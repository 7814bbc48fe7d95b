# SPDX-License-Identifier: Apache-2.0
"""ATen's ops as Pando's, a module for each family."""
from pando.pytorch.aten import (activations, arithmetic, choices, comparisons, creation, elementwise, images,  # noqa: F401
                                indexing, losses, norms, places, products, random, reductions, resizing, shapes)
from pando.pytorch.aten.table import MOVES, TABLE, TAKES_ABSENT, Absent, aten, name_of  # noqa: F401
