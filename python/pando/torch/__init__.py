# SPDX-License-Identifier: Apache-2.0
"""Compiles modules of the installed PyTorch: compile_step for training, compile_forward for evaluation."""
from pando.core.needs import need as _need

_need("torch", "pando.torch")

from pando.torch.forward import CompiledForward, compile_forward  # noqa: E402
from pando.torch.step import CompiledStep, compile_step  # noqa: E402
from pando.torch.unsupported import Unsupported  # noqa: E402

__all__ = ["CompiledForward", "CompiledStep", "Unsupported", "compile_forward", "compile_step"]
