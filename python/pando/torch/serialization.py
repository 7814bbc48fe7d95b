# SPDX-License-Identifier: Apache-2.0
"""torch.save and torch.load: files that Python's pickle writes, with tensors as NumPy arrays. They are Pando's own: PyTorch
cannot read them, nor can Pando read PyTorch's."""
from __future__ import annotations

import os
import pickle
import tempfile
from typing import Any

_MAGIC = b"pando.torch 1\n"


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,  # noqa: ARG001
         _use_new_zipfile_serialization: bool = True) -> None:
    """Writes the object; a file is there whole or not at all."""
    if hasattr(f, "write"):
        f.write(_MAGIC)
        pickle.dump(obj, f)
        return
    path = os.fspath(f)
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=os.path.basename(path) + ".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC)
            pickle.dump(obj, file)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool = False,  # noqa: ARG001
         **pickle_load_args: Any) -> Any:
    """Reads what save() wrote. As any pickle, a file of others may run their code: load only what you trust."""
    if not hasattr(f, "read"):
        with open(f, "rb") as file:
            return load(file)
    if f.read(len(_MAGIC)) != _MAGIC:
        raise RuntimeError("load: this is not a file of pando.torch.save; files of PyTorch cannot be read, so save the "
                           "weights there as NumPy arrays")
    return pickle.load(f)
