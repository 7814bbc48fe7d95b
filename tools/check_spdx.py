#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every source file and script names its licence.

Usage: tools/check_spdx.py [--write] [ROOT]     --write adds the line where it is missing

The line is the first of the file, or the second after "#!". Styles and scripts of pages do without, because they become
part of every page that users write. Prints each file without the line; exit status 1 if there is one.
"""
import pathlib
import subprocess
import sys

TEXT = "SPDX-License-Identifier: Apache-2.0"
COMMENTS = {".h": "//", ".cpp": "//", ".c": "//", ".def": "//", ".py": "#", ".sh": "#", ".cmake": "#"}
NAMES = {"CMakeLists.txt": "#", "Dockerfile": "#", "Doxyfile": "#"}


def comment_of(path):
    """How the file writes comments; nothing for a file that needs no licence line."""
    return NAMES.get(path.name) or COMMENTS.get(path.suffix) or ("#" if path.parent.name == ".ci" else "")


def place_of(lines):
    return 1 if lines and lines[0].startswith("#!") else 0


def files(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else \
        sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    return [root / name for name in names if (root / name).is_file() and comment_of(root / name)]


def main():
    arguments = [word for word in sys.argv[1:] if word != "--write"]
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parent.parent).resolve()
    checked = files(root)
    missing = []
    for path in checked:
        lines = path.read_text().split("\n")
        wanted = f"{comment_of(path)} {TEXT}"
        if lines[place_of(lines):][:1] != [wanted]:
            missing.append((path, lines, wanted))
    if "--write" in sys.argv:
        for path, lines, wanted in missing:
            lines.insert(place_of(lines), wanted)
            path.write_text("\n".join(lines))
        missing = []
    for path, _, wanted in missing:
        print(f"{path.relative_to(root)}: the first line is not '{wanted}'; tools/check_spdx.py --write adds it")
    if not missing:
        print(f"licence: {len(checked)} files name theirs")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
