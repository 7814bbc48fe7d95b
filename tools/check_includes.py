#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom: the layers of ARCHITECTURE.md, and third-party headers where they belong.

Usage: tools/check_includes.py [ROOT]     Prints each include that breaks a rule; exit status 1 if there is one.
"""
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


def find_cycle():
    """A list of folders that may include each other in a circle, or None."""
    done, way = set(), []

    def visit(folder):
        if folder in way:
            return way[way.index(folder):]
        if folder in done:
            return None
        way.append(folder)
        for target in sorted(ALLOWED.get(folder, ())):
            if target != folder and (cycle := visit(target)):
                return cycle
        way.pop()
        done.add(folder)
        return None

    return next((cycle for folder in sorted(ALLOWED) if (cycle := visit(folder))), None)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    problems = [*check(root), *check_cli(root), *check_python(root)]
    if cycle := find_cycle():
        problems.append(f"tools/check_includes.py: these folders may include each other: {', '.join(cycle)}")
    print("\n".join(problems) if problems else "includes: every layer keeps to its own")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
