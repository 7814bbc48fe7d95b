# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch in front of Pando."""
