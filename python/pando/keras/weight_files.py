# SPDX-License-Identifier: Apache-2.0
"""Weights of another model of the same layers. The names that Keras makes are numbered through a process, so those of two
equal models differ: the layers of a file are then taken in the order of their numbers, for each kind."""
from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from pando.core.hints import Path


def load_by_order(model: Any, path: Path) -> Any:
    """Sets the weights by the order of layers. Returns False, and changes nothing, if the layers are others."""
    values = _arrays(path)
    weights = model.weights()
    names = _renamed(list(values), [weight.name for weight in weights])
    if names is None:
        return False
    arrays = [values[name] for name in names]
    if [array.shape for array in arrays] != [tuple(weight.shape) for weight in weights]:
        return False
    model.set_weights(arrays)
    return True


def _layer(name):
    """The kind and the number of the layer of a weight: "dense_3/kernel" is dense, 3."""
    layer = name.rpartition("/")[0]
    found = re.fullmatch(r"(.*?)_(\d+)", layer)
    return (found[1], int(found[2])) if found else (layer, 0)


def _renamed(theirs, ours):
    """For each of our names the name in the file; None if the layers are others."""
    def by_kind(names):
        kinds = {}
        for kind, number in sorted({_layer(name) for name in names}):
            kinds.setdefault(kind, []).append(number)
        return kinds
    mine, other = by_kind(ours), by_kind(theirs)
    if {kind: len(numbers) for kind, numbers in mine.items()} != {k: len(n) for k, n in other.items()}:
        return None
    known = {(_layer(name), name.rpartition("/")[2]): name for name in theirs}
    names = []
    for name in ours:
        kind, number = _layer(name)
        names.append(known.get(((kind, other[kind][mine[kind].index(number)]), name.rpartition("/")[2])))
    return None if None in names else names


def _arrays(path):
    """The float32 arrays of a file, by name."""
    if path.endswith(".npz"):
        with np.load(path) as file:
            return {name: file[name] for name in file.files}
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = file.read()
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], np.float32).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "F32"}
