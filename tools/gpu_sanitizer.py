#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the quick tests on a GPU under the tools memcheck and racecheck of compute-sanitizer.

    tools/gpu_sanitizer.py build/gpu [--jobs 16] [--tool memcheck|racecheck] [--seconds 60] [NAME...]

BUILD was configured with PANDO_TEST_GPU=ON; NAME is a test of ctest such as cuda_keras, all that are quick by default. Each case
is a process of its own. A kernel under racecheck takes a hundred times as long or more, so a case is ended after some seconds:
what a test launches later is mostly what it launched before. (Looking at the first launches alone, by --launch-count, makes
compute-sanitizer fail in a CUDA graph.) Says how many cases a tool looked at and how many of them were ended, and shows
what it found. Exit status 1 if a tool found something or a case failed.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

_TOOL = "compute-sanitizer"
_TOOLS = ["memcheck", "racecheck"]
# What compute-sanitizer returns if it found something. Other numbers are those of the test.
_FOUND = 99
# A line of compute-sanitizer that tells of something it found. That a case does not use the GPU, or not yet, is nothing.
_FINDING = re.compile(r"^========= (?!\s*$|COMPUTE-SANITIZER|Target application|Tracking kernels|\w+ SUMMARY: 0 )",
                      re.MULTILINE)

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


def ended(process, seconds):
    """Waits for the process and those that it started, and ends them if that takes longer."""
    try:
        process.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True


def run(case, seconds, folder):
    """Whether the case was ended, and what there is to say: nothing if nothing was found."""
    own = tempfile.mkdtemp(dir=folder)
    environment = {**os.environ, **case.environment, "TEST_TMPDIR": own}
    command = [_TOOL, "--tool", case.tool, "--target-processes", "application-only", "--report-api-errors", "no",
               "--require-cuda-init", "no", "--launch-timeout", str(math.ceil(seconds)), "--error-exitcode", str(_FOUND),
               case.program, "--gtest_brief=1", "--gtest_filter=" + case.name]
    log = pathlib.Path(own, "sanitizer.log")
    with open(log, "wb") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        was_ended = ended(process, seconds)
    told = log.read_text(errors="replace")
    if process.returncode == _FOUND or _FINDING.search(told):
        return was_ended, "found something\n" + told[-4000:]
    if process.returncode != 0 and not was_ended:
        return was_ended, f"the test ended with status {process.returncode}\n" + told[-4000:]
    return was_ended, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tool", choices=_TOOLS, action="append")
    parser.add_argument("--seconds", type=float, default=60, help="after which a case is ended")
    parser.add_argument("tests", nargs="*", metavar="NAME")
    options = parser.parse_intermixed_args()
    programs = list(tests_of(options.build, options.tests))
    if not programs:
        sys.exit(f"{options.build} has no such tests; configure it with -DPANDO_TEST_GPU=ON")
    tools = options.tool or _TOOLS
    cases = [Case(tool, program, environment, name) for tool in tools for program, environment in programs
             for name in names_of(program)]
    failures, cut_off = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        running = {threads.submit(run, case, options.seconds, folder): case for case in cases}
        for done in concurrent.futures.as_completed(running):
            case, (was_ended, told) = running[done], done.result()
            if was_ended:
                cut_off[case.tool] += 1
                print(f"{case.tool}: {pathlib.Path(case.program).name} {case.name}: ended", flush=True)
            if told is not None:
                failures[case.tool] += 1
                print(f"{case.tool}: {pathlib.Path(case.program).name} {case.name}: {told}", flush=True)
    for tool in tools:
        print(f"{tool}: {sum(case.tool == tool for case in cases)} cases, {cut_off[tool]} of them ended after {options.seconds:g} s, "
              f"{failures[tool]} with errors")
    return 1 if failures else 0


sys.exit(main())
