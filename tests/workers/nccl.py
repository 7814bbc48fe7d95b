#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers whose GPUs are connected by NCCL, started by mpirun and by the variables that torchrun sets: every bit of the
results is that of one process that has all replicas. With one GPU there is one worker; with more, up to four.

Usage: nccl.py MPIRUN TRAIN_TOGETHER PANDO FOLDER     MPIRUN is - where there is none. Exit status 77: no GPU, or no NCCL.
"""
import json
import socket
import subprocess
import sys

from worker_runs import ENVIRONMENT, Together, check

MPIRUN, PROGRAM, PANDO, FOLDER = sys.argv[1:5]
TOGETHER = Together(MPIRUN, PROGRAM, FOLDER)
CONNECTED = "The GPUs of the workers add up gradients among themselves (NCCL)."
# Variables of a starter that this test itself was started by.
STARTERS = ("OMPI_", "PMI", "PMIX_", "SLURM_", "MPI_LOCAL")


def findings():
    listed = subprocess.run([PANDO, "doctor", "--json"], env=ENVIRONMENT, text=True, capture_output=True, timeout=300)
    check(listed.stdout, f"pando doctor says nothing: {listed.stderr}")
    return {one["subject"]: one for one in json.loads(listed.stdout)["findings"]}


def count_gpus():
    listed = subprocess.run(["nvidia-smi", "-L"], text=True, capture_output=True, timeout=60)
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run_by_variables(workers, style, replicas, name):
    """As torchrun starts processes. Returns their exit codes and what they wrote."""
    port = free_port()
    plain = {key: value for key, value in ENVIRONMENT.items() if not key.startswith(STARTERS)}
    started = []
    for rank in range(workers):
        variables = {"RANK": rank, "WORLD_SIZE": workers, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": workers,
                     "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        started.append(subprocess.Popen(TOGETHER.command(0, "worker:" + style, replicas, name),
                                        env={**plain, **{key: str(value) for key, value in variables.items()}}, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    try:
        written = [one.communicate(timeout=300) for one in started]
    finally:
        for one in started:
            one.kill()
    return [one.returncode for one in started], "".join(out + errors for out, errors in written)


def run_by_mpi(workers, style, replicas, name):
    done = TOGETHER.run(workers, "worker:" + style, replicas, name)
    return [done.returncode], done.stdout + done.stderr


def expect_equal(way, start, workers, style, replicas, says):
    alone = TOGETHER.run(0, style, replicas, "alone")
    check(alone.returncode == 0, f"{style} alone failed: {alone.stderr}")
    codes, written = start(workers, style, replicas, "shared")
    check(not any(codes), f"{style} by {way} ended with {codes}:\n{written}")
    check(says in written, f"{style} by {way} does not say '{says}':\n{written}")
    wanted = TOGETHER.results("alone", 1)[0]
    check(len(wanted) > 200, f"{style} wrote nothing")
    for rank, found in enumerate(TOGETHER.results("shared", workers)):
        check(found == wanted, f"{style} by {way}: worker {rank} of {workers} has other results than one process")
    print(f"{style}, {way}: {replicas} replicas on {workers} workers give the bits of one process", flush=True)


def main():
    ENVIRONMENT["PANDO_BACKEND"] = "cuda"
    found = findings()
    if "NCCL" not in found or not found["NCCL"]["good"]:
        print("skipped:", found["NCCL" if "NCCL" in found else "GPU"]["text"])
        sys.exit(77)
    print("NCCL", found["NCCL"]["text"], flush=True)
    gpus = count_gpus()
    ways = [("torchrun's variables", run_by_variables)]
    if MPIRUN != "-":
        ways.append(("mpirun", run_by_mpi))
    for way, start in ways:
        for style in ["keras", "pipeline", "poptorch", "session"]:
            # configureProcessId(0, 1) means that there are no workers.
            if style != "poptorch":
                expect_equal(way, start, 1, style, 2, CONNECTED)
            for workers in range(2, min(gpus, 4) + 1):
                expect_equal(way, start, workers, style, 2 * workers, CONNECTED)
    if MPIRUN != "-" and gpus == 1:
        expect_equal("mpirun", run_by_mpi, 2, "keras", 2, "share a GPU")
    if gpus == 1:
        codes, written = run_by_variables(2, "keras", 2, "refused")
        check(all(codes) and "as many workers on a machine as it has GPUs" in written,
              f"two workers with one GPU by torchrun's variables ended with {codes}:\n{written}")
        print("two workers with one GPU and without MPI: refused with the remedy")


if __name__ == "__main__":
    main()
