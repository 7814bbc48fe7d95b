#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills, stops and confuses workers, and looks at what the others say and how they end.

Usage: faults.py MPIRUN MEET_FAULTS PANDO
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

MPIRUN, PROGRAM, PANDO = sys.argv[1:4]
# For Open MPI in a container: more workers than cores, and the user root. Other MPIs ignore these.
ENVIRONMENT = {
    **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "PATH": os.path.dirname(MPIRUN) + os.pathsep + os.environ["PATH"],
}
# Long enough for a busy machine; what takes longer hangs.
PATIENCE = 120


def check(condition, text):
    if not condition:
        sys.exit(f"faults: {text}")


class Run:
    """Workers, as a program that mpirun or something else started."""

    def __init__(self, words, **environment):
        self.process = subprocess.Popen(words, env={**ENVIRONMENT, **environment}, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def ready(self, workers):
        """The processes by rank, when all have begun."""
        found = {}
        while len(found) < workers:
            line = self.process.stdout.readline()
            check(line, f"the workers ended before they began: {self.process.stderr.read() if not line else ''}")
            match = re.search(r"ready (\d+) (\d+)", line)
            if match:
                found[int(match[1])] = int(match[2])
        return found

    def end(self):
        """The status, and all that was said."""
        try:
            out, said = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            sys.exit("faults: the workers do not end")
        return self.process.returncode, out + said


def workers(count, *words, **environment):
    return Run([MPIRUN, "-n", str(count), PROGRAM, *words], **environment)


def expect_once(said, text):
    check(said.count(text) == 1, f"should say once '{text}' and says\n{said}")


def expect_death(rank):
    run = workers(3, "on")
    process = run.ready(3)[rank]
    killed = time.time()
    os.kill(process, signal.SIGKILL)
    status, said = run.end()
    check(status != 0, "a run with a dead worker ends with status 0")
    expect_once(said, f"worker {rank} (process {process} on ")
    expect_once(said, "; no checkpoint was written")
    print(f"worker {rank} killed: the others end after {time.time() - killed:.1f} s and name it")


def expect_silence():
    run = workers(3, "on", PANDO_WORKER_TIMEOUT="2")
    process = run.ready(3)[1]
    os.kill(process, signal.SIGSTOP)
    stopped = time.time()
    status, said = run.end()
    check(status != 0, "a run with a stopped worker ends with status 0")
    # mpirun wakes the stopped one, which may then say in other words why it ends.
    expect_once("\n" + said, "\nworker 2 has not heard from worker 1 for 2 s: it was stopped or cannot be reached")
    print(f"worker 1 stopped, with a patience of 2 s: the others end after {time.time() - stopped:.1f} s and name it")


def expect_message(text, *words, status=1, **environment):
    found, said = workers(2, *words, **environment).end()
    check(found == status, f"{words}: status {found} and not {status}\n{said}")
    expect_once(said, text)
    print(f"{' '.join(words)}: {text}")


def expect_copies_told():
    expect_message("mpirun started 2 processes together, and each trains a model of its own", "copies", status=0)
    status, said = workers(2, "copies", PANDO_WORKERS="none").end()
    check(status == 0 and not said, f"copies that are meant are told of\n{said}")
    alone = Run([PROGRAM, "sizes"], RANK="1", WORLD_SIZE="4")
    status, said = alone.end()
    check(status == 1, f"torchrun's variables are taken for MPI's\n{said}")
    expect_once(said, "worker 1 of 4: workers are connected by MPI, and torchrun started these processes")


def expect_launched():
    status, said = Run([PANDO, "launch", "-n", "2", "--restarts", "2", "--", "sh", "-c", "exit 7"]).end()
    check(status == 7, f"launch ends with status {status}\n{said}")
    check(said.count("pando launch: the program ended with status 7; it is started again") == 2, said)
    expect_once(said, "(1 restart left)")
    expect_once(said, "(0 restarts left)")
    status, said = Run([PANDO, "launch", "-n", "2", "--", "sh", "-c", "exit 0"]).end()
    check(status == 0 and "again" not in said, f"launch: {status} {said}")
    status, said = Run([PANDO, "launch", "-n", "2", "--", "sh", "-c", "exit 2"]).end()
    check(status == 2 and "again" not in said, f"a wrong command line is tried again\n{said}")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "checkpoint-00000001.safetensors").touch()
        status, said = Run([PANDO, "launch", "--", "pando", "train", "mlp", "--checkpoint", folder]).end()
        check(status == 1 and "again" not in said, f"another run would be resumed: {status} {said}")
        expect_once(said, f"{folder} has the checkpoints of a run")
    run = Run([PANDO, "launch", "-n", "2", "--", PROGRAM, "on"])
    processes = run.ready(2)
    run.process.send_signal(signal.SIGTERM)
    status, said = run.end()
    check(status == 130 and "again" not in said, f"an interrupted launch: {status} {said}")
    # mpirun does not wait for them to the end.
    limit = time.time() + PATIENCE
    while any(os.path.exists(f"/proc/{process}") for process in processes.values()):
        check(time.time() < limit, "a worker of an interrupted launch still runs")
        time.sleep(0.05)
    print("launch: restarts, statuses and interrupts")


def main():
    status, said = workers(2, "sizes").end()
    check(status == 0, f"messages of all sizes: {said}")
    print("messages from 0 bytes to 256 MB")
    for rank in (0, 1):
        expect_death(rank)
    expect_silence()
    status, said = workers(2, "compute", "6", PANDO_WORKER_TIMEOUT="3").end()
    check(status == 0, f"a worker that computes for long looks dead\n{said}")
    print("a worker that computes for twice the patience is waited for")
    expect_message("worker 1 ended its program while worker 0 still waits for it", "leave")
    expect_message("worker 1 gave up: its disk is full", "throw")
    expect_copies_told()
    expect_launched()


if __name__ == "__main__":
    main()
