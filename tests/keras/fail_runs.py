#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets each call that writes a run's files fail in turn. A checkpoint that cannot be written does not end the run, which
says so and can be gone on from; a model or report that cannot be written is an error, and the old one stays.

Usage: fail_runs.py PROGRAM LIBRARY [PART]     killed_run and failing_io as built; of all calls the PART-th part, at
random, if it is said.
"""
import random
import sys
import tempfile

from run_folder import RunFolder

EPOCHS, SAMPLES = 2, 17
# What is left over does not matter, and what is closed was synced.
SILENT = ("unlinkat", "close")
MOST_MISSED = 8
FUNCTIONS = {"openat", "mkdirat", "write", "fsync", "close", "renameat", "renameat2", "unlinkat"}


def check(folder, kind, expected):
    """Returns the function that failed, None if there were not that many calls."""
    process = folder.start(kind)
    text, _ = process.communicate(timeout=120)
    failed, path = folder.fault_hit()
    is_heard = failed is not None and "short" not in kind and failed not in SILENT
    is_checkpoint = is_heard and "/checkpoints" in path
    what = f"{kind} of {failed} on {path}"
    if process.returncode != (3 if is_heard and not is_checkpoint else 0):
        sys.exit(f"{what}: the run ended with {process.returncode}:\n{text}")
    is_told = "cannot be written:" in text and ("Warning:" if is_checkpoint else "Error:") in text
    if is_told != is_heard or (folder.path / "history.txt").read_bytes() != expected[1]:
        sys.exit(f"{what}: the run went wrong or said something else than it should:\n{text}")
    if not folder.is_saved_whole(expected[3]):
        sys.exit(f"{what}: the model or the report is broken: {folder.saved()[0]}")
    process = folder.start()
    text, _ = process.communicate(timeout=120)
    if process.returncode != 0 or text or folder.result() != expected or folder.leftovers():
        sys.exit(f"{what}: no going on afterwards, {folder.leftovers()} left:\n{text}")
    folder.remove()
    return failed


def main():
    program, library = sys.argv[1:3]
    part = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with tempfile.TemporaryDirectory() as place:
        undisturbed = RunFolder(program, library, f"{place}/undisturbed", EPOCHS, SAMPLES)
        undisturbed.start().communicate(timeout=120)
        expected = undisturbed.result()
        rounds = 0
        missing = set(FUNCTIONS)
        # Which call is the N-th differs from run to run, so that one that a run makes once may need another round.
        for kind in ("ENOSPC", "EIO", "short", "EIO", "ENOSPC", "EIO"):
            if rounds >= 3 and (not missing or part > 1):
                break
            rounds += 1
            failures = {}
            number, missed = random.randrange(1, part + 1), 0
            # A run that is faster than its disk makes fewer calls, so that one miss is not the end.
            while missed < MOST_MISSED:
                folder = RunFolder(program, library, f"{place}/{rounds}-{number}", EPOCHS, SAMPLES)
                failed = check(folder, f"{number} {kind}", expected)
                missed = 0 if failed else missed + 1
                if failed:
                    failures[failed] = failures.get(failed, 0) + 1
                number += part
            missing -= set(failures)
            print(kind, failures)
        if part == 1 and missing:
            sys.exit(f"these calls were never met: {missing}")


if __name__ == "__main__":
    main()
