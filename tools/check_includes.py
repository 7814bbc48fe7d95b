#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom: the layers of ARCHITECTURE.md, and third-party headers where they belong; and who imports
whom in python/pando: the packages keep one order, and no files import each other in a circle.

Usage: tools/check_includes.py [ROOT]     Prints each include or import that breaks a rule; exit status 1 if there is one.
"""
import ast
import pathlib
import re
import sys

# What each folder of src/ and of include/pando/ may include, in addition to itself.
ALLOWED = {
    "base": set(),
    "io": {"base"},
    "graph": {"base"},
    "ops": {"base", "graph"},
    "autodiff": {"base", "graph", "ops"},
    "plan": {"base", "graph"},
    "compiler": {"base", "graph", "ops", "plan"},
    "comm": {"base"},
    "runtime": {"base", "graph", "plan", "comm"},
    "backends/cpu": {"base", "graph", "ops", "plan", "runtime"},
    "backends/cuda": {"base", "io", "graph", "ops", "plan", "comm", "runtime"},
    "report": {"base", "io", "graph", "plan"},
    "data": {"base", "io", "report"},
    "datasets": {"base", "io", "report", "data"},
}
# The only folder that wires everything below it.
ALLOWED["program"] = {"base", "graph", "ops", "plan", "compiler", "comm", "runtime", "backends/cpu", "backends/cuda",
                      "report"}
# A style is a thin layer over model/, and never reaches into the parts of a program.
FRONT_END = {"base", "io", "graph", "ops", "autodiff", "comm", "data", "datasets", "report", "program", "model", "frontends/ipu"}
ALLOWED["model"] = FRONT_END - {"model", "datasets", "frontends/ipu"}
for style in ("ipu", "keras", "torch", "tf1"):
    ALLOWED[f"frontends/{style}"] = FRONT_END
# The program `pando` sees the public headers and these folders.
CLI = {"base", "io", "report", "cli"}
# fmt everywhere; other libraries only where they are wrapped.
THIRD_PARTY = re.compile(r"^(zlib|jpeglib|jerror|cairo|curl|openssl|nlohmann|CLI|mpi|nccl|cuda)")
MAY_WRAP = ("backends/", "comm/", "report/", "io/", "datasets/")

# The packages of python/pando: each may import those before it in its line, and those that they may import.
PYTHON_ORDERS = (
    ("_core", "core", "tensors", "keras", "tf", "ipu"),
    ("core", "torch", "poptorch"),
    # These load any package when it is asked for. `pando` is pando/__init__.py, `__main__` is pando/__main__.py.
    ("ipu", "compat"), ("poptorch", "compat"), ("compat", "pando", "__main__"),
)
MODULE_NAME = re.compile(r"pando(\.\w+)+")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


def folder_of(path):
    """backends/cpu for backends/cpu/kernels/conv.cpp, ops for ops/conv.cpp."""
    parts = path.parts[:-1]
    return "/".join(parts[:2]) if parts[:1] in (("backends",), ("frontends",)) else (parts[0] if parts else "")


def check_cli(root):
    for path in sorted([*(root / "cli").rglob("*.h"), *(root / "cli").rglob("*.cpp")]):
        for _, local in INCLUDE.findall(path.read_text()):
            if local and folder_of(pathlib.Path(local)) not in CLI:
                yield f"{path.relative_to(root)}: cli may not include {local}"


def check_python(root):
    """The extension of Python sees the public headers and its own."""
    for path in sorted([*(root / "python/source").glob("*.h"), *(root / "python/source").glob("*.cpp")]):
        for _, local in INCLUDE.findall(path.read_text()):
            if local and not (path.parent / local).exists():
                yield f"{path.relative_to(root)}: the Python module may not include {local}"


def check_file(root, path, inside, is_public):
    folder = folder_of(inside)
    if folder not in ALLOWED:
        yield f"{path.relative_to(root)}: there is no folder '{folder}' in tools/check_includes.py"
        return
    for system, local in INCLUDE.findall(path.read_text()):
        name = system or local
        if name == "pando/version.h":
            continue
        if name.startswith("pando/"):
            target = folder_of(pathlib.Path(name).relative_to("pando"))
        elif local and (root / "src" / local).exists():
            target = folder_of(pathlib.Path(local))
        else:
            if is_public and "/" in name and not name.startswith("sys/"):
                yield f"{path.relative_to(root)}: a public header includes {name}"
            if THIRD_PARTY.match(name) and not str(inside).startswith(MAY_WRAP):
                yield f"{path.relative_to(root)}: {name} may only be included in {', '.join(MAY_WRAP)}"
            continue
        if target != folder and target not in ALLOWED[folder]:
            yield f"{path.relative_to(root)}: {folder} may not include {target} ({name})"


def check(root):
    source, public = root / "src", root / "include/pando"
    for path in sorted([*source.rglob("*.h"), *source.rglob("*.cpp"), *source.rglob("*.cu"), *source.rglob("*.cuh"), *public.rglob("*.h")]):
        is_public = source not in path.parents
        inside = path.relative_to(public if is_public else source)
        # The header that includes all others, and the one that all may include.
        if str(inside) not in ("pando.h", "version.h"):
            yield from check_file(root, path, inside, is_public)


def find_circle(targets):
    """Keys of a dict of sets that lead to each other in a circle, the first one again at the end, or None."""
    done, way = set(), []

    def visit(name):
        if name in way:
            return [*way[way.index(name):], name]
        if name in done:
            return None
        way.append(name)
        for target in sorted(targets.get(name, ())):
            if target != name and (circle := visit(target)):
                return circle
        way.pop()
        done.add(name)
        return None

    return next((circle for name in sorted(targets) if (circle := visit(name))), None)


def packages_below():
    """Which packages of python/pando each may import, in addition to itself."""
    below = {}
    for order in PYTHON_ORDERS:
        for lower, upper in zip(order, order[1:]):
            below.setdefault(lower, set())
            below.setdefault(upper, set()).update({lower}, below[lower])
    return below


class PythonTree:
    """The files of python/pando and what they import, within functions, too."""

    def __init__(self, root):
        self._folder = root / "python/pando"
        paths = [path.relative_to(self._folder) for path in sorted(self._folder.rglob("*.py"))]
        self.files = {".".join(("pando", *_module_parts(path))): path.as_posix() for path in paths}

    def imports(self, module):
        """For each import: its line, the file that it names, the faces of the packages that Python loads before that
        file, and whether it can be part of a circle."""
        tree = ast.parse((self._folder / self.files[module]).read_text())
        hints = {part for node in ast.walk(tree) if isinstance(node, ast.If) and _is_for_type_checkers(node.test)
                 for statement in node.body for part in ast.walk(statement)}
        is_face = self.files[module].endswith("__init__.py")
        for node in ast.walk(tree):
            # What type checkers read never runs. A face names modules to load them when they are asked for, after itself.
            closes = node not in hints and not (is_face and isinstance(node, ast.Constant))
            for name in self._names(module, node):
                if found := self._found(name):
                    yield node.lineno, self.files.get(found, found), self._faces(module, found), closes

    def _names(self, module, node):
        """The modules that a statement imports, or that a text names."""
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module if self.files[module].endswith("__init__.py") else module.rpartition(".")[0]
            above = package.split(".")[:len(package.split(".")) - node.level + 1]
            start = ".".join(filter(None, [*(above if node.level else ()), node.module]))
            yield from (f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE_NAME.fullmatch(node.value):
            yield node.value

    def _found(self, name):
        """The module of that name, or the one that has something of that name."""
        if name.startswith("pando._core"):
            return "_core"
        while name and name not in self.files:
            name = name.rpartition(".")[0]
        return name

    def _faces(self, module, target):
        """The packages that Python loads before a module of theirs, if the importing one is not in them itself."""
        parts = target.split(".")
        packages = [".".join(parts[:length]) for length in range(2, len(parts))]
        return [self.files[package] for package in packages
                if package in self.files and not f"{module}.".startswith(f"{package}.")]


def _module_parts(path):
    return path.parts[:-1] if path.name == "__init__.py" else path.with_suffix("").parts


def _is_for_type_checkers(test):
    return getattr(test, "attr", getattr(test, "id", None)) == "TYPE_CHECKING"


def package_of(file):
    """keras for keras/layers/core.py, pando for the face of all, __main__ for __main__.py."""
    return "pando" if file == "__init__.py" else file.partition("/")[0].removesuffix(".py")


def check_python_order(root):
    """The packages of python/pando keep their order, and no files import each other in a circle."""
    tree, below = PythonTree(root), packages_below()
    targets = {}
    for module, file in tree.files.items():
        package = package_of(file)
        if package not in below:
            yield f"python/pando/{file}: there is no package '{package}' in tools/check_includes.py"
            continue
        targets[file] = set()
        for line, target, faces, closes in tree.imports(module):
            if package_of(target) not in below[package] | {package}:
                yield f"python/pando/{file}:{line}: {package} may not import {package_of(target)} ({target})"
            elif closes:
                targets[file].update({target, *faces})
    if circle := find_circle(targets):
        yield f"python/pando: these files import each other in a circle: {' -> '.join(circle)}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    problems = [*check(root), *check_cli(root), *check_python(root), *check_python_order(root)]
    if circle := find_circle(ALLOWED):
        problems.append(f"tools/check_includes.py: these folders may include each other: {', '.join(circle[1:])}")
    print("\n".join(problems) if problems else "includes: every layer keeps to its own")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
