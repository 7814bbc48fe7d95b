#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two workers on two hosts with a bad link between them, in network namespaces of this machine: every message is late, one
packet in a hundred is lost. The workers must have the bits of one process. Then the link is cut in the middle of a run:
both workers must end by themselves, and the run must go on with the same bits when the link is there again. Needs root
and Open MPI.

Usage: two_hosts.py MPIRUN TRAIN_TOGETHER FOLDER [DELAY [LOSS]]

DELAY is in milliseconds one way (2), LOSS the part of the packets that is lost (0.01). PANDO_MPI_MODULE names the module
pando_mpi.so of the same build.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from worker_runs import ENVIRONMENT, Together, check

NAME = f"pando{os.getpid()}_"
# What a worker waits for a sign of life after the link is cut, in seconds.
TIMEOUT = 5


class Hosts:
    """mpirun that starts the workers in the two namespaces: what ssh is elsewhere is `ip netns exec` here."""

    def __init__(self, mpirun, folder, delay, loss):
        agent = folder / "agent.sh"
        agent.write_text("#!/bin/sh\n# HOST COMMAND...\nhost=$1; shift\nnumber=$((${host##*.} - 1))\n"
                         f"exec ip netns exec {NAME}$number unshare --uts sh -c \"hostname host$number; $*\"\n")
        agent.chmod(0o755)
        link = pathlib.Path(__file__).with_name("slow_link.py")
        self.link = subprocess.Popen([sys.executable, str(link), NAME, str(delay), str(loss)], text=True,
                                     stdout=subprocess.PIPE)
        check(self.link.stdout.readline() == "ready\n", "the link between the namespaces cannot be made")
        self.start = ["ip", "netns", "exec", f"{NAME}0", "unshare", "--uts", "sh", "-c", "hostname host0; exec \"$@\"", "sh",
                      mpirun, "-n", "2", "--host", "10.77.0.1,10.77.0.2", "--mca", "plm_rsh_agent", str(agent), "--mca",
                      "btl", "self,tcp"]

    def cut(self):
        self.link.send_signal(signal.SIGUSR1)

    def connect(self):
        self.link.send_signal(signal.SIGUSR2)

    def close(self):
        self.link.terminate()
        print(self.link.communicate(timeout=10)[0].strip())


def expect_equal(together, hosts):
    alone = together.run(0, "keras", 2, "alone")
    check(alone.returncode == 0, alone.stderr)
    begin = time.monotonic()
    apart = subprocess.run([*hosts.start, *together.command(0, "keras", 2, "apart")], env=ENVIRONMENT, text=True,
                           capture_output=True, timeout=600)
    check(apart.returncode == 0, f"two hosts failed: {apart.stdout}{apart.stderr}")
    for rank, found in enumerate(together.results("apart", 2)):
        check(found == together.results("alone", 1)[0], f"worker {rank} on two hosts has other results than one process")
    print(f"two hosts: the bits of one process, in {time.monotonic() - begin:.1f} s", flush=True)


def wait_for(condition, seconds, text):
    begin = time.monotonic()
    while not condition():
        check(time.monotonic() - begin < seconds, text)
        time.sleep(0.05)
    return time.monotonic() - begin


def expect_clean_cut(together, hosts):
    checkpoints = together.folder / "cut_checkpoints"
    shutil.rmtree(checkpoints, ignore_errors=True)
    # mpirun itself may wait for its other half longer than the workers do.
    environment = {**ENVIRONMENT, "PANDO_WORKER_TIMEOUT": str(TIMEOUT), "OMPI_MCA_orte_abort_timeout": "1"}
    words = together.command(0, "keras", 2, "cut", checkpoints, 100)
    log = together.folder / "cut.log"
    with open(log, "w") as output:
        started = subprocess.Popen([*hosts.start, "-x", "PANDO_WORKER_TIMEOUT", *words], env=environment, text=True,
                                   stdout=output, stderr=output)
        wait_for(lambda: any(checkpoints.glob("*.safetensors")), 120, "the run writes no checkpoint")
        hosts.cut()
        # The worker of the second host is a child of its own half of mpirun.
        seconds = wait_for(lambda: not together.everywhere(), 60, f"a worker still runs 60 s after the cut: {log}")
        print(f"cut link: both workers ended after {seconds:.1f} s (PANDO_WORKER_TIMEOUT={TIMEOUT})", flush=True)
        hosts.connect()
        try:
            started.wait(timeout=30)
        except subprocess.TimeoutExpired:
            started.terminate()
            started.wait(timeout=30)
            print("cut link: mpirun itself did not end and was ended", flush=True)
    check(started.returncode != 0, "mpirun says that a run without a link has succeeded")
    text = log.read_text()
    check("worker" in text and "the last checkpoint is" in text, f"no message names the worker and the checkpoint:\n{text}")
    print("cut link: " + next(line for line in text.splitlines() if "worker" in line), flush=True)
    again = subprocess.run([*hosts.start, *words], env=ENVIRONMENT, text=True, capture_output=True, timeout=300)
    check(again.returncode == 0, f"the run does not resume: {again.stderr}")
    for rank, found in enumerate(together.results("cut", 2)):
        check(found == together.results("alone", 1)[0], f"worker {rank} has other results after the cut")
    print("cut link: resumed, the bits of the undisturbed run", flush=True)


def may_make_links(mpirun):
    def says(*words):
        found = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True) if shutil.which(words[0]) else None
        return found.stdout if found is not None and found.returncode == 0 else None

    # mpirun says the one, mpiexec the other.
    version = says(mpirun, "--version") or ""
    if not ("Open MPI" in version or "OpenRTE" in version) or not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return False
    return None not in [says("ip", "netns", "add", f"{NAME}try"), says("ip", "netns", "del", f"{NAME}try"),
                        says("unshare", "--uts", "true")]


def main():
    mpirun, program, folder = sys.argv[1:4]
    delay = float(sys.argv[4]) if len(sys.argv) > 4 else 2
    loss = float(sys.argv[5]) if len(sys.argv) > 5 else 0.01
    if not may_make_links(mpirun):
        print("two_hosts: this process may not make network namespaces and TUN devices, or there is no Open MPI; skipped")
        sys.exit(77)
    together = Together(mpirun, program, folder)
    hosts = Hosts(mpirun, together.folder.resolve(), delay, loss)
    try:
        expect_equal(together, hosts)
        expect_clean_cut(together, hosts)
    finally:
        hosts.close()


if __name__ == "__main__":
    main()
