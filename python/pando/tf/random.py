# SPDX-License-Identifier: Apache-2.0
"""tf.random: numbers that are new in each step within a layer, and drawn at once elsewhere."""
import typing as _typing

from pando.core.nearest import attributes_of as _attributes_of
from pando.tensors.random import normal, set_seed, truncated_normal, uniform

__all__ = ["normal", "random_normal", "random_uniform", "set_random_seed", "set_seed", "truncated_normal", "uniform"]

random_normal, random_uniform, set_random_seed = normal, uniform, set_seed

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
