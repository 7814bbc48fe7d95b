# SPDX-License-Identifier: Apache-2.0
"""ModelFiles: the methods of Model that write and read files."""
from __future__ import annotations

import json
import os
from typing import Any

from pando import _core
from pando.core.hints import Path
from pando.core.messages import tell_once
from pando.keras.arguments import refuse
from pando.keras.weight_files import load_by_order


class ModelFiles:
    """Models and weights as files."""

    def save(self, filepath: Path, overwrite: bool = True, include_optimizer: bool = True, save_format: str | None = None,
             signatures: Any = None, options: Any = None, save_traces: bool = True) -> None:
        """Writes a folder with the layers as JSON and the weights; Pando has this one format.

        The state of the optimizer is in checkpoints, which ``fit(checkpoint_directory=...)`` writes.
        """
        refuse("save", signatures=signatures, save_format=save_format if save_format not in (None, "tf") else None)
        _check_overwrite("save", filepath, overwrite)
        self._built("save").save(str(filepath))

    def save_weights(self, filepath: Path, overwrite: bool = True, save_format: str | None = None,
                     options: Any = None) -> None:
        """Writes the weights: .safetensors if the path ends so, otherwise .npz; ``save_format`` has no effect."""
        if save_format is not None:
            tell_once(f"save_weights: save_format={save_format!r} has no effect in Pando; the end of the path says the format")
        _check_overwrite("save_weights", _weights_path(filepath), overwrite)
        self._built("save_weights").save_weights(_weights_path(filepath))

    def load_weights(self, filepath: Path, by_name: bool = False, skip_mismatch: bool = False, options: Any = None) -> None:
        """Reads the weights that ``save_weights`` wrote; they are found by their names, or by their order."""
        refuse("load_weights", skip_mismatch=skip_mismatch or None)
        path = _weights_path(filepath)
        try:
            self._built("load_weights").load_weights(path)
        except _core.Error as error:
            if "needs" in str(error) and by_name:
                raise type(error)(f"{error}; with by_name=True they are found by their names alone") from None
            if "needs" not in str(error) or not load_by_order(self._layer, path):
                raise

    def to_json(self, **kwargs: Any) -> str:
        """The layers and how they are connected; the arguments are those of ``json.dumps``."""
        text = self._built("to_json").to_json()
        return json.dumps(json.loads(text), **kwargs) if kwargs else text


def _check_overwrite(who, path, overwrite):
    if not overwrite and os.path.exists(path):
        raise FileExistsError(f"{who}: {path} exists, and overwrite is False")


def _weights_path(path):
    path = str(path)
    for ending in (".weights.h5", ".h5", ".hdf5", ".keras", ".ckpt", ".tf"):
        if path.endswith(ending):
            tell_once(f"weights are in a .safetensors file in Pando, not {ending}")
            return path[:-len(ending)] + ".safetensors"
    return path if path.endswith((".npz", ".safetensors")) else path + ".npz"
