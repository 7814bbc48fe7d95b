#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predicted with measured steps of several workers of one core each: `pando bench` measures a step of one
worker, `pando bench network` the messages, `pando explain` predicts, and `pando bench --workers auto` says what is true.

Usage: workers.py PANDO [WORKERS [MODEL...]]     (2 workers; keras-cnn and vgg-small). Nothing else should run meanwhile.

Cores of one machine may slow each other down, which no prediction from one of them knows. So as many processes that do
not talk are measured, too (`apart`); `alone` shows what the cores cost each other. Workers also wait in every step for
the slowest of them, on a machine where the same step takes now more and now less time. `in step` is what `apart` would
be if the processes waited for each other without a message: the times of single steps show by how much the largest of
them is above each. Compute is predicted from it, and `limit` is what part of linear it is: sums can only take from
that.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 4
# Of an execution; the workers share them.
BATCHES = 10
# For Open MPI in a container, where the user is root.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def run(*words):
    done = subprocess.run(words, env=ENVIRONMENT, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"workers: {' '.join(words)} failed:\n{done.stderr}")
    return done.stdout


def objects(text):
    """JSON objects one after the other, as processes of mpirun print them."""
    decoder, found = json.JSONDecoder(), []
    while text.strip():
        value, end = decoder.raw_decode(text.lstrip())
        found.append(value)
        text = text.lstrip()[end:]
    return found


def milliseconds(printed):
    return statistics.mean(one["models"][0]["microseconds_per_step"] for one in objects(printed)) / 1000


def median_of_executions(steps, updates):
    """As `pando bench` does: the median of the mean of some steps one after the other."""
    groups = [steps[i:i + updates] for i in range(0, len(steps) - updates + 1, updates)]
    return statistics.median(statistics.mean(group) for group in groups)


def cost_of_waiting(printed):
    """By what factor the slowest process of each step is slower than one process, where executions are single steps."""
    processes = [one["models"][0]["microseconds_of_executions"] for one in objects(printed)]
    slowest = [max(steps) for steps in zip(*processes)]
    updates = max(1, min(BATCHES // len(processes), len(slowest)))
    return median_of_executions(slowest, updates) / statistics.mean(
        median_of_executions(steps[:len(slowest)], updates) for steps in processes)


class Measurement:
    def __init__(self, pando, workers, model):
        self.pando, self.workers = pando, workers
        options = [model, "--tiles", "1", "--dataset", "synthetic_digits", "--json"]
        in_executions = ["--steps-per-execution", str(BATCHES)]
        self.bench, self.explain = [pando, "bench", *options, *in_executions], [pando, "explain", *options, *in_executions]
        self.single_steps = [pando, "bench", *options, "--steps-per-execution", "1"]
        self.alone, self.apart, self.waiting, self.together = [], [], [], []

    def measure(self):
        several = ["mpirun", "-n", str(self.workers), "--bind-to", "core"]
        self.alone.append(milliseconds(run("mpirun", "-n", "1", "--bind-to", "core", *self.bench)))
        # Each writes what it measures for itself; the last one wins, and is replaced by --step-time below.
        self.apart.append(milliseconds(run(*several, *self.bench, "--workers", "none")))
        self.waiting.append(cost_of_waiting(run(*several, *self.single_steps, "--workers", "none")))
        # A step is a micro-batch of any worker: an update has one of each.
        self.together.append(self.workers * milliseconds(run(*several, *self.bench, "--workers", "auto")))

    def in_step(self):
        return min(self.apart) * min(self.waiting)

    def predicted(self):
        step = self.in_step()
        text = run("mpirun", "-n", "1", "--bind-to", "core", *self.explain, "--step-time", f"{step * 1000}", "--workers",
                   str(self.workers))
        return next(one["seconds"] * 1000 for one in json.loads(text)["scaling"]["updates"] if one["workers"] == self.workers)


def main():
    pando = sys.argv[1]
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    models = sys.argv[3:] or ["keras-cnn", "vgg-small"]
    with tempfile.TemporaryDirectory() as folder:
        ENVIRONMENT["PANDO_MEASUREMENTS"] = folder + "/measurements.json"
        network = json.loads(run("mpirun", "-n", str(workers), "--bind-to", "core", pando, "bench", "network", "--json"))
        print(f"{workers} workers of one core: a message takes {network['latency_microseconds']:.1f} us and "
              f"{network['gigabytes_per_second']:.2f} GB/s")
        print(f"{'model':<12}{'alone':>10}{'apart':>10}{'in step':>10}{'predicted':>11}{'measured':>10}{'error':>8}"
              f"{'of linear':>11}{'limit':>8}   (ms)")
        for model in models:
            measurement = Measurement(pando, workers, model)
            for _ in range(ROUNDS):
                measurement.measure()
            predicted = measurement.predicted()
            # Other work only makes a round slower.
            alone, apart, together = (min(times) for times in
                                      [measurement.alone, measurement.apart, measurement.together])
            in_step = measurement.in_step()
            print(f"{model:<12}{alone:>10.3f}{apart:>10.3f}{in_step:>10.3f}{predicted:>11.3f}{together:>10.3f}"
                  f"{100 * (predicted / together - 1):>7.1f}%{100 * alone / together:>10.1f}%{100 * alone / in_step:>7.1f}%",
                  flush=True)


if __name__ == "__main__":
    main()
