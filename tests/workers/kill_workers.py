#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills random workers at random times while `pando launch` starts them again. Every run must end with the bits of the
undisturbed one. Prints the time from each kill to the first execution afterwards.

Usage: kill_workers.py PANDO MPIRUN TRAIN_TOGETHER FOLDER [KILLS [SEED]]

PANDO_MPI_MODULE names the module pando_mpi.so of the same build.
"""
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

from worker_runs import ENVIRONMENT, Together, check

# Milliseconds that a worker pauses after each execution: long enough that several kills meet one run.
PAUSE = 60
# Seconds after which the loop is thought to hang.
LONGEST = 120


class Progress:
    """The file to which the first worker adds its process after each execution."""

    def __init__(self, path):
        self.path = path
        path.unlink(missing_ok=True)

    def processes(self):
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [line.split()[0] for line in lines]


class Loop:
    """`pando launch` with a program that resumes; killed as often as it is told to."""

    def __init__(self, pando, together, generator):
        self.together, self.generator = together, generator
        self.launch = [pando, "launch", "-n", "2", "--restarts", "1000", "--"]
        self.times = []

    def run(self, name, kills):
        """Trains once, with up to that many kills. Returns how many there were."""
        checkpoints = self.together.folder / f"{name}_checkpoints"
        shutil.rmtree(checkpoints, ignore_errors=True)
        progress = Progress(self.together.folder / f"{name}.progress")
        words = self.together.command(0, "keras", 2, name, checkpoints, PAUSE)
        with open(self.together.folder / f"{name}.log", "w") as log:
            started = subprocess.Popen([*self.launch, *words], env=ENVIRONMENT, stdout=log, stderr=log)
            done = 0
            while done < kills and started.poll() is None:
                if self.kill(started, progress):
                    done += 1
            try:
                status = started.wait(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                started.send_signal(signal.SIGTERM)
                sys.exit(f"kill_workers: {name} hangs; its output is in {log.name}")
        check(status == 0, f"{name} ended with status {status}; its output is in {log.name}")
        return done

    def kill(self, started, progress):
        """Kills a worker and waits until another process trains. Returns whether there was a worker to kill."""
        time.sleep(self.generator.uniform(0, 1.5))
        workers = self.together.children(started.pid)
        if not workers:
            return False
        before = set(progress.processes())
        try:
            os.kill(self.generator.choice(workers), signal.SIGKILL)
        except ProcessLookupError:
            return False
        killed = time.monotonic()
        # A process that was in its first execution when it was killed may still have written a line.
        before |= {str(worker) for worker in workers}
        while started.poll() is None:
            if set(progress.processes()) - before:
                self.times.append(time.monotonic() - killed)
                return True
            check(time.monotonic() - killed < LONGEST, f"no training {LONGEST} s after a kill")
            time.sleep(0.01)
        # The run had ended before the worker died.
        return False


def main():
    pando, mpirun, program, folder = sys.argv[1:5]
    wanted = int(sys.argv[5]) if len(sys.argv) > 5 else 100
    generator = random.Random(int(sys.argv[6]) if len(sys.argv) > 6 else 1)
    # `pando launch` starts the mpirun that it finds first.
    ENVIRONMENT["PATH"] = os.pathsep.join([str(pathlib.Path(mpirun).parent), ENVIRONMENT["PATH"]])
    together = Together(mpirun, program, folder)
    undisturbed = together.run(0, "keras", 2, "undisturbed")
    check(undisturbed.returncode == 0, undisturbed.stderr)
    loop, kills, runs = Loop(pando, together, generator), 0, 0
    while kills < wanted:
        name = f"killed{runs}"
        kills += loop.run(name, wanted - kills)
        runs += 1
        for rank, found in enumerate(together.results(name, 2)):
            check(found == together.results("undisturbed", 1)[0], f"{name}: worker {rank} has other results than the undisturbed run")
        shutil.rmtree(together.folder / f"{name}_checkpoints")
        print(f"run {runs}: {kills} kills so far, the same bits", flush=True)
    times = sorted(loop.times)
    print(f"{kills} kills in {runs} runs, every run with the bits of the undisturbed one; from kill to training again: "
          f"median {statistics.median(times):.2f} s, shortest {times[0]:.2f} s, longest {times[-1]:.2f} s")


if __name__ == "__main__":
    main()
