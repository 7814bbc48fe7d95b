# SPDX-License-Identifier: Apache-2.0
"""A system that gives no more threads: `pando train` says so with the remedy, whichever thread it is."""
import os

from program import QUICK, ProgramTest, main

REFUSAL = ("Resource temporarily unavailable; end other processes, raise the limit of processes (ulimit -u, or pids.max "
           "of the cgroup), or use fewer IPUs, tiles and workers")


class RefusedThreads(ProgramTest):
    # Far more than any of these runs starts.
    MOST = 200

    def refuse_each(self, *words):
        """Refuses the first thread, then the second, ... until the run does not ask for as many."""
        refused = 0
        for number in range(1, self.MOST):
            for fault in (f"{number}", f"{number} on"):
                folder = f"run-{number}-{len(fault)}"
                result = self.run_pando("train", "mlp", *QUICK, *words, "--save", folder, "--checkpoint", folder,
                                        expect=None,
                                        environment={"LD_PRELOAD": os.environ["PANDO_FAILING_THREADS"],
                                                     "PANDO_THREAD_FAULT": fault})
                left = [path.name for path in (self.folder / folder).rglob("*.part")]
                self.assertEqual(left, [], f"thread {fault}")
                if result.returncode == 0:
                    continue
                refused += 1
                self.assertEqual(result.returncode, 1, f"thread {fault}: {result.stderr}")
                self.assertIn("cannot start a thread ", result.stderr)
                self.assertIn(REFUSAL, result.stderr)
            if result.returncode == 0:
                self.assertGreater(refused, 0)
                return
        self.fail(f"more than {self.MOST} threads are started")

    def test_of_one_ipu(self):
        self.refuse_each("--tiles", "3")

    def test_of_replicas(self):
        self.refuse_each("--ipus", "4", "--tiles", "1")

    def test_of_stages(self):
        self.refuse_each("--ipus", "2", "--stages", "2", "--tiles", "2")


main()
