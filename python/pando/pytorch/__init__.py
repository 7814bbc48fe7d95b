# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch in front of Pando."""
from pando.pytorch.forward import CompiledForward, compile_forward
from pando.pytorch.step import CompiledStep, compile_step
from pando.pytorch.unsupported import Unsupported

__all__ = ["CompiledForward", "CompiledStep", "Unsupported", "compile_forward", "compile_step"]
