#!/usr/bin/env python3
"""Kills a training run again and again, each time going on from its checkpoints: it ends as if nothing had happened.

Usage: kill_runs.py PROGRAM LIBRARY [KILLS]     killed_run and failing_io as built; 20 kills if not said.

Half of the kills come at any time, half within a call that writes a checkpoint. Exit status 1 if a run ends otherwise
than the undisturbed one.
"""
import random
import sys
import tempfile
import time

from run_folder import RunFolder

EPOCHS, SAMPLES = 6, 46


def finish(folder, expected):
    process = folder.start()
    text, _ = process.communicate(timeout=60)
    if process.returncode != 0 or "damaged" in text:
        sys.exit(f"the run ended with {process.returncode} after {folder.starts} starts:\n{text}")
    if folder.result() != expected:
        sys.exit(f"after {folder.starts} starts the run in {folder.path} ended with other results")


def kill_at_any_time(folder, duration):
    process = folder.start()
    time.sleep(random.uniform(0, duration))
    process.kill()
    text, _ = process.communicate(timeout=60)
    return process.returncode, text, folder.is_half_written()


def kill_within_a_write(folder):
    process = folder.start(f"{random.randrange(1, 120)} {random.choice(['kill', 'kill_after'])}")
    text, _ = process.communicate(timeout=60)
    return process.returncode, text, folder.fault_hit() is not None


def main():
    program, library = sys.argv[1:3]
    wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    seed = random.randrange(1 << 32)
    random.seed(seed)
    with tempfile.TemporaryDirectory() as place:
        undisturbed = RunFolder(program, library, f"{place}/undisturbed", EPOCHS, SAMPLES)
        begin = time.monotonic()
        process = undisturbed.start()
        text, _ = process.communicate(timeout=60)
        duration = time.monotonic() - begin
        if process.returncode != 0:
            sys.exit(f"the undisturbed run failed:\n{text}")
        expected = undisturbed.result()
        kills = inside = runs = 0
        while kills < wanted:
            runs += 1
            folder = RunFolder(program, library, f"{place}/run{runs}", EPOCHS, SAMPLES)
            for _ in range(random.randrange(3, 12)):
                is_aimed = random.random() < 0.5
                code, text, is_inside = kill_within_a_write(folder) if is_aimed else kill_at_any_time(folder, duration)
                if code not in (0, -9) or "damaged" in text:
                    sys.exit(f"seed {seed}: a run ended with {code}:\n{text}")
                kills += code == -9
                inside += code == -9 and is_inside
            finish(folder, expected)
        print(f"{kills} kills, {inside} of them within the writing of a checkpoint; {runs} runs ended as the undisturbed one")


if __name__ == "__main__":
    main()
