#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs scripts of other projects, unchanged, on Pando, and says which run.

Usage: python/tests/upstream/run.py FOLDER [--list FILE] [--only TEXT] [--samples N] [--seconds N]

FOLDER has a clone of each repository under its name, such as FOLDER/pytorch/examples. The list beside this file names the
scripts; nothing of other projects is part of Pando. Data sets are cut to N samples, or to the number that the list has
for a script that needs more. --only takes the scripts whose path has the text. Prints a row for each script; exit
status 1 if one that the list says runs does not.
"""
import argparse
import csv
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def entries(path):
    with open(path, newline="") as file:
        yield from csv.DictReader(file)


def run(entry, folder, options):
    """The last line that the script printed, and its exit status; None if it did not end in time."""
    script = folder / entry["repository"] / entry["path"]
    with tempfile.TemporaryFile("w+") as output:
        command = [sys.executable, "-m", "pando", script.name, *shlex.split(entry["arguments"])]
        environment = {**os.environ, "PANDO_TEST_SAMPLES": entry["samples"] or str(options.samples)}
        try:
            status = subprocess.run(command, cwd=script.parent, env=environment, stdout=output, stderr=output,
                                    timeout=options.seconds, check=False).returncode
        except subprocess.TimeoutExpired:
            status = None
        output.seek(0)
        lines = [line.strip() for line in output.read().replace("\r", "\n").split("\n") if line.strip()]
    return status, lines[-1] if lines else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--list", type=pathlib.Path, action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=300)
    options = parser.parse_args()
    ran = tried = wrong = 0
    for path in options.list or [HERE / "keras.csv"]:
        for entry in entries(path):
            if options.only not in entry["path"]:
                continue
            if not (options.folder / entry["repository"] / entry["path"]).exists():
                print(f"{entry['path']}: not in {options.folder / entry['repository']}")
                continue
            status, last = run(entry, options.folder, options)
            said = "runs" if status == 0 else "does not end" if status is None else "stops"
            ran += status == 0
            tried += 1
            is_other = (status == 0) != (entry["runs"] == "yes")
            wrong += is_other
            print(f"{entry['path']}: {said}{', unlike the list' if is_other else ''}: {last[:150]}", flush=True)
    print(f"{ran} of {tried} run; {wrong} unlike the list")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
