#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predicted with measured steps of several workers of one core each: `pando bench` measures a step of one
worker, `pando bench network` the messages, `pando explain` predicts, and `pando bench --workers auto` says what is true.

Usage: workers.py PANDO [WORKERS [MODEL...]]     (2 workers; keras-cnn and vgg-small). Nothing else should run meanwhile.

Cores of one machine may slow each other down, which no prediction from one of them knows. So as many processes that do
not talk are measured, too: their time is what compute is predicted from, and `alone` shows what the cores cost each
other.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 4
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


class Measurement:
    def __init__(self, pando, workers, model):
        self.pando, self.workers = pando, workers
        options = [model, "--tiles", "1", "--dataset", "synthetic_digits", "--steps-per-execution", "10", "--json"]
        self.bench, self.explain = [pando, "bench", *options], [pando, "explain", *options]
        self.alone, self.apart, self.together = [], [], []

    def measure(self):
        several = ["mpirun", "-n", str(self.workers), "--bind-to", "core"]
        self.alone.append(milliseconds(run("mpirun", "-n", "1", "--bind-to", "core", *self.bench)))
        # Each writes what it measures for itself; the last one wins, and is replaced by --step-time below.
        self.apart.append(milliseconds(run(*several, *self.bench, "--workers", "none")))
        # A step is a micro-batch of any worker: an update has one of each.
        self.together.append(self.workers * milliseconds(run(*several, *self.bench, "--workers", "auto")))

    def predicted(self):
        step = min(self.apart)
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
        print(f"{'model':<12}{'alone':>10}{'apart':>10}{'predicted':>11}{'measured':>10}{'error':>8}{'of linear':>11}   (ms)")
        for model in models:
            measurement = Measurement(pando, workers, model)
            for _ in range(ROUNDS):
                measurement.measure()
            predicted = measurement.predicted()
            # Other work only makes a round slower.
            alone, apart, together = (min(times) for times in
                                      [measurement.alone, measurement.apart, measurement.together])
            print(f"{model:<12}{alone:>10.3f}{apart:>10.3f}{predicted:>11.3f}{together:>10.3f}"
                  f"{100 * (predicted / together - 1):>7.1f}%{100 * alone / together:>10.1f}%", flush=True)


if __name__ == "__main__":
    main()
