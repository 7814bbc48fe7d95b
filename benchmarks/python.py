#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python adds to the library: the same calls from Python and from C++, in turns, the lowest time of each.

    PYTHONPATH=build/release/python python3 benchmarks/python.py [--rounds 7] [--twin build/release/benchmarks/python_twin]

Measure on a quiet machine: two programs, each with threads of its own, take turns on the same cores.
"""
import argparse
import subprocess
import time

import numpy as np

import pando.poptorch as poptorch
import pando.tf.compat.v1 as tf
import pando.torch as torch
from pando import _core, ipu, keras
from pando.torch import nn
from pando.torch.nn import functional


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.output, self.loss = nn.Linear(784, 128), nn.Linear(128, 10), nn.CrossEntropyLoss()

    def forward(self, x, labels):
        y = self.output(torch.relu(self.hidden(x)))
        return y, self.loss(y, labels)


class Convolutions(nn.Module):
    """A small network for MNIST, as plain PyTorch programs write it: two convolutions, two dropouts."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.hidden, self.output = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.second(functional.relu(self.first(x)))), 2)
        x = torch.flatten(functional.dropout(x, 0.25), 1)
        x = functional.dropout(functional.relu(self.hidden(x)), 0.5)
        return functional.log_softmax(self.output(x), dim=1)


def recording(rounds):
    """The microseconds of a turn of a plain training loop without those of its compiled program; the lowest of some."""
    model = Convolutions()
    optimizer = torch.optim.Adadelta(model.parameters())
    x, y = torch.zeros(8, 1, 28, 28), torch.zeros(8, dtype=torch.int64)
    computation, spent = _core.poptorch.Computation, [0.0]
    run = computation.run

    def timed(self, inputs):
        begin = time.perf_counter()
        outputs = run(self, inputs)
        spent[0] += time.perf_counter() - begin
        return outputs

    def turn():
        optimizer.zero_grad()
        functional.nll_loss(model(x), y).backward()
        optimizer.step()
    computation.run = timed
    try:
        found = []
        for _ in range(rounds + 1):
            spent[0] = 0.0
            found.append(microseconds(20, turn) - spent[0] / 20 * 1e6)
    finally:
        computation.run = run
    return min(found[1:])


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
            ("train_on_batch", 200, lambda: many.train_on_batch(x[:32], y[:32])),
            ("predict of one batch", 200, lambda: many.predict(x[:32], verbose=0)),
            ("a PopTorch call of 50 steps", 20, lambda: training(rows, labels)),
            ("sess.run of a compiled step", 1000, session_step(x, y))]


def microseconds(count, call):
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--twin", default="build/release/benchmarks/python_twin")
    options = parser.parse_args()
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    with ipu.ipu_strategy.IPUStrategy().scope(), \
            subprocess.Popen([options.twin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as twin:
        rows = calls()
        python, native = [], []
        for _ in range(options.rounds + 1):
            python.append([microseconds(count, call) for _, count, call in rows])
            twin.stdin.write("\n")
            twin.stdin.flush()
            native.append([float(number) for number in twin.stdout.readline().split()])
        twin.stdin.close()
    # The first round of each compiles.
    python, native = np.min(python[1:], axis=0), np.min(native[1:], axis=0)
    print(f"{'microseconds':35}{'C++':>12}{'Python':>12}{'more':>10}")
    for (name, _, _), cpp, py in zip(rows, native, python):
        print(f"{name:35}{cpp:12.1f}{py:12.1f}{py - cpp:10.1f}  {100 * (py / cpp - 1):+.1f} %")
    array = np.zeros((1000, 1000), np.float32)
    print(f"recording a turn of a plain PyTorch loop: {recording(options.rounds):.1f}")
    print(f"an array of 4 MB in and out: {microseconds(10000, lambda: _core.round_trip(array)):.2f}")


if __name__ == "__main__":
    main()
