# SPDX-License-Identifier: Apache-2.0
"""Which of the core ATen ops, those that PyTorch's exported graphs are made of, a program has: `pytest -s` prints them."""
import pathlib

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: apt install python3-torch)")

from pando.torch.aten import TABLE  # noqa: E402, it imports torch
from pando.torch.tracing import decompositions  # noqa: E402

_SHAPES_OF_VALUES = "its result has a shape, or is a number of Python, that depends on values"
# What is left to eager PyTorch, and why.
LACKING = {
    **dict.fromkeys(("_local_scalar_dense", "nonzero"), _SHAPES_OF_VALUES),
    **dict.fromkeys(("sym_is_contiguous", "sym_numel", "sym_size.int", "sym_storage_offset", "sym_stride.int"),
                    "shapes are numbers in programs"),
    **dict.fromkeys(("_fft_c2r", "_fft_r2c"), "there are no complex numbers"),
    "resize_": "it changes the memory of a tensor",
    "_embedding_bag": "nothing has asked for it",
    **dict.fromkeys(("masked_scatter", "randperm"), "it wants places that are counted or sorted first")}


def overload(name):
    base, _, rest = name.partition(".")
    return getattr(getattr(torch.ops.aten, base, None), rest or "default", None)


def is_there(name):
    """Whether the table has it, or PyTorch makes it of others: by a decomposition, or always."""
    if name.startswith("sym_"):
        return False
    found = overload(name)
    if name.split(".")[0] in TABLE or found in decompositions():
        return True
    return found is not None and torch._C._dispatch_has_kernel_for_dispatch_key(found.name(), "CompositeImplicitAutograd")


def test_core_ops_are_there_but_for_those_with_a_reason():
    core = (pathlib.Path(__file__).parent / "upstream" / "core_aten.txt").read_text().split()
    lacking = [name for name in core if not is_there(name)]
    print(f"\n{len(core) - len(lacking)} of {len(core)} core ops; without", *lacking)
    assert set(lacking) <= set(LACKING)
    assert not {name for name in LACKING if name.split(".")[0] in TABLE}, "these are there now, and need no reason"
