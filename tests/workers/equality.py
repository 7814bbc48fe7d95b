#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole form of the test `workers`: 1, 2, 3 and 4 workers train convolutional networks with dropout and momentum on
60,001 samples in micro-batches of 5, in the styles of Keras, PopTorch and TF1. What every worker has at the end is compared
bit by bit with one process that has as many replicas. It takes some minutes.

Usage: equality.py MPIRUN TRAIN_TOGETHER FOLDER [SAMPLES]

The tests have built TRAIN_TOGETHER: build/release/tests/workers/train_together. PANDO_MPI_MODULE names the module
pando_mpi.so of the same build.
"""
import sys
import time

from worker_runs import Together


def main():
    together = Together(*sys.argv[1:4])
    samples = int(sys.argv[4]) if len(sys.argv) > 4 else 60_001
    begin = time.monotonic()
    for style in ["keras", "poptorch", "session"]:
        for workers in [1, 2, 3, 4]:
            together.expect_equal(style, workers, workers, samples)
    for style in ["keras", "poptorch", "session"]:
        together.expect_equal(style, 2, 4, samples)
    print(f"{samples} samples: 15 comparisons, all bits equal, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
