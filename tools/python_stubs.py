#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the stubs (.pyi) of what type checkers cannot read: the extension. All else has its hints in the source.

Usage: PYTHONPATH=build/release/python tools/python_stubs.py

The signatures of the extension are those that pybind11 puts into docstrings. python/tests/test_types.py fails if the stubs
have other names or parameters than the module: run this tool then, and look at the difference.
"""
import enum
import importlib
import pathlib
import re
import types

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python/pando"
EXTENSION = ("pando._core", "pando._core.poptorch", "pando._core.steps", "pando._core.torch")
# Classes that a signature names before they are bound.
CPP_NAMES = {"pando::Parameter": "pando._core.Parameter", "pando::data::Dataset::Iterator": "pando._core.DatasetIterator",
             "pando::tf1::Operation": "pando._core.Operation", "handle": "object", "function": "Callable[..., Any]",
             "Callable": "Callable[..., Any]", "capsule": "Any", "iterable": "Iterable[Any]"}
# What Python knows of every class, or what pybind11 keeps for itself.
OF_EVERY_CLASS = {"__doc__", "__module__", "__entries", "__members__", "__eq__", "__ne__", "__hash__", "__getstate__",
                  "__setstate__", "__weakref__", "__dict__", "__repr__", "__str__", "__new__"}
HEAD = """# SPDX-License-Identifier: Apache-2.0
# Written by tools/python_stubs.py.
"""


class Signature:
    """One line of pybind11's: name(a: T, b: T = 1) -> T."""

    def __init__(self, line):
        self.name, rest = re.fullmatch(r"\s*(?:\d+\. )?(\w*)(\(.*)", line).groups()
        end = _closing(rest)
        self.parameters = [_parameter(part) for part in _split(rest[1:end])]
        self.result = _type(rest[end + 1:].strip().removeprefix("->").strip())

    def names(self):
        return [name for name, _, _ in self.parameters]

    def text(self, is_static=False):
        parts = []
        for i, (name, kind, has_default) in enumerate(self.parameters):
            if name == "self" and not is_static:
                parts.append("self")
                continue
            parts.append(name if kind is None else f"{name}: {kind}" + (" = ..." if has_default else ""))
            following = self.parameters[i + 1:i + 2]
            if re.fullmatch(r"arg\d+", name) and not (following and re.fullmatch(r"arg\d+", following[0][0])):
                parts.append("/")
        return f"({', '.join(parts)}) -> {self.result}: ..."


def _closing(text):
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return i
    raise ValueError(f"no closing parenthesis: {text}")


def _split(text):
    """The parts between commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>" and text[i - 1] != "-")
        if letter == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def _parameter(text):
    name, _, rest = text.partition(": ")
    kind, equals, _ = rest.partition(" = ")
    return name, _type(kind) if kind else None, bool(equals)


def _type(text):
    text = re.sub(r"\[\d+\]", "", text)
    for name in sorted(CPP_NAMES, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.:]){re.escape(name)}(?![\w\[:])", CPP_NAMES[name], text)
    if "::" in text:
        raise ValueError(f"the signature names '{text}', which CPP_NAMES of this tool lacks")
    return re.sub(r"\b(List|Tuple|Set|Dict)\[", lambda found: found[1].lower() + "[", text)


def signatures(function):
    """The signatures in a docstring of pybind11's; none if it has none."""
    lines = (function.__doc__ or "").split("\n")
    if "Overloaded function." in lines[:2]:
        return [Signature(line) for line in lines if re.match(r"\d+\. \w+\(.* -> ", line)]
    return [Signature(lines[0])] if re.match(r"\w*\(.*\) -> ", lines[0]) else []


def is_enum(cls):
    return hasattr(cls, "__members__") and not issubclass(cls, enum.Enum)


def _function(name, found, indent, is_static=False):
    decorators = ["@overload"] if len(found) > 1 else []
    decorators += ["@staticmethod"] if is_static else []
    return [f"{indent}{line}" for one in found for line in [*decorators, f"def {name}{one.text(is_static)}"]]


def _class(cls):
    base = cls.__bases__[0]
    bases = ", ".join(f"{b.__module__}.{b.__name__}" if b.__module__ != "builtins" else b.__name__ for b in cls.__bases__)
    bases = "" if base.__name__ == "pybind11_object" else f"({bases.replace('pando.Error', 'Error')})"
    lines = []
    if is_enum(cls):
        lines += [f"    {name}: ClassVar[{cls.__module__}.{cls.__name__}]" for name in cls.__members__]
    for name, member in sorted(vars(cls).items()):
        if name in OF_EVERY_CLASS:
            continue
        if isinstance(member, property):
            got = signatures(member.fget)
            kind = got[0].result if got else "Any"
            lines += ["    @property", f"    def {name}(self) -> {kind}: ..."]
            if member.fset is not None:
                lines += [f"    @{name}.setter", f"    def {name}(self, value: {kind}) -> None: ..."]
        elif callable(member) or isinstance(member, staticmethod):
            lines += _function(name, signatures(getattr(cls, name)), "    ", isinstance(member, staticmethod))
    return [f"class {cls.__name__}{bases}:", *(lines or ["    ..."]), ""]


def extension_stub(module):
    """The stub of the extension or of one of its submodules."""
    classes, functions, values = [], [], []
    for name, member in sorted(vars(module).items()):
        if isinstance(member, type):
            classes.append(member)
        elif isinstance(member, types.ModuleType) or (name.startswith("__") and name != "__version__"):
            continue
        elif callable(member):
            functions += _function(name, signatures(member), "")
        else:
            values.append(f"{name}: {type(member).__name__}")
    # A class comes after its bases.
    classes.sort(key=lambda cls: (len(cls.__mro__), cls.__name__))
    imports = ["import numpy", "import pando._core", "import pando._core.poptorch", "import pando._core.torch",
               "from typing import Any, Callable, ClassVar, Iterable, Optional, Union, overload"]
    body = [line for cls in classes for line in _class(cls)]
    return HEAD + "\n".join([*imports, "", *values, "", *body, *functions]) + "\n"


def stubs():
    """Each stub by its path within the package."""
    found = {}
    for name in EXTENSION:
        module = importlib.import_module("pando._core")
        for part in name.split(".")[2:]:
            module = getattr(module, part)
        found["/".join(["_core", *(name.split(".")[2:] or ["__init__"])]) + ".pyi"] = extension_stub(module)
    return found


if __name__ == "__main__":
    for path, text in stubs().items():
        target = PACKAGE / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
        print(target)
