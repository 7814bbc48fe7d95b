#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the documents of ../shared/seeds with all data, unchanged, and checks their limits; a line for each.

    PYTHONPATH=build/release/python python3 python/tests/whole_documents.py [--build build/release] [000 001 002 003 004]

003 runs in turns with the C++ example of the same program, session_fashion of the build folder, and must not be slower.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import documents

# Of 003 and its C++ twin, in turns: of all epochs of each, the one with the lowest time counts. There are more rounds than
# the first number only while Python seems slower: another program may have taken the cores meanwhile.
_ROUNDS = 2, 5
_CALLS = 1875  # of sess.run in an epoch of 003


def run(number, folder):
    """Runs a document in the folder; returns the finished process."""
    script = pathlib.Path(folder, f"{number}.py")
    script.write_text(documents.script_of(number))
    return subprocess.run([sys.executable, "-m", "pando", script.name], cwd=folder, text=True, capture_output=True,
                          env={**os.environ, "MPLBACKEND": "Agg"}, check=False)


def epochs_of_cpp(build):
    """The seconds of the C++ example's five epochs with a run of the session for each step."""
    out = subprocess.run([str(build / "examples/session_fashion"), "--epochs", "5"], text=True, capture_output=True,
                         check=True).stdout
    steps = out.partition("An epoch for each run")[0]
    times = [float(seconds) for seconds in re.findall(r"^Epoch \d/5: loss [\d.]+, ([\d.]+) s$", steps, re.MULTILINE)]
    assert len(times) == 5, out
    return times


def epochs_of_003(out):
    return [float(seconds) for seconds in re.findall(r"Time: ([\d.]+)", out)]


def check_001(process):
    assert process.returncode == 1 and process.stderr.endswith("NameError: name 'x' is not defined\n"), process.stderr
    return "NameError: name 'x' is not defined, as it must"


def check_003(process, folder, build):
    text = documents.check_003(process.stdout, process.stderr, whole=True)
    python, cpp = epochs_of_003(process.stdout), epochs_of_cpp(build)
    for number in range(1, _ROUNDS[1]):
        if number >= _ROUNDS[0] and min(python) <= limit(min(cpp)):
            break
        python += epochs_of_003(run("003", folder).stdout)
        cpp += epochs_of_cpp(build)
    text += f"; an epoch {min(python):.2f} s, in C++ {min(cpp):.2f} s, the lowest of {len(cpp)}"
    assert min(python) <= limit(min(cpp)), text
    return text


def limit(cpp):
    """What an epoch of 003 may take where that of C++ takes this long: each call 5 % or 15 us more."""
    return max(1.05 * cpp, cpp + _CALLS * 15e-6)


def check(number, folder, build):
    """Runs a document and returns what it has shown, in short."""
    process = run(number, folder)
    if number == "001":
        return check_001(process)
    assert process.returncode == 0, process.stdout + process.stderr
    if number == "003":
        return check_003(process, folder, build)
    return getattr(documents, f"check_{number}")(process.stdout, process.stderr, whole=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("documents", nargs="*", default=list(documents.SET_OF), metavar="NUMBER")
    options = parser.parse_args()
    failed = 0
    for number in options.documents:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = "passed: " + check(number, folder, options.build.resolve())
            except AssertionError as error:
                text, failed = f"FAILED: {error}", failed + 1
        print(f"{number} ({time.monotonic() - begin:.0f} s) {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
