#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The training steps of train_step in JAX: a line "NAME MICROSECONDS" for each model, the lowest of some.

Usage: jax_steps.py [--cpu] [--tf32] [MODEL...]

The steps are those of one compiled scan over 100 of them, each with its own samples, which are in the device's memory. With
--cpu each is a compiled function of its own, as scans of the longest ones would take minutes, and they run on two cores.
They compute in float32 or, with --tf32, in the device's faster default. Exit status 3 if there is no JAX.
"""
import argparse
import os
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
        # What a step found for parameters that have no gradient.
        self.statistics = {}
        # Samples are tokens less than this; 0: images.
        self.vocabulary = 0

    def parameter(self, shape):
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def dense(self, inputs, units):
        w, b = self.parameter((inputs, units)), self.parameter((units,))
        return lambda p, x: x @ p[w] + p[b]

    def conv(self, channels, filters, padding="VALID", size=3, stride=1):
        w, b = self.parameter((size, size, channels, filters)), self.parameter((filters,))
        return lambda p, x: convolved(x, p[w], stride, padding) + p[b]

    def conv_norm(self, channels, filters, size, stride):
        """With running statistics, though nothing reads them here."""
        w, scale, offset, mean, variance = (self.parameter(shape) for shape in (
            (size, size, channels, filters), (filters,), (filters,), (filters,), (filters,)))

        def apply(p, x):
            x = convolved(x, p[w], stride, [(size // 2, size // 2)] * 2)
            own_mean, own_variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
            self.statistics[mean], self.statistics[variance] = own_mean, own_variance
            return (x - own_mean) * (p[scale] * lax.rsqrt(own_variance + 1e-5)) + p[offset]
        return apply

    def residual_norm(self, channels, filters, stride):
        first, second = self.conv_norm(channels, filters, 3, stride), self.conv_norm(filters, filters, 3, 1)
        same = self.conv_norm(channels, filters, 1, stride) if stride > 1 else lambda p, x: x
        return lambda p, x: relu(p, second(p, relu(p, first(p, x))) + same(p, x))

    def embed(self, vocabulary, length, width):
        self.vocabulary = vocabulary
        tokens, places = self.parameter((vocabulary, width)), self.parameter((length, width))
        return lambda p, x: p[tokens][x] + p[places]

    def norm(self, width):
        scale, offset = self.parameter((width,)), self.parameter((width,))

        def apply(p, x):
            centred = x - x.mean(-1, keepdims=True)
            return centred * lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * p[scale] + p[offset]
        return apply

    def attend(self, width, heads):
        norm, inner, outer = self.norm(width), self.dense(width, 3 * width), self.dense(width, width)

        def apply(p, x):
            batch, length, _ = x.shape
            q, k, v = (part.reshape(batch, length, heads, -1) for part in jnp.split(inner(p, norm(p, x)), 3, 2))
            scores = jnp.einsum("bthd,bshd->bhts", q, k) * (width // heads) ** -0.5
            scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
            told = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)
            return x + outer(p, told.reshape(x.shape))
        return apply

    def think(self, width):
        norm, inner, outer = self.norm(width), self.dense(width, 4 * width), self.dense(4 * width, width)
        return lambda p, x: x + outer(p, jax.nn.gelu(inner(p, norm(p, x))))

    def residual(self, channels):
        first, second = self.conv(channels, channels, "SAME"), self.conv(channels, channels, "SAME")
        return lambda p, x: relu(p, x + second(p, relu(p, first(p, x))))


def convolved(x, w, stride, padding):
    return lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


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

    def resnet18(m):
        layers, channels = [m.conv_norm(3, 64, 3, 1), relu], 64
        for filters in (64, 128, 256, 512):
            for _ in range(2):
                layers.append(m.residual_norm(channels, filters, 1 if filters == channels else 2))
                channels = filters
        return layers + [lambda _, x: x.mean((1, 2)), m.dense(512, 10)]

    def gpt_nano(m):
        layers = [m.embed(65, 64, 48)]
        for _ in range(3):
            layers += [m.attend(48, 3), m.think(48)]
        return layers + [m.norm(48), m.dense(48, 65)]

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
        "resnet18": (32, (32, 32, 3), "sgd", resnet18),
        "gpt_nano": (32, (64,), "adam", gpt_nano),
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


def goes_on(measured, seconds):
    """Long steps are measured less often, as train_step does it with its own."""
    return seconds < 0.5 or measured < 3 or (measured < 15 and seconds < 5)


def microseconds(steps, batch, shape, optimizer, describe):
    maker = Layers()
    layers = describe(maker)
    key = jax.random.PRNGKey(1)
    parameters = [0.05 * jax.random.normal(jax.random.fold_in(key, i), s) for i, s in enumerate(maker.shapes)]
    moments = ([jnp.zeros(s) for s in maker.shapes] for _ in range(2))
    state = (jnp.float32(0), *moments) if optimizer == "adam" else ()
    samples = jax.random.normal(key, (BATCHES, batch) + shape)
    labels = jnp.zeros((batch,), jnp.int32)
    if maker.vocabulary > 0:
        samples = jax.random.randint(key, (BATCHES, batch) + shape, 0, maker.vocabulary)
        labels = jnp.zeros((batch,) + shape, jnp.int32)

    def loss(parameters, x):
        maker.statistics = {}
        for layer in layers:
            x = layer(parameters, x)
        value = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), labels[..., None], -1))
        return value, maker.statistics

    def step(carry, number):
        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(carry[0], samples[number % BATCHES])
        parameters, state = updated(optimizer, carry[0], gradients, carry[1])
        for i, found in statistics.items():
            parameters[i] = 0.9 * carry[0][i] + 0.1 * found
        return (parameters, state), value

    def scan(carry, first):
        return lax.scan(step, carry, first + jnp.arange(steps))

    run = jax.jit(step if steps == 1 else scan, donate_argnums=0)
    carry = (parameters, state)
    for _ in range(2):
        carry, losses = run(carry, 0)
    losses.block_until_ready()
    times = []
    begin = time.perf_counter()
    while goes_on(len(times), time.perf_counter() - begin):
        start = time.perf_counter()
        carry, losses = run(carry, len(times))
        losses.block_until_ready()
        times.append((time.perf_counter() - start) / steps * 1e6)
    return min(times)


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
