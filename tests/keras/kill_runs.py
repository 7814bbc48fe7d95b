#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a training run again and again, each time going on from its checkpoints: it ends as if nothing had happened.

Usage: kill_runs.py PROGRAM LIBRARY [KILLS]     killed_run and failing_io as built; 20 kills if not said.

A third of the kills come at any time, the others within a call that writes a checkpoint, the model or the report.
Whenever it is killed, the model and the report are whole, the old or the new. At the end nothing half-written is left.
Exit status 1 if a run ends otherwise than the undisturbed one.
"""
import collections
import random
import sys
import tempfile
import time

from run_folder import RunFolder

EPOCHS, SAMPLES = 6, 46
# A run makes about 900 calls that write, one that has only to save about 25.
FEW_CALLS, MANY_CALLS = 30, 700


def finish(folder, expected):
    process = folder.start()
    text, _ = process.communicate(timeout=120)
    if process.returncode != 0 or "damaged" in text:
        sys.exit(f"the run ended with {process.returncode} after {folder.starts} starts:\n{text}")
    if folder.result() != expected:
        sys.exit(f"after {folder.starts} starts the run in {folder.path} ended with other results")
    if folder.leftovers():
        sys.exit(f"after {folder.starts} starts these are left: {folder.leftovers()}")


def kill_at_any_time(folder, duration):
    """Returns the exit status, what the run said, and what it was writing."""
    before = folder.leftovers()
    process = folder.start()
    time.sleep(random.uniform(0, duration))
    process.kill()
    text, _ = process.communicate(timeout=120)
    new = [path for path in folder.leftovers() if path not in before]
    return process.returncode, text, new[0] if new else None


def kill_within_a_write(folder):
    number = random.randrange(1, random.choice([FEW_CALLS, MANY_CALLS]))
    process = folder.start(f"{number} {random.choice(['kill', 'kill_after'])}")
    text, _ = process.communicate(timeout=120)
    return process.returncode, text, folder.fault_hit()[1]


def kind_of(path):
    return next(kind for kind in ("checkpoint", "saved", "report") if f"{kind}" in path)


def main():
    program, library = sys.argv[1:3]
    wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    seed = random.randrange(1 << 32)
    random.seed(seed)
    with tempfile.TemporaryDirectory() as place:
        undisturbed = RunFolder(program, library, f"{place}/undisturbed", EPOCHS, SAMPLES)
        begin = time.monotonic()
        process = undisturbed.start()
        text, _ = process.communicate(timeout=120)
        duration = time.monotonic() - begin
        if process.returncode != 0:
            sys.exit(f"the undisturbed run failed:\n{text}")
        expected = undisturbed.result()
        kills = runs = 0
        inside = collections.Counter()
        while kills < wanted:
            runs += 1
            folder = RunFolder(program, library, f"{place}/run{runs}", EPOCHS, SAMPLES)
            for _ in range(random.randrange(3, 12)):
                is_aimed = random.random() < 0.67
                code, text, path = kill_within_a_write(folder) if is_aimed else kill_at_any_time(folder, duration)
                if code not in (0, -9) or "damaged" in text:
                    sys.exit(f"seed {seed}: a run ended with {code}:\n{text}")
                if not folder.is_saved_whole(expected[3]):
                    sys.exit(f"seed {seed}: the model or the report is broken: {folder.saved()[0]}")
                kills += code == -9
                if code == -9 and path:
                    inside[kind_of(path)] += 1
            finish(folder, expected)
            folder.remove()
        print(f"{kills} kills, {sum(inside.values())} of them within a write {dict(inside)}; "
              f"{runs} runs ended as the undisturbed one")


if __name__ == "__main__":
    main()
