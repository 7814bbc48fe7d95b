#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run clang-tidy with the checks of .clang-tidy over the library and the command.

    check_tidy.py BUILD_FOLDER [PART OF A PATH]...

BUILD_FOLDER has been configured, and built as a unity build: clang-tidy spends most of its time on headers, and a unity
file reads them once for eight sources. With parts of paths, only units that have a matching source are checked. Exit
status 1 if there are findings.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Sources that are compiled once for each instruction set are checked once.
OUTPUTS = re.compile(r"-o (src|cli)/")


def sources_of(unit):
    """The files of a unity file, or the file itself."""
    if not unit.endswith("_cxx.cxx"):
        return [unit]
    with open(unit, encoding="utf-8") as file:
        return re.findall(r'#include "(.*\.cpp)"', file.read())


def units(build, parts):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    found = {}
    for entry in commands:
        # Kernels of GPUs, for which clang-tidy would need a CUDA toolkit that it knows.
        if entry["file"].endswith(".cu"):
            continue
        sources = [os.path.relpath(source, ROOT) for source in sources_of(entry["file"])]
        wanted = not parts or any(part in source for part in parts for source in sources)
        if OUTPUTS.search(entry["command"]) and wanted:
            found.setdefault(entry["file"], sources)
    # The longest first.
    return sorted(found, key=lambda unit: -sum(os.path.getsize(os.path.join(ROOT, s)) for s in found[unit]))


def check(build, unit):
    # The build has shown the compiler's own warnings already.
    command = ["clang-tidy", "--quiet", "-p", build, "--extra-arg=-w", unit]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    text = done.stdout if done.returncode == 0 or done.stdout else done.stdout + done.stderr
    return done.returncode, text.replace(ROOT + "/", "")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    chosen = units(build, sys.argv[2:])
    if not chosen:
        sys.exit("tidy: nothing to check")
    failed = False
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for status, text in pool.map(lambda unit: check(build, unit), chosen):
            failed = failed or status != 0
            # A finding in a header is told once.
            for finding in re.split(r"^(?=\S+:\d+:\d+: (?:error|warning):)", text, flags=re.MULTILINE):
                if finding.strip() and finding not in seen:
                    seen.add(finding)
                    print(finding, end="")
    if failed:
        sys.exit("tidy: findings, see above")
    print(f"tidy: {len(chosen)} units have no findings")


if __name__ == "__main__":
    main()
