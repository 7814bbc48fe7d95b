#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python adds to the library: times of calls in one run, the lowest of several.

    PYTHONPATH=build/release/python python3 benchmarks/python.py [--repeat 5]

The loops of fit are C++'s, so an epoch of one execution and one of many single steps are compared with each other; other
rows are the time of one call from Python.
"""
import argparse
import time

import numpy as np

from pando import _core, ipu, keras


def lowest(repeat, call, count=1):
    """The lowest time of `count` calls, in microseconds a call."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, time.perf_counter() - begin)
    return best / count * 1e6


def fit_rows(repeat):
    x = np.random.rand(32 * 1000, 28 * 28).astype("float32")
    y = np.random.randint(0, 10, len(x)).astype("int32")
    for steps in (1, 100):
        model = keras.Sequential([keras.layers.Dense(128, activation="relu", input_shape=(28 * 28,)),
                                  keras.layers.Dense(10, activation="softmax")])
        model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", steps_per_execution=steps)
        model.fit(x, y, verbose=0)
        yield f"fit of an MLP, steps_per_execution {steps}: a step", lowest(repeat, lambda: model.fit(x, y, verbose=0)) / 1000
    batch, labels = x[:32], y[:32]
    model.train_on_batch(batch, labels)
    yield "train_on_batch", lowest(repeat, lambda: model.train_on_batch(batch, labels), 200)
    model.predict(batch, verbose=0)
    yield "predict of one batch", lowest(repeat, lambda: model.predict(batch, verbose=0), 200)


def array_rows(repeat):
    array = np.zeros((1000, 1000), np.float32)
    yield "an array of 4 MB in and out", lowest(repeat, lambda: _core.round_trip(array), 10000)
    yield "its address", lowest(repeat, lambda: _core.address_of(array), 10000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    with ipu.ipu_strategy.IPUStrategy().scope():
        for rows in (array_rows, fit_rows):
            for name, microseconds in rows(options.repeat):
                print(f"{name:55} {microseconds:10.2f} us")


if __name__ == "__main__":
    main()
