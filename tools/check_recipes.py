#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the recipes of ARCHITECTURE.md against real examples.

Usage: tools/check_recipes.py [ROOT]

A recipe names the files, or folders, that a change touches. For an example of such a change, the files that mention it
must be exactly those: none that the recipe forgets, and none that it names in vain. Paths that any recipe names must
exist. A family of ops has one name, from its definitions to its kernels and routines. Prints what is wrong; exit status 1
if something is.
"""
import pathlib
import re
import sys

# The name of an example, and where it may be mentioned only by what the recipe names.
EXAMPLES = {
    "An elementwise op": ("softplus", ["src/ops", "include/pando/ops", "src/backends", "tests/ops", "docs/ops.md"]),
    "Another op": ("one_hot", ["src/ops", "include/pando/ops", "src/backends", "tests/ops", "docs/ops.md"]),
    "A pass": ("choose_layouts", ["src/compiler", "src/CMakeLists.txt", "tests/compiler"]),
}
# What stands for the file of the example's family.
FAMILY = {"An elementwise op": ["src/ops/elementwise_activations.cpp"], "Another op": ["src/ops/gather.cpp"]}
# Where a path of a recipe may begin.
ROOTS = ("", "src", "include/pando")


def recipes(text):
    """Title -> text."""
    part = text[text.index("## Recipes"):text.index("## Words")]
    return dict(re.findall(r"\*\*([^*]+)\*\*: (.*?)(?=\n\n|\Z)", part, re.DOTALL))


def paths_in(root, text, example):
    """The paths that stand in backticks; None for one that does not exist."""
    for name in re.findall(r"`([^`]+)`", text):
        name = name.split(" > ")[-1].replace("<name>", example)
        if not re.fullmatch(r"[\w./]+/[\w./]*|[\w/]+\.(?:h|cpp|md|def|txt)", name):
            continue
        found = [root / start / name for start in ROOTS if (root / start / name).exists()]
        yield name, found[0].relative_to(root) if found else None


def mentions(root, example, places):
    for place in places:
        path = root / place
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and re.search(rf"\b{example}\b", file.read_text(errors="replace")):
                yield file.relative_to(root)


def check_families(root):
    cpu = root / "src/backends/cpu"
    family_of = {op: file.stem for file in (root / "src/ops").glob("*.cpp")
                 for op in re.findall(r"^const OpDefinition (\w+) =", file.read_text(), re.MULTILINE)}
    for file in sorted((cpu / "kernels").glob("*.cpp")):
        for op in re.findall(r"^std::unique_ptr<Kernel> (\w+)\(const KernelCall", file.read_text(), re.MULTILINE):
            family = family_of.get(op)
            # kernels/conv_gradient.cpp is of the family conv.
            if family and not f"{file.stem}_".startswith(f"{family}_"):
                yield f"{op} is defined in ops/{family}.cpp, but its kernel is in kernels/{file.name}"
    families = set(family_of.values())
    for file in sorted((cpu / "routines").glob("*.cpp")):
        # So are routines/conv_planes.cpp and routines/conv_pooled.cpp; a family needs no file of its bare name.
        if not f"{file.stem}_".removeprefix("mixed_").startswith(tuple(f"{family}_" for family in families)):
            yield f"routines/{file.name} has the name of no family of ops"


def check(root):
    yield from check_families(root)
    for title, text in recipes((root / "ARCHITECTURE.md").read_text()).items():
        example, places = EXAMPLES.get(title, ("", []))
        named = dict(paths_in(root, text, example))
        for name, path in named.items():
            # A file that a recipe names by its last part is in the folder that it named before.
            if path is None and "<" not in name and "/" in name and not name.startswith(("routines/", "backends/")):
                yield f"{title}: there is no {name}"
        if not example:
            continue
        wanted = [path for path in named.values() if path] + [pathlib.Path(file) for file in FAMILY.get(title, [])]
        found = set(mentions(root, example, places))
        for file in sorted(found):
            if not any(file == path or path in file.parents for path in wanted):
                yield f"{title}: {file} mentions {example}, but the recipe does not name it"
        for path in wanted:
            if not any(file == path or path in file.parents for file in mentions(root, example, [path])):
                yield f"{title}: the recipe names {path}, which does not mention {example}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    problems = list(check(root))
    print("\n".join(problems) if problems else f"recipes: {len(EXAMPLES)} are true of their examples")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
