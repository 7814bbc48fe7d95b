#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the quick tests on a GPU under the tools memcheck and racecheck of compute-sanitizer.

    tools/gpu_sanitizer.py build/gpu [--jobs 16] [--tool memcheck|racecheck] [--launches N] [NAME...]

BUILD was configured with PANDO_TEST_GPU=ON; NAME is a test of ctest such as cuda_keras, all that are quick by default. Each case
is a process of its own, of which a tool looks at the first launches of kernels: a kernel under racecheck takes a hundred
times as long or more, and what a test launches later is mostly what it launched before. Says how many cases a tool looked at, and
shows what it found. Exit status 1 if a tool found something, or if a case failed or did not end under it.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

_TOOL = "compute-sanitizer"
# How many launches of a case are looked at.
_LAUNCHES = {"memcheck": 1000, "racecheck": 100}
_LONGEST = 400  # seconds
# What compute-sanitizer returns if it found something. Other numbers are those of the test.
_FOUND = 99

Case = collections.namedtuple("Case", "tool program environment name")


def tests_of(build, wanted):
    """The programs of quick tests on a GPU, and the environment of each."""
    listed = subprocess.run(["ctest", "--test-dir", build, "-L", "^cuda$", "--show-only=json-v1"], check=True, text=True,
                            capture_output=True).stdout
    for test in json.loads(listed)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test["properties"]}
        is_wanted = test["name"] in wanted if wanted else "sanitized" in properties["LABELS"]
        if is_wanted:
            yield test["command"][0], dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))


def names_of(program):
    """The cases of a GoogleTest program."""
    suite, names = "", []
    for line in subprocess.run([program, "--gtest_list_tests"], check=True, text=True, capture_output=True).stdout.splitlines():
        word = line.split("#")[0].rstrip()
        if word.startswith("  "):
            names.append(suite + word.strip())
        elif word.endswith("."):
            suite = word
    return names


def run(case, launches, folder):
    """None if nothing was found, or what there is to say."""
    own = tempfile.mkdtemp(dir=folder)
    environment = {**os.environ, **case.environment, "TEST_TMPDIR": own}
    command = [_TOOL, "--tool", case.tool, "--launch-count", str(launches), "--report-api-errors", "no", "--require-cuda-init", "no",
               "--error-exitcode", str(_FOUND), case.program, "--gtest_brief=1", "--gtest_filter=" + case.name]
    try:
        process = subprocess.run(command, env=environment, text=True, errors="replace", stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, timeout=_LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return f"did not end within {_LONGEST} s"
    if process.returncode == 0:
        return None
    what = "found something" if process.returncode == _FOUND else f"the test ended with status {process.returncode}"
    return what + "\n" + process.stdout[-4000:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tool", choices=_LAUNCHES, action="append")
    parser.add_argument("--launches", type=int, help="of each case; the default depends on the tool")
    parser.add_argument("tests", nargs="*", metavar="NAME")
    options = parser.parse_intermixed_args()
    programs = list(tests_of(options.build, options.tests))
    if not programs:
        sys.exit(f"{options.build} has no such tests; configure it with -DPANDO_TEST_GPU=ON")
    tools = options.tool or list(_LAUNCHES)
    cases = [Case(tool, program, environment, name) for tool in tools for program, environment in programs
             for name in names_of(program)]
    failures = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        running = {threads.submit(run, case, options.launches or _LAUNCHES[case.tool], folder): case for case in cases}
        for done in concurrent.futures.as_completed(running):
            case, told = running[done], done.result()
            if told is not None:
                failures[case.tool] += 1
                print(f"{case.tool}: {pathlib.Path(case.program).name} {case.name}: {told}", flush=True)
    for tool in tools:
        print(f"{tool}: {sum(case.tool == tool for case in cases)} cases, {failures[tool]} of them with errors")
    return 1 if failures else 0


sys.exit(main())
