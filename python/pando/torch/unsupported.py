# SPDX-License-Identifier: Apache-2.0
"""What is raised for everything that a program would not compute exactly as PyTorch does."""


class Unsupported(NotImplementedError):
    """Pando does not compute this as PyTorch does, so it leaves it to PyTorch. The text names what and the remedy."""


def refuse(reason):
    """For expressions: raises Unsupported."""
    raise Unsupported(reason)
