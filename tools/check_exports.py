#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a program can link all that the public headers declare.

Usage: tools/check_exports.py LIBRARY [INCLUDE]
  LIBRARY   the shared library, libpando.so
  INCLUDE   the folder of the public headers, include/ unless given

Each function that a header declares without a body must be marked PANDO_API, or belong to a class that is, and the
library must export at least that many functions of its name. Friends count as functions of the namespace: a mark on
the class does not reach them. Prints each function that does not link; exit status 1 if there is one.
"""
import collections
import pathlib
import re
import subprocess
import sys

NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s+([\w:]+)$")
CLASS = re.compile(r"(?:class|struct)\s+(PANDO_API\s+)?(\w+)(?:\s+final)?(?:\s*:[^:].*)?$", re.DOTALL)
NAME = re.compile(r"(operator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+|[\w:&\s]+?)|~?\w+)\s*\(")
LABEL = re.compile(r"^(public|protected|private)\s*:\s*")
Scope = collections.namedtuple("Scope", "name is_class is_exported is_template is_code")
Declared = collections.namedtuple("Declared", "where name signature exported")


def plain(text):
    """Without comments, strings and preprocessor lines, which have brackets of their own."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', '""', text)
    return re.sub(r"^\s*#(?:[^\n\\]|\\\n|\\.)*", "", text, flags=re.MULTILINE)


def pieces(text):
    """The heads of blocks, ended by {, the ends of blocks, }, and declarations, ended by ;."""
    head, depth = "", 0
    for character in text:
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        # Braces among parentheses are default values.
        if depth == 0 and character in "{};":
            yield " ".join(head.split()), character
            head = ""
        else:
            head += character


def bare(name):
    """operator Tensor for operator const pando::Tensor&: the compiler writes conversions out in full."""
    name = re.sub(r"operator (const )?(\w+::)*(\w+)( const)?&?$", r"operator \3", name)
    return name if re.search(r"operator \w", name) else name.replace(" ", "")


def without_templates(head):
    """int f(A<B> x) -> int f(A x): what is in angle brackets has commas and parentheses of its own."""
    head = re.sub(r"operator\s*(<=>|<<|>>|<=|>=|->|<|>)", lambda m: "operator" + "@" * len(m[1]), head)
    while (shorter := re.sub(r"<[^<>]*>", "", head)) != head:
        head = shorter
    return head


def declared_by(head, scopes):
    """The name, the signature and whether it is exported, of what ends in a semicolon; None unless it is a function."""
    head = LABEL.sub("", head)
    is_friend = head.startswith("friend ")
    if re.search(r"=\s*(default|delete|0)$", head) or re.match(r"(friend )?(class|struct|enum|using|typedef)\b", head):
        return None
    if re.search(r"\b(inline|constexpr|template|static_assert)\b", head) or any(s.is_template for s in scopes):
        return None
    # The values of arguments that may be left out stand in one declaration only.
    signature = re.sub(r"\s*=\s*[^,()]*(?:\([^()]*\))?(?=[,)])", "", re.sub(r"\b(friend|PANDO_API)\s+", "", head))
    head = without_templates(head)
    found = NAME.search(head if "operator" in head else head.split("=")[0])
    if not found:
        return None
    classes = [] if is_friend else [s for s in scopes if s.is_class]
    exported = "PANDO_API" in head or any(s.is_exported for s in classes)
    outer = [s.name for s in scopes if s.name and not (is_friend and s.is_class)]
    return "::".join([*outer, bare(found[1])]), signature, exported


def scope_of(head, outer):
    if outer and outer[-1].is_code:
        return Scope("", False, False, False, True)
    head = LABEL.sub("", head)
    is_template = head.startswith("template")
    if found := NAMESPACE.match(head):
        return Scope(found[1], False, False, False, False)
    if found := CLASS.match(without_templates(re.sub(r"^template\s*", "", head)).strip()):
        return Scope(found[2], True, bool(found[1]), is_template or "<" in head.split(":")[0], False)
    return Scope("", False, False, is_template, True)


def declarations(path):
    scopes = []
    for text, end in pieces(plain(path.read_text())):
        if end == "{":
            scopes.append(scope_of(text, scopes))
        elif end == "}":
            scopes.pop()
        elif text and not (scopes and scopes[-1].is_code):
            if found := declared_by(text, scopes):
                yield Declared(path, *found)


def exported_by(library):
    """The signatures of each name."""
    listing = subprocess.run(["nm", "-D", "-C", "--defined-only", library], capture_output=True, text=True, check=True)
    signatures = collections.defaultdict(set)
    for line in listing.stdout.splitlines():
        symbol = re.sub(r"^\S+ \w ", "", line).replace("[abi:cxx11]", "")
        name = re.match(r"(?:.*?operator\(\)|[^(]*)", without_templates(symbol))[0]
        signatures[bare(name)].add(symbol)
    return signatures


def check(library, include):
    exported = exported_by(library)
    by_name = collections.defaultdict(list)
    for path in sorted(include.rglob("*.h")):
        for declared in declarations(path):
            by_name[declared.name].append(declared)
    if not by_name:
        yield f"{include} declares no functions"
    for name, functions in sorted(by_name.items()):
        where = functions[0].where.relative_to(include)
        for function in functions:
            if not function.exported:
                yield f"{where}: {name} is not marked PANDO_API: {function.signature}"
        # A friend may be declared beside its class again.
        wanted, found = len({function.signature for function in functions}), len(exported[name])
        if found < wanted:
            yield f"{where}: the library exports {found} of {wanted} functions {name}"


def main():
    root = pathlib.Path(__file__).parent.parent
    problems = list(check(sys.argv[1], pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "include"))
    print("\n".join(problems) if problems else "exports: all that the headers declare links")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
