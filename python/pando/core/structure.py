# SPDX-License-Identifier: Apache-2.0
"""Nested tuples, lists and dicts of tensors: the leaves in order, and the same structure of other leaves."""


def is_nested(value):
    """Whether it is a tuple, a list or a dict."""
    return isinstance(value, (tuple, list, dict))


def flatten(value):
    """The leaves in order; those of a dict in the order of its keys, as sorted."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value, key=str) for leaf in flatten(value[key])]
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flatten(part)]
    return [value]


def pack(structure, leaves):
    """The structure with other leaves, in the order of flatten()."""
    leaves = iter(leaves)
    packed = _pack(structure, leaves)
    rest = len(list(leaves))
    if rest:
        raise ValueError(f"{rest} values are left over after the structure was filled")
    return packed


def _pack(structure, leaves):
    if isinstance(structure, dict):
        made = {key: _pack(structure[key], leaves) for key in sorted(structure, key=str)}
        return type(structure)((key, made[key]) for key in structure) if type(structure) is not dict else {
            key: made[key] for key in structure}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_pack(part, leaves) for part in structure))
    if isinstance(structure, (tuple, list)):
        return type(structure)(_pack(part, leaves) for part in structure)
    return next(leaves)


def map_structure(function, value):
    """The structure of what the function makes of each leaf."""
    return pack(value, [function(leaf) for leaf in flatten(value)])


def same_structure(a, b):
    """Whether both are nested in the same way."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same_structure(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(same_structure(x, y) for x, y in zip(a, b))
    return not is_nested(b)
