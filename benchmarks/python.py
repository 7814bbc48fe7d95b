#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python adds to the library: the same calls from Python and from C++, in turns.

    PYTHONPATH=build/release/python python3 benchmarks/python.py [--rounds 30] [--twin build/release/benchmarks/python_twin]

A row is measured in many short rounds, each once from Python and once from C++, and the lower quartiles of both are compared: what
another program does meanwhile lengthens the rounds of both, and the slowest ones do not count. The exit status is 1 if a call
from Python takes more than 5 % and more than 15 microseconds longer.
"""
import argparse
import subprocess
import sys
import time

import numpy as np

import torch
from torch import nn

import pando.poptorch as poptorch
import pando.tf.compat.v1 as tf
from pando import _core, ipu, keras


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.output, self.loss = nn.Linear(784, 128), nn.Linear(128, 10), nn.CrossEntropyLoss()

    def forward(self, x, labels):
        y = self.output(torch.relu(self.hidden(x)))
        return y, self.loss(y, labels)


def mlp(steps_per_execution):
    model = keras.Sequential([keras.layers.Dense(128, activation="relu", input_shape=(784,)),
                              keras.layers.Dense(10, activation="softmax")])
    model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", steps_per_execution=steps_per_execution)
    return model


def session_step(x, y):
    """sess.run of a training step of the same network, with its batches from an iterator."""
    iterator = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(
        32, drop_remainder=True).make_initializable_iterator()
    model = keras.Sequential([keras.layers.Dense(128, activation="relu", input_shape=(784,)), keras.layers.Dense(10)])

    def body(rows, targets):
        loss = tf.losses.sparse_softmax_cross_entropy(labels=targets, logits=model(rows, training=True))
        return loss, tf.train.GradientDescentOptimizer(learning_rate=0.01).minimize(loss)
    with ipu.scopes.ipu_scope("/device:IPU:0"):
        step = ipu.ipu_compiler.compile(body, list(iterator.get_next()))
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    session.run(iterator.initializer)
    return lambda: session.run(step)


def calls():
    """Name, number of calls in a round, and the call; in the order of python_twin.cpp."""
    x, y = np.zeros((32000, 784), np.float32), np.zeros(32000, np.int32)
    single, many, network = mlp(1), mlp(100), Network()
    options = poptorch.Options().deviceIterations(50)
    training = poptorch.trainingModel(network, options, optimizer=torch.optim.SGD(network.parameters(), lr=0.01))
    rows, labels = torch.from_numpy(x[:1600]), torch.from_numpy(y[:1600])
    return [("fit, 1,000 executions of 1 step", 1, lambda: single.fit(x, y, verbose=0)),
            ("fit, 10 executions of 100 steps", 1, lambda: many.fit(x, y, verbose=0)),
            ("train_on_batch", 100, lambda: many.train_on_batch(x[:32], y[:32])),
            ("predict of one batch", 100, lambda: many.predict(x[:32], verbose=0)),
            ("a PopTorch call of 50 steps", 5, lambda: training(rows, labels)),
            ("sess.run of a compiled step", 500, session_step(x, y))]


def microseconds(count, call):
    """The median of some calls: a call during which another program had the cores does not count."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return sorted(times)[count // 2] * 1e6


class Twin:
    """The C++ program with the same calls."""

    def __init__(self, path):
        self._process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def microseconds(self, row):
        self._process.stdin.write(f"{row}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self):
        self._process.stdin.close()
        self._process.wait()


def from_python(count, call):
    call()
    return microseconds(count, call)


def compared(twin, row, count, call, rounds):
    """The lower quartiles of the times from C++ and from Python. The first round of each compiles."""
    times = []
    for number in range(rounds + 1):
        ways = [lambda: twin.microseconds(row), lambda: from_python(count, call)]
        pair = [0.0, 0.0]
        for way in (0, 1) if number % 2 else (1, 0):
            # The threads of the other program are asleep by then.
            time.sleep(0.005)
            pair[way] = ways[way]()
        times.append(pair)
    return np.quantile(times[1:], 0.25, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--twin", default="build/release/benchmarks/python_twin")
    options = parser.parse_args()
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    twin, over = Twin(options.twin), 0
    print(f"{'microseconds':35}{'C++':>12}{'Python':>12}{'more':>10}")
    with ipu.ipu_strategy.IPUStrategy().scope():
        for row, (name, count, call) in enumerate(calls()):
            cpp, python = compared(twin, row, count, call, options.rounds)
            is_over = python > 1.05 * cpp and python > cpp + 15
            over += is_over
            print(f"{name:35}{cpp:12.1f}{python:12.1f}{python - cpp:10.1f}  {100 * (python / cpp - 1):+.1f} %"
                  f"{'  too much' if is_over else ''}", flush=True)
    twin.end()
    array = np.zeros((1000, 1000), np.float32)
    print(f"an array of 4 MB in and out: {microseconds(10000, lambda: _core.round_trip(array)):.2f}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
