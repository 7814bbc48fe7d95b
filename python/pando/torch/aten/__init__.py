# SPDX-License-Identifier: Apache-2.0
"""ATen's ops as Pando's, a module for each family."""
from pando.torch.aten import (activations, arithmetic, choices, comparisons, creation, distances, elementwise,  # noqa: F401
                                images, indexing, losses, norms, ordered, places, pooling, products, random, reductions,
                                resizing, shapes)
from pando.torch.aten.table import TABLE, TAKES_ABSENT, Absent, aten, name_of  # noqa: F401
