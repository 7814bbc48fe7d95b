#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows the slowest tests of a run, and names those that have become too slow to guard a landing.

    check_test_times.py BUILD_FOLDER

BUILD_FOLDER has times.xml, which `ctest --output-junit` writes. A test may take a twentieth of the time of all tests
together, or it is labelled `long` or `thorough` (tests/CMakeLists.txt). A ratio, because machines differ. Exit status 1
if a test takes more.
"""
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

MOST_SHARE = 0.05
SHOWN = 12


def labels_of_tests(build):
    listed = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True, check=True)
    labels = {}
    for test in json.loads(listed.stdout)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test["properties"]}
        labels[test["name"]] = properties.get("LABELS", [])
    return labels


def times_of_tests(path):
    """Seconds by name, the slowest first."""
    cases = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
    times = {case.get("name"): float(case.get("time")) for case in cases}
    return dict(sorted(times.items(), key=lambda entry: -entry[1]))


def too_slow(times, labels):
    whole = sum(times.values())
    return [name for name, seconds in times.items()
            if seconds > MOST_SHARE * whole and not {"long", "thorough"} & set(labels.get(name, []))]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1])
    times = times_of_tests(build / "times.xml")
    whole = sum(times.values())
    print("The slowest tests, in seconds and as a share of all:")
    for name, seconds in list(times.items())[:SHOWN]:
        print(f"{seconds:8.1f}  {seconds / max(whole, 1e-9):4.0%}  {name}")
    slow = too_slow(times, labels_of_tests(build))
    for name in slow:
        print(f"{name} takes more than {MOST_SHARE:.0%} of the time of all tests: divide it, make it faster, or label it `thorough`, "
              "so that only scripts/test.sh all runs it")
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()
