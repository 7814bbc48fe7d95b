# SPDX-License-Identifier: Apache-2.0
"""Which package of Pando stands for which module of another framework."""
from __future__ import annotations

from typing import Any


# The longest beginning of a name decides; what follows it is looked up in the package.
ALIASES = {
    "tensorflow": "pando.tf",
    "tensorflow.keras": "pando.keras",
    "tensorflow.python.keras": "pando.keras",
    "tensorflow.python.ipu": "pando.ipu",
    "tensorflow.compat.v1": "pando.tf.compat.v1",
    "tensorflow.compat.v1.keras": "pando.keras",
    "tensorflow.compat.v2": "pando.tf",
    "tensorflow.compat.v2.keras": "pando.keras",
    "tensorflow.python.data.ops.dataset_ops": "pando.tf.data",
    "keras": "pando.keras",
    "poptorch": "pando.poptorch",
}

# Modules that only hold others.
FOLDERS = ("tensorflow.python", "tensorflow.python.data", "tensorflow.python.data.ops")

# What is shadowed together: the names of one framework.
FRAMEWORKS = {
    "tensorflow": ("tensorflow", "keras"),
    "keras": ("tensorflow", "keras"),
    "poptorch": ("poptorch",),
}


def target_of(name: str) -> Any:
    """The name of Pando's module for a name of another framework."""
    beginning = name
    while beginning not in ALIASES:
        beginning = beginning.rpartition(".")[0]
    return ALIASES[beginning] + name[len(beginning):]
