# SPDX-License-Identifier: Apache-2.0
"""The values of a tree of modules by their names, and back."""
from __future__ import annotations

import collections
from typing import Any, Mapping

import numpy as np

_IncompatibleKeys = collections.namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))


class States:
    """A part of Module: state_dict() and load_state_dict()."""

    def state_dict(self, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """The parameters and buffers by name, as tensors that can be saved."""
        result = collections.OrderedDict() if destination is None else destination
        for path, module in self.named_modules(prefix=prefix.rstrip("."), remove_duplicate=False):
            for kind in ("_parameters", "_buffers"):
                for name, value in module.__dict__[kind].items():
                    if value is not None and getattr(value, "persistent", True):
                        result[f"{path}.{name}" if path else name] = value if keep_vars else value.detach()
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, *, assign: bool = False) -> Any:  # noqa: ARG002
        """Sets parameters and buffers from such a dict; ``strict`` wants exactly the names that there are."""
        known = self.state_dict(keep_vars=True)
        missing = [name for name in known if name not in state_dict]
        unexpected = [name for name in state_dict if name not in known and not name.endswith("num_batches_tracked")]
        problems = []
        if strict and unexpected:
            problems.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{name}"' for name in unexpected) + ". ")
        if strict and missing:
            problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{name}"' for name in missing) + ". ")
        for name, value in known.items():
            if name in state_dict and tuple(np.shape(state_dict[name])) != tuple(value.shape):
                problems.append(f"size mismatch for {name}: copying a param with shape "
                                f"torch.Size({list(np.shape(state_dict[name]))}) from checkpoint, the shape in current "
                                f"model is torch.Size({list(value.shape)}).")
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems))
        for name, value in known.items():
            if name in state_dict:
                value._set(state_dict[name])
        return _IncompatibleKeys(missing, unexpected)
