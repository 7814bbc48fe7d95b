# SPDX-License-Identifier: Apache-2.0
"""keras.random: numbers that are new in each step within a layer."""
from pando.keras.layers.calls import current_call
from pando.tf.random import normal, truncated_normal, uniform  # noqa: F401
from pando.tf.tensor import as_symbol, convert, is_symbolic, wrap


class SeedGenerator:
    """Accepted: the layer's own stream of random numbers is used."""

    def __init__(self, seed=None, **kwargs):
        self.seed = seed


def dropout(inputs, rate, noise_shape=None, seed=None):
    """Sets this part of the values to 0 and scales the others up."""
    found = current_call()
    if found is None or not is_symbolic(inputs):
        raise RuntimeError("keras.random.dropout is for call() of a layer; use layers.Dropout elsewhere")
    return wrap(found[1].dropout(as_symbol(convert(inputs), [inputs]), float(rate)))
