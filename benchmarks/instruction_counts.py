#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a training step and compares them with those stored: a guard that needs no clock.

  benchmarks/instruction_counts.py [--update] [--build DIR] [MODEL...]

One step of each model runs on one tile under valgrind; its count is compared with the one in instruction_counts.json
for the same instruction set. --update stores what was counted instead. The status is 1 if a step takes more than the
margin beyond its stored count, or could not be counted; without valgrind, or without a stored count, nothing is compared.
scripts/test_x86.sh avx2 counts does the same for AVX2 on another machine, by QEMU.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORE = ROOT / "benchmarks" / "instruction_counts.json"
MODELS = ["mlp", "keras_cnn", "fashion", "poptorch_cnn", "vgg_small", "large_mlp", "lenet"]
MARGIN = 0.10
# Neither the process's start nor the compiler counts.
COUNTED = "pando::Program::step(std::span*"


def run(command):
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if ran.returncode != 0:
        raise RuntimeError(f"'{' '.join(map(str, command))}' failed:\n{ran.stderr}")
    return ran


def count_by_valgrind(program, model, folder):
    out = folder / model
    ran = run(["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--toggle-collect={COUNTED}",
               f"--callgrind-out-file={out}", program, model])
    found = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE)
    return ran.stdout.strip(), int(found[1]) if found else 0


def count_by_qemu(program, model, folder):
    """For a program of x86-64 on another machine: what a step adds to a run without one."""
    totals = []
    for steps in (0, 1):
        ran = run(["qemu-x86_64", "-cpu", "max", "-plugin", folder / "plugin.so", program, model, steps])
        totals.append(int(re.search(r"^instructions: (\d+)", ran.stderr, re.MULTILINE)[1]))
    return ran.stdout.strip(), totals[1] - totals[0]


def is_for_x86(program):
    """Whether it is an ELF file for x86-64."""
    with open(program, "rb") as file:
        return file.read(20)[18:20] == b"\x3e\x00"


def counter(program, folder):
    """The function that counts on this machine, or None if what it needs is not here."""
    if not is_for_x86(program) or platform.machine() == "x86_64":
        return count_by_valgrind if shutil.which("valgrind") else None
    if not shutil.which("qemu-x86_64"):
        return None
    run(["cc", "-O2", "-shared", "-fPIC", ROOT / "tools" / "count_instructions.c", "-o", folder / "plugin.so"])
    return count_by_qemu


def compare(instruction_set, model, counted, stored):
    """One line about a model; returns whether it is within the margin."""
    if stored is None:
        print(f"{model:<14}{counted:>15,}   no stored count for {instruction_set}: run with --update there")
        return True
    change = counted / stored - 1
    verdict = "as stored" if abs(change) <= MARGIN else "MORE than stored" if change > 0 else \
        "fewer than stored: run with --update, so that it stays so"
    print(f"{model:<14}{counted:>15,}{stored:>15,}{change:>+8.1%}   {verdict}")
    return change <= MARGIN


def count_all(program, models, update, folder):
    """Returns the status."""
    count = counter(program, folder)
    if count is None:
        print("skipped: instructions are counted by valgrind, those of x86-64 on another machine by qemu-x86_64; on "
              "Debian, scripts/install.sh valgrind qemu-user")
        return 0
    store = json.loads(STORE.read_text()) if STORE.exists() else {}
    good = True
    # The largest first, so that it does not run alone at the end.
    largest_first = sorted(models, key=lambda model: model != "vgg_small")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {model: pool.submit(count, program, model, folder) for model in largest_first}
        for model in models:
            instruction_set, counted = running[model].result()
            if counted == 0:
                raise RuntimeError(f"{model}: nothing was counted; is {program} stripped?")
            if update:
                store.setdefault(instruction_set, {})[model] = counted
                print(f"{model:<14}{counted:>15,}   stored for {instruction_set}")
            else:
                good = compare(instruction_set, model, counted, store.get(instruction_set, {}).get(model)) and good
    if update:
        STORE.write_text(json.dumps(store, indent=2) + "\n")
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true", help="store the counts instead of comparing them")
    parser.add_argument("--build", default=ROOT / "build" / "release", type=pathlib.Path, metavar="DIR",
                        help="where one_step was built")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    arguments = parser.parse_args()
    for model in arguments.models:
        if model not in MODELS:
            parser.error(f"unknown model '{model}'; use {', '.join(MODELS)}")
    program = arguments.build / "benchmarks" / "one_step"
    if not program.exists():
        print(f"{program} is not built; build the target one_step", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        return count_all(program, arguments.models or MODELS, arguments.update, pathlib.Path(folder))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(str(error))
