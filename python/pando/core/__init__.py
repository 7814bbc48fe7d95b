# SPDX-License-Identifier: Apache-2.0
"""What the packages share: the one Tensor, its functions, types, nested structures and messages."""
# Gives tensors what their operators and indices call.
import pando.core.indexing as _indexing  # noqa: F401
