# SPDX-License-Identifier: Apache-2.0
"""What the tests of workers share: how train_together is started, alone or under mpirun, and what it leaves."""
import os
import pathlib
import subprocess
import sys

# For Open MPI in a container: more workers than cores, and the user root. Other MPIs ignore these.
ENVIRONMENT = {
    **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


def check(condition, text):
    if not condition:
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {text}")


class Together:
    """Runs train_together; the files of its runs are in a folder."""

    def __init__(self, mpirun, program, folder):
        self.mpirun, self.program, self.folder = mpirun, program, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def command(self, workers, style, replicas, name, *more):
        """No workers: one process, which nothing else starts."""
        start = [self.mpirun, "-n", str(workers)] if workers > 0 else []
        return [*start, self.program, style, str(replicas), str(self.folder / name), *map(str, more)]

    def run(self, workers, style, replicas, name, *more, timeout=300):
        return subprocess.run(self.command(workers, style, replicas, name, *more), env=ENVIRONMENT, text=True,
                              capture_output=True, timeout=timeout)

    def results(self, name, workers):
        return [(self.folder / f"{name}.{rank}").read_bytes() for rank in range(workers)]

    def expect_equal(self, style, workers, replicas, samples=211):
        """Workers leave what one process with as many replicas leaves, every bit of it. Returns what the two printed."""
        alone = self.run(0, style, replicas, "alone", "", 0, samples, timeout=1800)
        check(alone.returncode == 0, f"{style} alone failed: {alone.stderr}")
        shared = self.run(workers, style, replicas, "shared", "", 0, samples, timeout=1800)
        check(shared.returncode == 0, f"{style} with {workers} workers failed: {shared.stderr}")
        wanted = self.results("alone", 1)[0]
        check(len(wanted) > 200, f"{style} wrote nothing")
        for rank, found in enumerate(self.results("shared", workers)):
            check(found == wanted,
                  f"{style}: worker {rank} of {workers}, {replicas} replicas, has other results than one process")
        print(f"{style}: {replicas} replicas on {workers} workers give the bits of one process", flush=True)
        return alone.stdout, shared.stdout

    def everywhere(self):
        """The processes of the program that write to the folder, as rows of process, parent and command."""
        listed = subprocess.run(["ps", "-e", "-ww", "-o", "pid=,ppid=,args="], text=True, capture_output=True).stdout
        rows = [line.split(None, 2) for line in listed.splitlines()]
        return [row for row in rows if len(row) > 2 and row[2].startswith(self.program) and str(self.folder) in row[2]]

    def children(self, parent):
        """The processes of the program that this process, or one that it started, has started."""
        listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], text=True, capture_output=True).stdout
        rows = [line.split() for line in listed.splitlines()]
        family = {parent}
        # A child may be listed before its parent.
        for _ in range(4):
            family |= {int(pid) for pid, ppid in rows if int(ppid) in family}
        return [int(row[0]) for row in self.everywhere() if int(row[0]) in family]
