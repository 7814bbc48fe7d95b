# SPDX-License-Identifier: Apache-2.0
"""Compiles modules of the installed PyTorch: compile_step for training, compile_forward for evaluation."""
import importlib as _importlib

from pando.core.needs import need as _need

_need("torch", "pando.torch")

from pando.torch.forward import CompiledForward, compile_forward  # noqa: E402
from pando.torch.step import CompiledStep, compile_step  # noqa: E402
from pando.torch.unsupported import Unsupported  # noqa: E402


def __getattr__(name):
    # Importing the half of PyTorch that the backend needs takes seconds.
    if name == "backend":
        return _importlib.import_module("pando.torch.backend")
    raise AttributeError(f"module 'pando.torch' has no attribute '{name}'")


__all__ = ["CompiledForward", "CompiledStep", "Unsupported", "compile_forward", "compile_step"]
