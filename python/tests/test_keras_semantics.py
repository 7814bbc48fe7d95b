# SPDX-License-Identifier: Apache-2.0
"""Keras: branches on training, losses that layers add, targets of any shape, and errors for what Pando does not have."""
import numpy as np
import pytest

import pando.tf as tf
from pando import Error, keras
from pando.keras import layers


@pytest.fixture
def data():
    generator = np.random.default_rng(1)
    return generator.random((40, 4), np.float32), generator.random((40, 1), np.float32)


class Branch(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def call(self, inputs, training=None):
        if training:
            inputs = inputs * 2.0
        return self.dense(inputs)


def test_a_call_may_branch_on_training(data):
    model = Branch()
    model.compile(keras.optimizers.SGD(0.0), "mse")
    x, y = data
    trained = model.fit(x, y, verbose=0, batch_size=40).history["loss"][0]
    kernel, bias = model.get_weights()
    np.testing.assert_allclose(trained, np.mean((2 * x @ kernel + bias - y)**2), rtol=1e-4)
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), np.mean((x @ kernel + bias - y)**2), rtol=1e-4)
    np.testing.assert_allclose(model.predict(x), x @ kernel + bias, rtol=1e-4)
    np.testing.assert_allclose(model(x, training=True).numpy(), 2 * x @ kernel + bias, rtol=1e-4)
    assert [layer.name for layer in model.layers] == [model.dense.name]
    assert model.count_params() == 5


def test_such_a_model_learns(data):
    x, _ = data
    model = Branch()
    model.compile(keras.optimizers.SGD(0.05), "mse")
    losses = model.fit(x, x.sum(1, keepdims=True), epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 4


class Sized(layers.Layer):
    """Adds the mean of squares of its inputs to the loss."""

    def call(self, inputs):
        self.add_loss(0.1 * tf.reduce_mean(tf.square(inputs)))
        return inputs


class EachSized(layers.Layer):
    """The same with one number for each sample."""

    def call(self, inputs):
        self.add_loss(0.1 * tf.reduce_mean(tf.square(inputs), axis=-1))
        return inputs


@pytest.mark.parametrize("layer", [Sized, EachSized])
def test_a_layer_adds_to_the_loss(data, layer):
    x, y = data
    model = keras.Sequential([layers.Dense(3, input_shape=(4,)), layer(), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    hidden, bias, out, end = model.get_weights()
    inner = x @ hidden + bias
    wanted = np.mean((inner @ out + end - y)**2) + 0.1 * np.mean(inner**2)
    np.testing.assert_allclose(model.fit(x, y, verbose=0, batch_size=20).history["loss"][0], wanted, rtol=1e-4)
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0, batch_size=32), wanted, rtol=1e-4)


def test_an_added_loss_is_trained(data):
    x, _ = data
    model = keras.Sequential([layers.Dense(3, input_shape=(4,), use_bias=False), Sized(), layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1.0), "mse")
    before = np.abs(model.get_weights()[0]).sum()
    model.fit(x, np.zeros((40, 1), np.float32), epochs=30, verbose=0, sample_weight=np.zeros(40, np.float32) + 1e-6)
    assert np.abs(model.get_weights()[0]).sum() < before


class Adds(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def call(self, inputs):
        out = self.dense(inputs)
        self.add_loss(tf.reduce_mean(tf.abs(out)))
        return out


def test_a_model_adds_to_its_loss_in_call(data):
    x, y = data
    model = Adds()
    model.compile(keras.optimizers.SGD(0.0), "mse")
    loss = model.fit(x, y, verbose=0, batch_size=40).history["loss"][0]
    out = model.predict(x)
    np.testing.assert_allclose(loss, np.mean((out - y)**2) + np.mean(np.abs(out)), rtol=1e-4)


def test_add_loss_outside_of_call_says_where_it_belongs(data):
    inputs = keras.Input((4,))
    outputs = layers.Dense(1)(inputs)
    with pytest.raises(TypeError, match=r"add_loss: call it in the call\(\)"):
        keras.Model(inputs, outputs).add_loss(tf.reduce_mean(outputs))


def test_a_function_takes_targets_of_another_shape(data):
    def first_column(y_true, y_pred):
        return tf.reduce_mean(tf.square(y_pred[:, 0:1] - y_true), axis=-1)
    x, y = data
    model = keras.Sequential([layers.Dense(3, input_shape=(4,))])
    model.compile("sgd", first_column)
    model.fit(x, y, epochs=1, verbose=0)
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), np.mean((model.predict(x)[:, :1] - y)**2), rtol=1e-4)


def test_a_function_takes_class_numbers(data):
    def cross_entropy(y_true, y_pred):
        wanted = tf.one_hot(tf.cast(y_true[:, 0], tf.int32), 3)
        return -tf.reduce_sum(wanted * tf.nn.log_softmax(y_pred), axis=-1)
    x, labels = data[0], np.arange(40) % 3
    model = keras.Sequential([layers.Dense(3, input_shape=(4,))])
    model.compile("sgd", cross_entropy)
    own = model.evaluate(x, labels, verbose=0)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    np.testing.assert_allclose(own, model.evaluate(x, labels, verbose=0), rtol=1e-5)


def test_a_class_with_a_step_of_its_own_is_refused():
    class Own(keras.Model):
        def call(self, inputs):
            return inputs

        def train_step(self, data):
            return {}
    with pytest.raises(NotImplementedError, match=r"Own.train_step would not be called.*remove train_step"):
        Own().compile("sgd", "mse")


def test_a_tape_says_what_to_use():
    with pytest.raises(NotImplementedError, match=r"use model.compile\(\) and fit\(\)"):
        tf.GradientTape()


@pytest.mark.parametrize("make, words", [
    (lambda: layers.Dense(1).unitz, "Dense has no 'unitz' in Pando; the nearest is units"),
    (lambda: keras.Sequential().evalute, "Sequential has no 'evalute' in Pando; the nearest is evaluate"),
    (lambda: tf.zeros(3).numpi, "tf.Tensor has no 'numpi' in Pando; the nearest is numpy"),
    (lambda: keras.losses.MeanSquareError, "pando.keras.losses has no 'MeanSquareError' in Pando; the nearest is "
                                           "MeanSquaredError"),
    (lambda: keras.callbacks.EarlyStoping, "the nearest is EarlyStopping"), (lambda: tf.data.Datset, "nearest is Dataset")])
def test_unknown_attributes_name_the_nearest(make, words):
    with pytest.raises(AttributeError, match=words):
        make()


def chained(batches, momentum, mean, variance):
    """The moving statistics after these batches, in float64."""
    for batch in batches:
        batch = batch.astype(np.float64)
        mean = mean * momentum + batch.mean(0) * (1 - momentum)
        variance = variance * momentum + batch.var(0) * (1 - momentum)
    return mean, variance


def test_a_shared_normalisation_moves_its_statistics_in_the_order_of_the_calls():
    draw = np.random.default_rng(3)
    a, b = draw.normal(2, 3, (8, 3)).astype(np.float32), draw.normal(-1, 2, (8, 3)).astype(np.float32)
    norm = layers.BatchNormalization(momentum=0.8)
    first, second = keras.Input((3,)), keras.Input((3,))
    model = keras.Model([first, second], layers.Concatenate()([norm(first), norm(second)]))
    model.compile(keras.optimizers.SGD(0.0), "mse")
    model.fit([a, b], np.zeros((8, 6), np.float32), batch_size=4, shuffle=False, verbose=0)
    mean, variance = chained([a[:4], b[:4], a[4:], b[4:]], 0.8, np.zeros(3), np.ones(3))
    np.testing.assert_allclose(norm.get_weights()[2], mean, rtol=1e-5)
    np.testing.assert_allclose(norm.get_weights()[3], variance, rtol=1e-5)


def test_a_discriminator_sees_real_and_drawn_samples_in_one_step():
    class Gan(keras.Model):
        def __init__(self):
            super().__init__()
            self.norm = layers.BatchNormalization(momentum=0.5)
            self.score = layers.Dense(1)

        def call(self, inputs, training=None):
            real, drawn = inputs
            return (self.score(self.norm(real, training=training)) - self.score(self.norm(drawn, training=training)))

    draw = np.random.default_rng(4)
    real, drawn = draw.normal(1, 1, (6, 2)).astype(np.float32), draw.normal(-3, 2, (6, 2)).astype(np.float32)
    model = Gan()
    model.compile(keras.optimizers.SGD(0.01), "mse")
    model.fit([real, drawn], np.ones((6, 1), np.float32), batch_size=6, verbose=0)
    mean, variance = chained([real, drawn], 0.5, np.zeros(2), np.ones(2))
    np.testing.assert_allclose(model.norm.get_weights()[2], mean, rtol=1e-5)
    np.testing.assert_allclose(model.norm.get_weights()[3], variance, rtol=1e-5)


def test_a_layer_that_counts_its_calls_reads_what_it_assigned():
    class Count(layers.Layer):
        def build(self, input_shape):
            self.calls = self.add_weight(name="calls", shape=(), initializer="zeros", trainable=False)

        def call(self, inputs):
            self.calls.assign(self.calls + 1.0)
            return inputs * self.calls

    count, inputs = Count(), keras.Input((1,))
    model = keras.Model(inputs, [count(inputs), count(inputs)])
    first, second = model.predict(np.ones((2, 1), np.float32), verbose=0)
    assert first.tolist() == [[1], [1]] and second.tolist() == [[2], [2]]
    assert count.get_weights()[0] == 2


def test_a_weight_that_the_optimizer_trains_is_not_assigned():
    class Scale(layers.Layer):
        def build(self, input_shape):
            self.scale = self.add_weight(name="scale", shape=(), initializer="ones")

        def call(self, inputs):
            outputs = inputs * self.scale
            self.scale.assign(self.scale * 0.5)
            return outputs

    model = keras.Sequential([keras.Input((1,)), Scale(name="scaled")])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    with pytest.raises(Error, match="^'scaled/scale' is trained by the optimizer, and a layer assigns it a value, too; "
                                    "make it a weight that is not trainable$"):
        model.fit(np.ones((2, 1), np.float32), np.ones((2, 1), np.float32), verbose=0)


def test_all_arguments_of_a_call_on_arrays_count_each_time():
    class Scaled(layers.Layer):
        def call(self, inputs, scale=1, added=()):
            return inputs * scale + sum(added)

    layer, x = Scaled(), np.ones((2, 1), np.float32)
    called = [layer(x), layer(x, 2), layer(x, scale=3), layer(x, 3.5), layer(x, added=[1, 2]), layer(x, added=[1, 3])]
    assert [tensor.numpy()[0, 0] for tensor in called] == [1, 2, 3, 3.5, 4, 5]
    number = np.float32(6)
    assert layer(x, number).numpy()[0, 0] == 6 and layer(x).numpy()[0, 0] == 1
