# SPDX-License-Identifier: Apache-2.0
"""The table of ops. A function takes the lowering, then the arguments of its op with symbols in place of tensors, and
returns symbols. It refuses each argument that it does not honour; what it does not name is refused by Python itself."""
TABLE = {}
# Ops that may be given what stands for a tensor that is never made, such as the mask of a dropout.
TAKES_ABSENT = set()


def aten(*names, takes_absent=False):
    """Adds a function to the table."""
    def add(function):
        TABLE.update(dict.fromkeys(names, function))
        if takes_absent:
            TAKES_ABSENT.update(names)
        return function
    return add


def name_of(target):
    """The name in the table: that of the op without its overload. A view's copy is the view. Ops of other libraries may have
    the name of one of PyTorch's and keep their library's."""
    library, name = target._schema.name.split("::")
    if library not in ("aten", "prims", "pando"):
        return target._schema.name
    return name[:-5] if name.endswith("_copy") and name not in ("_to_copy", "index_copy") else name


class Absent:
    """Stands for a tensor that a program does not make, and keeps what the backward op needs instead."""

    def __init__(self, what, **kept):
        self.what, self.kept = what, kept
