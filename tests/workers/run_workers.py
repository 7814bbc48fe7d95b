#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs train_together as workers under mpirun and compares every bit with one process that has all replicas.

Usage: run_workers.py MPIRUN TRAIN_TOGETHER FOLDER
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

MPIRUN, PROGRAM, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
# For Open MPI in a container: more workers than cores, and the user root. Other MPIs ignore these.
ENVIRONMENT = {
    **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def command(workers, style, replicas, out, *more):
    start = [MPIRUN, "-n", str(workers)] if workers > 1 else []
    return [*start, PROGRAM, style, str(replicas), str(out), *map(str, more)]


def run(workers, style, replicas, name, *more):
    done = subprocess.run(command(workers, style, replicas, FOLDER / name, *more), env=ENVIRONMENT, text=True,
                          capture_output=True, timeout=300)
    return done


def check(condition, text):
    if not condition:
        sys.exit(f"run_workers: {text}")


def results(name, workers):
    return [(FOLDER / f"{name}.{rank}").read_bytes() for rank in range(workers)]


def expect_equal(style, workers, replicas):
    alone = run(1, style, replicas, "alone")
    check(alone.returncode == 0, f"{style} alone failed: {alone.stderr}")
    shared = run(workers, style, replicas, "shared")
    check(shared.returncode == 0, f"{style} with {workers} workers failed: {shared.stderr}")
    wanted = results("alone", 1)[0]
    check(len(wanted) > 200, f"{style} wrote nothing")
    for rank, found in enumerate(results("shared", workers)):
        check(found == wanted, f"{style}: worker {rank} of {workers}, {replicas} replicas, has other results than one process")
    # One worker shows the progress of all.
    check(shared.stdout.count("Epoch 1/4") == alone.stdout.count("Epoch 1/4"),
          f"{style}: {workers} workers print\n{shared.stdout}")
    print(f"{style}: {workers} workers with {replicas} replicas give the bits of one process")


def expect_message(style, text):
    failed = run(2, style, 2, "failed")
    check(failed.returncode != 0 and text in failed.stderr, f"{style} should say '{text}' and says\n{failed.stderr}")
    check(failed.stderr.count(text) <= 2, f"{style} says it more than once a worker:\n{failed.stderr}")
    print(f"{style}: refused")


def ranks_of(parent):
    children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(parent)], text=True, capture_output=True).stdout
    return [int(line.split()[0]) for line in children.splitlines() if PROGRAM in line]


def expect_resumed():
    """A worker is killed again and again; the run ends with the bits of the undisturbed one, also with other numbers of workers."""
    undisturbed = run(1, "keras", 2, "undisturbed")
    check(undisturbed.returncode == 0, undisturbed.stderr)
    checkpoints = FOLDER / "checkpoints"
    shutil.rmtree(checkpoints, ignore_errors=True)
    generator, kills = random.Random(7), 0
    for attempt in range(40):
        workers = 2 if attempt % 3 else 1
        started = subprocess.Popen(command(workers, "keras", 2, FOLDER / "killed", checkpoints, 15), env=ENVIRONMENT,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kills < 5:
            time.sleep(generator.uniform(0.5, 1.2))
            victims = ranks_of(started.pid) if workers > 1 else [started.pid]
            if victims and started.poll() is None:
                os.kill(generator.choice(victims), signal.SIGKILL)
                kills += 1
        try:
            started.wait(timeout=60)
        except subprocess.TimeoutExpired:
            started.kill()
            sys.exit("run_workers: the other worker of a killed one still runs after 60 s")
        if started.returncode == 0:
            break
    check(started.returncode == 0, "the run never ended")
    check(kills == 5, f"the run ended after {kills} kills")
    check(results("killed", 1)[0] == results("undisturbed", 1)[0], "a run that was killed has other results")
    print(f"keras: killed {kills} times, resumed by one and two workers, the same bits")


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for style, workers, replicas in [("keras", 2, 2), ("keras", 3, 3), ("keras", 2, 4), ("pipeline", 2, 2),
                                     ("poptorch", 2, 2), ("poptorch", 3, 3), ("session", 2, 2)]:
        expect_equal(style, workers, replicas)
    expect_message("loop", "repeat: a loop runs on one IPU, so several workers would all do the same")
    expect_message("uneven", "starts from other weights or random numbers than worker")
    expect_resumed()


if __name__ == "__main__":
    main()
