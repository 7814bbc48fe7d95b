# SPDX-License-Identifier: Apache-2.0
"""Runs the scripts of the lists in this folder, which were not written for Pando, and compares with what the lists say.

    PYTHONPATH=build/release/python python3 python/tests/upstream/run.py CHECKOUTS [PART_OF_A_PATH]

CHECKOUTS is a folder with graphcore+examples, keras-team+keras and so on, checked out at the commits of the lists.
PANDO_TEST_SAMPLES shortens the data sets.
"""
import csv
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def rows():
    for path in sorted(HERE.glob("scripts*.csv")):
        with open(path, newline="") as file:
            yield from csv.DictReader(file)


def main(checkouts, part=""):
    wrong = 0
    for row in rows():
        if part not in row["path"]:
            continue
        script = pathlib.Path(checkouts, row["repository"].replace("/", "+"), row["path"])
        if not script.exists():
            print(f"not there: {script}")
            continue
        process = subprocess.run([sys.executable, "-m", "pando", script.name], cwd=script.parent, text=True,
                                 capture_output=True, timeout=600, check=False,
                                 env={**os.environ, "MPLBACKEND": "Agg"})
        runs = "yes" if process.returncode == 0 else "no"
        last = (process.stderr.strip() or process.stdout.strip()).split("\n")[-1][:120]
        print(f"{runs:4}{row['path']}" + (f": {last}" if runs == "no" else ""))
        wrong += runs != row["runs"]
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
