# SPDX-License-Identifier: Apache-2.0
"""keras.random: numbers that are new in each step within a layer."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core.calls import current_call
from pando.core.hints import ShapeLike
from pando.core.keywords import accepts
from pando.core.nearest import attributes_of as _attributes_of
from pando.keras.arguments import refuse, tell_of, tell_of_seed
from pando.tensors.random import normal, truncated_normal, uniform  # noqa: F401
from pando.tensors.tensor import as_symbol, convert, is_symbolic, wrap


class SeedGenerator:
    """Accepted: the layer's own stream of random numbers is used."""

    @accepts("name")
    def __init__(self, seed: int | None = None) -> None:
        tell_of("SeedGenerator", seed=seed)
        self.seed = seed


def dropout(inputs: Any, rate: float, noise_shape: ShapeLike | None = None, seed: int | None = None) -> Any:
    """Sets this part of the values to 0 and scales the others up."""
    refuse("dropout", noise_shape=noise_shape)
    tell_of_seed("dropout", seed)
    found = current_call()
    if found is None or not is_symbolic(inputs):
        raise RuntimeError("keras.random.dropout is for call() of a layer; use layers.Dropout elsewhere")
    return wrap(found[1].dropout(as_symbol(convert(inputs), [inputs]), float(rate)))

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
