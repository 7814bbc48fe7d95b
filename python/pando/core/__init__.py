# SPDX-License-Identifier: Apache-2.0
"""What the packages share: the one Tensor, its functions, types, nested structures and messages."""
