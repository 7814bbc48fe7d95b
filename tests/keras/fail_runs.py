#!/usr/bin/env python3
"""Lets each call that writes a checkpoint fail in turn: the run goes on, says so, and its checkpoints can be gone on from.

Usage: fail_runs.py PROGRAM LIBRARY     killed_run and failing_io as built.
"""
import sys
import tempfile

from run_folder import RunFolder

EPOCHS, SAMPLES = 2, 17
# What is left of an old checkpoint does not matter.
SILENT = ("remove",)


def check(folder, kind, expected):
    """Returns the function that failed, None if there were not so many calls."""
    process = folder.start(kind)
    text, _ = process.communicate(timeout=60)
    failed = folder.fault_hit()
    if process.returncode != 0:
        sys.exit(f"{kind} of {failed}: the run ended with {process.returncode}:\n{text}")
    history = (folder.path / "history.txt").read_bytes()
    is_told = "Warning:" in text and "cannot be written:" in text
    should_be_told = failed is not None and "short" not in kind and failed not in SILENT
    if is_told != should_be_told or history != expected[1]:
        sys.exit(f"{kind} of {failed}: the run went wrong or said something else than it should:\n{text}")
    process = folder.start()
    text, _ = process.communicate(timeout=60)
    if process.returncode != 0 or text or folder.result() != expected:
        sys.exit(f"{kind} of {failed}: no going on afterwards:\n{text}")
    return failed


def main():
    program, library = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as place:
        undisturbed = RunFolder(program, library, f"{place}/undisturbed", EPOCHS, SAMPLES)
        undisturbed.start().communicate(timeout=60)
        expected = undisturbed.result()
        for kind in ("ENOSPC", "EIO", "short"):
            failures = {}
            for number in range(1, 1000):
                folder = RunFolder(program, library, f"{place}/{kind}{number}", EPOCHS, SAMPLES)
                failed = check(folder, f"{number} {kind}", expected)
                if failed is None:
                    break
                failures[failed] = failures.get(failed, 0) + 1
            if set(failures) != {"open", "write", "fsync", "close", "rename", "remove"}:
                sys.exit(f"{kind}: only these calls were met: {failures}")
            print(kind, failures)


if __name__ == "__main__":
    main()
