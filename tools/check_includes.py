#!/usr/bin/env python3
"""Checks who includes whom: the layers of ARCHITECTURE.md, and third-party headers where they belong.

Usage: tools/check_includes.py [ROOT]     Prints each include that breaks a rule; exit status 1 if there is one.
"""
import pathlib
import re
import sys

# What each folder of src/ may include, besides itself. program/program.cpp wires everything and may include all.
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
    "data": {"base", "io", "report"},
    "report": {"base", "io", "graph", "plan"},
}
# What every front end may include: a style is a thin layer over training, and never reaches into the engine's parts.
FRONT_END = {"base", "io", "graph", "ops", "autodiff", "data", "report", "engine", "training", "frontends/ipu"}
ALLOWED["training"] = FRONT_END - {"training", "frontends/ipu"}
for style in ("ipu", "keras", "torch", "tf1"):
    ALLOWED[f"frontends/{style}"] = FRONT_END
# The program `pando` sees the public headers, these folders, and the measurement of the machine's peak.
CLI = {"base", "io", "report", "cli", "benchmarks"}
# The folder that each public header belongs to; those in a folder to the front end of that name, or:
PUBLIC = {
    "export": "base", "error": "base", "dtype": "base", "shape": "base", "array": "base", "array_functions": "base",
    "random": "base",
    "attributes": "graph", "graph": "graph", "ops": "ops", "gradients": "autodiff", "program": "engine", "parallel": "engine", "profile": "engine",
    "datasets": "data", "progress": "report", "plot": "report", "tqdm": "report", "report": "report",
    "tensor": "training", "trace": "training",
}
PUBLIC_FOLDERS = {"data": "data", "torchvision": "data", "poptorch": "frontends/torch"}
# fmt everywhere; other libraries only where they are wrapped.
THIRD_PARTY = re.compile(r"^(zlib|cairo|curl|openssl|nlohmann|CLI|mpi|nccl|cuda)")
MAY_WRAP = ("backends/", "comm/", "report/", "io/", "data/")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


def folder_of(path):
    """backends/cpu for backends/cpu/kernels/conv.cpp, ops for ops/conv.cpp."""
    parts = path.parts[:-1]
    return "/".join(parts[:2]) if parts[:1] in (("backends",), ("frontends",)) else (parts[0] if parts else "")


def folder_of_public(path):
    """path: what follows include/pando/. None for a header that nobody has claimed."""
    if len(path.parts) > 1:
        folder = path.parts[0]
        return PUBLIC_FOLDERS.get(folder, f"frontends/{folder}")
    return PUBLIC.get(path.stem)


def check_cli(root):
    for path in sorted([*(root / "cli").rglob("*.h"), *(root / "cli").rglob("*.cpp")]):
        for _, local in INCLUDE.findall(path.read_text()):
            if local and folder_of(pathlib.Path(local)) not in CLI:
                yield f"{path.relative_to(root)}: cli may not include {local}"


def check(root):
    source = root / "src"
    for path in sorted([*source.rglob("*.h"), *source.rglob("*.cpp"), *(root / "include").rglob("*.h")]):
        is_public = source not in path.parents
        inside = path.relative_to(root / "include/pando" if is_public else source)
        folder = folder_of_public(inside) if is_public else folder_of(inside)
        if is_public and folder is None:
            if path.stem != "pando":
                yield f"{path.relative_to(root)}: unknown public header; add it to PUBLIC in tools/check_includes.py"
            continue
        for system, local in INCLUDE.findall(path.read_text()):
            name = system or local
            if name.startswith("pando/"):
                target = folder_of_public(pathlib.Path(name).relative_to("pando"))
            elif local and (source / local).exists():
                target = folder_of(pathlib.Path(local))
            else:
                if is_public and "/" in name and not name.startswith("sys/"):
                    yield f"{path.relative_to(root)}: a public header includes {name}"
                if THIRD_PARTY.match(name) and not str(inside).startswith(MAY_WRAP):
                    yield f"{path.relative_to(root)}: {name} belongs into one of {', '.join(MAY_WRAP)}"
                continue
            if folder in ("", "engine") or target == folder or target in ALLOWED.get(folder, set()):
                continue
            yield f"{path.relative_to(root)}: {folder} may not include {target} ({name})"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    problems = [*check(root), *check_cli(root)]
    print("\n".join(problems) if problems else "includes: every layer keeps to its own")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
