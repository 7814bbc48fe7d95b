#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The training steps of train_step in JAX: a line "NAME MICROSECONDS" for each model.

Usage: jax_steps.py [--cpu] [--tf32] [MODEL...]

The steps are those of one compiled scan over 100 of them, each with its own samples, which are in the device's memory. With
--cpu each is a compiled function of its own, as scans of the longest ones would take minutes, and they run on two cores.
They compute in float32 or, with --tf32, in the device's faster default. Exit status 3 if there is no JAX.
"""
import argparse
import os
import statistics
import sys
import time

# JAX takes as many threads as the process may use cores when it is imported.
if "--cpu" in sys.argv:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])

try:
    import jax
    import jax.numpy as jnp
    from jax import lax
except ImportError:
    sys.exit(3)

BATCHES = 16


class Layers:
    """Makes the parameters of a model, and applies its layers in their order."""

    def __init__(self):
        self.shapes = []

    def parameter(self, shape):
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def dense(self, inputs, units):
        w, b = self.parameter((inputs, units)), self.parameter((units,))
        return lambda p, x: x @ p[w] + p[b]

    def conv(self, channels, filters, padding="VALID", size=3, stride=1):
        w, b = self.parameter((size, size, channels, filters)), self.parameter((filters,))
        return lambda p, x: lax.conv_general_dilated(
            x, p[w], (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC")) + p[b]

    def residual(self, channels):
        first, second = self.conv(channels, channels, "SAME"), self.conv(channels, channels, "SAME")
        return lambda p, x: relu(p, x + second(p, relu(p, first(p, x))))


def relu(_, x):
    return jnp.maximum(x, 0)


def pool(_, x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def flatten(_, x):
    return x.reshape(x.shape[0], -1)


def models():
    image = (28, 28, 1)

    def vgg(m):
        layers, channels = [], 3
        for filters in (32, 64, 128):
            for _ in range(2):
                layers += [m.conv(channels, filters, "SAME"), relu]
                channels = filters
            layers.append(pool)
        return layers + [flatten, m.dense(2048, 128), relu, m.dense(128, 10)]

    return {
        "mlp": (32, (784,), "sgd", lambda m: [m.dense(784, 128), relu, m.dense(128, 10)]),
        "keras_cnn": (64, image, "sgd", lambda m: [
            m.conv(1, 32), relu, pool, m.conv(32, 64), relu, pool, flatten, m.dense(1600, 10)]),
        "fashion": (32, image, "adam", lambda m: [
            m.conv(1, 8, "SAME"), relu, m.conv(8, 8, "SAME"), relu, flatten, m.dense(6272, 10)]),
        "poptorch_cnn": (8, image, "sgd", lambda m: [
            m.conv(1, 32), pool, relu, m.conv(32, 64), pool, relu, flatten, m.dense(1600, 128), relu, m.dense(128, 10)]),
        "vgg_small": (64, (32, 32, 3), "sgd", vgg),
        "large_mlp": (128, (512,), "sgd", lambda m: [
            m.dense(512, 1024), relu, m.dense(1024, 1024), relu, m.dense(1024, 10)]),
        "lenet": (64, image, "sgd", lambda m: [
            m.conv(1, 6, "SAME", 5), relu, pool, m.conv(6, 16, "VALID", 5), relu, pool, flatten, m.dense(400, 120), relu,
            m.dense(120, 84), relu, m.dense(84, 10)]),
        "strided": (48, (24, 24, 2), "sgd", lambda m: [
            m.conv(2, 12, "SAME", 5, 2), relu, m.conv(12, 20, "VALID", 3, 2), relu, flatten, m.dense(500, 7)]),
        "residual": (16, (16, 16, 3), "adam", lambda m: [
            m.conv(3, 16, "SAME"), relu, m.residual(16), pool, flatten, m.dense(1024, 40), relu, m.dense(40, 5)]),
    }


def updated(optimizer, parameters, gradients, state):
    if optimizer == "sgd":
        return [p - 0.01 * g for p, g in zip(parameters, gradients)], state
    count, first, second = state
    count = count + 1
    first = [0.9 * m + 0.1 * g for m, g in zip(first, gradients)]
    second = [0.999 * v + 0.001 * g * g for v, g in zip(second, gradients)]
    scale = jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
    parameters = [p - 0.01 * scale * m / (jnp.sqrt(v) + 1e-8) for p, m, v in zip(parameters, first, second)]
    return parameters, (count, first, second)


def microseconds(steps, batch, shape, optimizer, describe):
    maker = Layers()
    layers = describe(maker)
    key = jax.random.PRNGKey(1)
    parameters = [0.05 * jax.random.normal(jax.random.fold_in(key, i), s) for i, s in enumerate(maker.shapes)]
    moments = ([jnp.zeros(s) for s in maker.shapes] for _ in range(2))
    state = (jnp.float32(0), *moments) if optimizer == "adam" else ()
    samples = jax.random.normal(key, (BATCHES, batch) + shape)
    labels = jnp.zeros((batch,), jnp.int32)

    def loss(parameters, x):
        for layer in layers:
            x = layer(parameters, x)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1))

    def step(carry, number):
        value, gradients = jax.value_and_grad(loss)(carry[0], samples[number % BATCHES])
        return updated(optimizer, carry[0], gradients, carry[1]), value

    def scan(carry, first):
        return lax.scan(step, carry, first + jnp.arange(steps))

    run = jax.jit(step if steps == 1 else scan, donate_argnums=0)
    carry = (parameters, state)
    for _ in range(2):
        carry, losses = run(carry, 0)
    losses.block_until_ready()
    times = []
    begin = time.perf_counter()
    while len(times) < 15 or time.perf_counter() - begin < 0.5:
        start = time.perf_counter()
        carry, losses = run(carry, len(times))
        losses.block_until_ready()
        times.append((time.perf_counter() - start) / steps * 1e6)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    if options.cpu:
        jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_default_matmul_precision", "tensorfloat32" if options.tf32 else "highest")
    for name, description in models().items():
        if not options.models or name in options.models:
            print(name, f"{microseconds(1 if options.cpu else 100, *description):.1f}", flush=True)


main()
