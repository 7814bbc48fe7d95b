#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs train_together as workers under mpirun and compares every bit with one process that has all replicas.

Usage: run_workers.py MPIRUN TRAIN_TOGETHER FOLDER
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from worker_runs import ENVIRONMENT, Together, check

TOGETHER = Together(*sys.argv[1:4])


def expect_equal(style, workers, replicas):
    alone, shared = TOGETHER.expect_equal(style, workers, replicas)
    # One worker shows the progress of all.
    check(shared.count("Epoch 1/4") == alone.count("Epoch 1/4"), f"{style}: {workers} workers print\n{shared}")


def expect_message(style, text):
    failed = TOGETHER.run(2, style, 2, "failed")
    check(failed.returncode != 0 and text in failed.stderr, f"{style} should say '{text}' and says\n{failed.stderr}")
    check(failed.stderr.count(text) <= 2, f"{style} says it more than once a worker:\n{failed.stderr}")
    print(f"{style}: refused")


def expect_resumed():
    """A worker is killed again and again; the run ends with the bits of the undisturbed one, also with other numbers of workers."""
    undisturbed = TOGETHER.run(0, "keras", 2, "undisturbed")
    check(undisturbed.returncode == 0, undisturbed.stderr)
    checkpoints = TOGETHER.folder / "checkpoints"
    shutil.rmtree(checkpoints, ignore_errors=True)
    generator, kills = random.Random(7), 0
    for attempt in range(60):
        workers = 2 if attempt % 3 else 1
        started = subprocess.Popen(TOGETHER.command(workers, "keras", 2, "killed", checkpoints, 15), env=ENVIRONMENT,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kills < 5:
            time.sleep(generator.uniform(0.5, 1.2))
            victims = TOGETHER.children(started.pid)
            if victims and started.poll() is None:
                os.kill(generator.choice(victims), signal.SIGKILL)
                kills += 1
        try:
            started.wait(timeout=60)
        except subprocess.TimeoutExpired:
            started.kill()
            sys.exit("run_workers: the other worker of a killed one still runs after 60 s")
        if started.returncode != 0:
            continue
        check(TOGETHER.results("killed", 1)[0] == TOGETHER.results("undisturbed", 1)[0],
              f"a run that was killed {kills} times has other results")
        if kills == 5:
            break
        # A quick machine ends a run before it is killed that often; the next one begins from nothing.
        shutil.rmtree(checkpoints)
    check(started.returncode == 0 and kills == 5, f"the run never ended after {kills} kills")
    print(f"keras: killed {kills} times, resumed by one and two workers, the same bits")


def main():
    for style, workers, replicas in [("keras", 2, 2), ("keras", 3, 3), ("keras", 2, 4), ("pipeline", 2, 2),
                                     ("poptorch", 2, 2), ("poptorch", 3, 3), ("session", 2, 2)]:
        expect_equal(style, workers, replicas)
    expect_message("loop", "repeat: a loop runs on one IPU, so several workers would all do the same")
    expect_message("uneven", "starts from other weights or random numbers than worker")
    expect_resumed()


if __name__ == "__main__":
    main()
