# SPDX-License-Identifier: Apache-2.0
"""Weights of samples and classes, losses and metrics that are one number for a batch, and single batches: against formulas
in float64."""
import numpy as np
import pytest

import pando.tf as tf
from pando import keras
from pando.keras import layers

RATE = 0.05
START = np.array([[0.7], [-0.4]])


@pytest.fixture
def data():
    generator = np.random.default_rng(7)
    x, y = generator.normal(size=(14, 2)), generator.normal(size=(14, 1))
    weights = generator.uniform(0.5, 2, 14) * (np.arange(14) % 3 > 0)
    weights[4:8] = 0
    return x.astype(np.float32), y.astype(np.float32), weights.astype(np.float32)


def line(loss="mse", rate=RATE, **options):
    model = keras.Sequential([layers.Dense(1, use_bias=False, input_shape=(2,))])
    model.set_weights([START.astype(np.float32)])
    model.compile(keras.optimizers.SGD(rate), loss, **options)
    return model


def epoch(x, y, weights=None, batch=4, rate=RATE, sums=False):
    """The loss, the mean absolute error and the kernel after one epoch, as Keras computes them, in float64."""
    x, y = x.astype(float), y.astype(float)
    weights = np.ones(len(x)) if weights is None else weights.astype(float)
    kernel, loss, error = START.copy(), 0.0, 0.0
    for first in range(0, len(x), batch):
        some = slice(first, first + batch)
        difference = (x[some] @ kernel - y[some])[:, 0]
        count = len(difference)
        divisor = 1 if sums else count
        loss += count * np.sum(weights[some] * difference**2) / divisor
        error += np.sum(np.abs(difference))
        kernel = kernel - rate * 2 * x[some].T @ (weights[some] * difference)[:, None] / divisor
    return loss / len(x), error / len(x), kernel


def check(model, loss, error, expected):
    np.testing.assert_allclose([loss, error], expected[:2], rtol=1e-5)
    np.testing.assert_allclose(model.get_weights()[0], expected[2], rtol=1e-5, atol=1e-6)


def test_weights_of_zero_count_in_the_mean(data):
    x, y, weights = data
    model = line(metrics=["mae"])
    history = model.fit(x, y, batch_size=4, shuffle=False, verbose=0, sample_weight=weights).history
    check(model, history["loss"][0], history["mae"][0], epoch(x, y, weights))


def test_a_weight_of_zero_trains_like_a_tiny_one(data):
    x, y, weights = data
    zero, tiny = line(), line()
    zero.fit(x, y, batch_size=4, shuffle=False, verbose=0, sample_weight=weights)
    tiny.fit(x, y, batch_size=4, shuffle=False, verbose=0, sample_weight=np.maximum(weights, 1e-20))
    np.testing.assert_allclose(zero.get_weights()[0], tiny.get_weights()[0], rtol=1e-6)


def test_weights_of_zero_count_in_data_sets_and_validation(data):
    x, y, weights = data
    model = line(metrics=["mae"])
    dataset = tf.data.Dataset.from_tensor_slices((x, y, weights)).batch(4)
    history = model.fit(dataset, verbose=0).history
    check(model, history["loss"][0], history["mae"][0], epoch(x, y, weights))
    still = line(rate=0.0, metrics=["mae"])
    history = still.fit(x, y, verbose=0, validation_data=(x, y, weights), batch_size=4).history
    expected = epoch(x, y, weights, rate=0.0)
    check(still, history["val_loss"][0], history["val_mae"][0], expected)
    loss, error = still.evaluate(x, y, sample_weight=weights, verbose=0, batch_size=5)
    check(still, loss, error, expected)


def test_class_weights_of_zero_count_in_the_mean(data):
    x = data[0]
    y = (np.arange(14) % 3).astype(np.float32)[:, None]
    weights = np.array([0.0, 2.0, 1.0])[np.arange(14) % 3]
    model = line(metrics=["mae"])
    history = model.fit(x, y, batch_size=4, shuffle=False, verbose=0, class_weight={0: 0, 1: 2}).history
    check(model, history["loss"][0], history["mae"][0], epoch(x, y, weights))


def test_single_batches_take_class_weights(data):
    x = data[0]
    y = (np.arange(14) % 3).astype(np.float32)[:, None]
    weights = np.array([0.0, 2.0, 1.0])[np.arange(14) % 3]
    model = line(metrics=["mae"])
    check(model, *model.train_on_batch(x, y, class_weight={0: 0, 1: 2}), epoch(x, y, weights, batch=14))
    both = line(metrics=["mae"])
    logs = both.train_on_batch(x, y, sample_weight=data[2], class_weight={0: 0, 1: 2})
    check(both, *logs, epoch(x, y, weights * data[2], batch=14))


def test_single_batches_go_on_with_their_means(data):
    x, y, weights = data
    model = line(rate=0.0, metrics=["mae"])
    expected = epoch(x, y, weights, rate=0.0)
    model.train_on_batch(x[:5], y[:5], weights[:5])
    check(model, *model.train_on_batch(x[5:], y[5:], weights[5:], reset_metrics=False), expected)
    model.test_on_batch(x[:9], y[:9], weights[:9])
    check(model, *model.test_on_batch(x[9:], y[9:], weights[9:], reset_metrics=False), expected)
    model.reset_metrics()
    check(model, *model.test_on_batch(x, y, weights, reset_metrics=False), expected)
    check(model, *model.test_on_batch(x, y, weights), expected)


def whole(y_true, y_pred):
    return tf.reduce_mean(tf.square(y_true - y_pred))


def whole_error(y_true, y_pred):
    return tf.reduce_mean(tf.abs(y_true - y_pred))


class Whole(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return whole(y_true, y_pred)


class WholeError(keras.metrics.Metric):
    def call(self, y_true, y_pred):
        return whole_error(y_true, y_pred)


@pytest.mark.parametrize("loss, metric", [(whole, whole_error), (Whole(), WholeError()), ("mse", whole_error), (whole, "mae")])
def test_one_number_for_a_batch_does_not_see_copies(data, loss, metric):
    x, y, _ = data
    model = line(loss, metrics=[metric])
    check(model, *model.evaluate(x, y, batch_size=4, verbose=0), (*epoch(x, y, rate=0.0)[:2], START))
    history = list(model.fit(x, y, batch_size=4, shuffle=False, verbose=0).history.values())
    expected = epoch(x, y)
    check(model, history[0][0], history[1][0], expected)
    dataset = line(loss, metrics=[metric])
    history = list(dataset.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(4), verbose=0).history.values())
    check(dataset, history[0][0], history[1][0], expected)


class Centred(layers.Layer):
    """Subtracts the mean of the batch."""

    def call(self, inputs):
        return inputs - tf.reduce_mean(inputs, axis=0, keepdims=True)


def test_a_layer_that_mixes_samples_does_not_see_copies(data):
    x, y, _ = data
    model = keras.Sequential([Centred(input_shape=(2,)), layers.Dense(1, use_bias=False)])
    model.set_weights([START.astype(np.float32)])
    model.compile("sgd", "mse")
    parts = [part - part.mean(0, keepdims=True) for part in np.split(x.astype(float), [4, 8, 12])]
    expected = np.concatenate(parts) @ START
    np.testing.assert_allclose(model.predict(x, batch_size=4), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.evaluate(x, y, batch_size=4, verbose=0), np.mean((expected - y)**2), rtol=1e-5)


def test_a_loss_of_pairs_does_not_see_copies(data):
    def pairs(y_true, y_pred):
        """One number for each sample, which depends on all of the batch."""
        return tf.reduce_mean(tf.square(y_pred - tf.transpose(y_pred)), axis=1)
    x, y, _ = data
    model = line(pairs)
    out = x.astype(float) @ START
    expected = sum(len(part) * np.mean((part - part.T)**2) for part in np.split(out, [4, 8, 12])) / 14
    np.testing.assert_allclose(model.evaluate(x, y, batch_size=4, verbose=0), expected, rtol=1e-5)


class Error(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return tf.square(y_true - y_pred)


def test_a_loss_of_ones_own_may_be_a_sum(data):
    x, y, weights = data
    model = line(Error(reduction="sum"), metrics=["mae"])
    history = model.fit(x, y, batch_size=4, shuffle=False, verbose=0).history
    check(model, history["loss"][0], history["mae"][0], epoch(x, y, sums=True))
    weighed = line(Error(reduction=keras.losses.Reduction.SUM), metrics=["mae"])
    history = weighed.fit(x, y, batch_size=4, shuffle=False, verbose=0, sample_weight=weights).history
    check(weighed, history["loss"][0], history["mae"][0], epoch(x, y, weights, sums=True))


@pytest.mark.parametrize("loss, words", [
    (lambda: keras.losses.MeanSquaredError(reduction="sum"),
     "MeanSquaredError: reduction='sum' is not in Pando; training takes the mean over the batch, so multiply the learning rate "
     "by the batch size instead"),
    (lambda: Error(reduction="none"),
     "Error: reduction='none' is not in Pando; training takes the mean over the batch, so leave reduction out"),
    (lambda: keras.losses.Huber(reduction="mean_with_sample_weight"),
     "Huber: reduction='mean_with_sample_weight' is not in Pando; training takes the mean over the batch, so leave reduction "
     "out")])
def test_other_reductions_are_refused_by_compile(loss, words):
    with pytest.raises(NotImplementedError) as error:
        line(loss())
    assert str(error.value) == words


def test_losses_of_arrays_are_reduced_as_they_say(data):
    _, y, _ = data
    for made in (keras.losses.MeanSquaredError, Error):
        np.testing.assert_allclose(made(reduction="sum")(y, y + 2.0).numpy(), 4.0 * len(y), rtol=1e-6)
        assert made(reduction="none")(y, y + 2.0).shape[0] == len(y)


def test_weighted_metrics_are_refused():
    with pytest.raises(NotImplementedError) as error:
        line(weighted_metrics=["mae"])
    assert str(error.value) == ("compile: weighted_metrics are not in Pando, where weights of samples do not count in metrics; "
                                "give them as metrics, or the loss as the number to look at")


LAYERS = [
    lambda x: layers.Conv2D(3, 2)(x), lambda x: layers.DepthwiseConv2D(2)(x), lambda x: layers.SeparableConv2D(3, 2)(x),
    lambda x: layers.Conv2DTranspose(3, 2)(x), lambda x: layers.MaxPooling2D()(x), lambda x: layers.AveragePooling2D()(x),
    lambda x: layers.GlobalMaxPooling2D()(x), lambda x: layers.GlobalAveragePooling2D()(x), lambda x: layers.UpSampling2D()(x),
    lambda x: layers.ZeroPadding2D()(x), lambda x: layers.Cropping2D()(x), lambda x: layers.BatchNormalization()(x),
    lambda x: layers.LayerNormalization()(x), lambda x: layers.RandomFlip()(x), lambda x: layers.RandomRotation(0.1)(x),
    lambda x: layers.RandomTranslation(0.1, 0.1)(x), lambda x: layers.Dropout(0.5)(x), lambda x: layers.GaussianNoise(0.5)(x),
    lambda x: layers.PReLU()(x), lambda x: layers.ELU()(x), lambda x: layers.Softmax()(x), lambda x: layers.LeakyReLU()(x),
    lambda x: layers.Permute((3, 1, 2))(x), lambda x: layers.Rescaling(2.0)(x), lambda x: layers.Concatenate()([x, x]),
    lambda x: layers.Concatenate(axis=1)([x, x]), lambda x: layers.Multiply()([x, x]), lambda x: layers.Average()([x, x]),
    lambda x: layers.Dot(axes=1)([layers.Flatten()(x), layers.Flatten()(x)]),
    lambda x: layers.RepeatVector(3)(layers.Flatten()(x)), lambda x: layers.Conv1D(3, 2)(layers.Reshape((8, 4))(x)),
    lambda x: layers.MaxPooling1D()(layers.Reshape((8, 4))(x)), lambda x: layers.AveragePooling1D()(layers.Reshape((8, 4))(x)),
    lambda x: layers.GlobalMaxPooling1D()(layers.Reshape((8, 4))(x)),
    lambda x: layers.GlobalAveragePooling1D()(layers.Reshape((8, 4))(x)),
    lambda x: layers.Embedding(5, 2)(layers.Flatten()(x)), lambda x: layers.Dense(3)(layers.Reshape((8, 4))(x))]


def is_filled_up(layer, loss, metrics, classes=3, activation=None):
    """Whether the last batch of such a model is filled up with copies, because they do not count."""
    inputs = keras.Input((4, 4, 2))
    model = keras.Model(inputs, layers.Dense(classes, activation=activation)(layers.Flatten()(layer(inputs))))
    model.compile("sgd", loss, metrics=metrics)
    return "Last batch   3 samples, padded to 4 with samples that do not count" in model.explain(11, 4)


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_of_keras_keep_samples_apart(layer):
    assert is_filled_up(layer, "mse", ["mae"])


@pytest.mark.parametrize("name", ["mse", "mae", "huber", "log_cosh", "hinge", "poisson", "kl_divergence", "cosine_similarity",
                                  "categorical_crossentropy", "binary_crossentropy"])
def test_losses_of_keras_keep_samples_apart(name):
    for activation in (None, "softmax", "sigmoid"):
        assert is_filled_up(layers.Identity(), name, ["accuracy", keras.losses.get(name)], activation=activation)


def test_losses_and_metrics_of_class_numbers_keep_samples_apart():
    metrics = ["accuracy", "sparse_categorical_accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2)]
    assert is_filled_up(layers.Identity(), "sparse_categorical_crossentropy", metrics, activation="softmax")
    more = ["categorical_accuracy", "binary_accuracy", keras.metrics.TopKCategoricalAccuracy(2), keras.metrics.Accuracy()]
    assert is_filled_up(layers.Identity(), "mse", more)
    assert not is_filled_up(layers.Identity(), whole, ["mae"])
    assert not is_filled_up(layers.Identity(), "mse", [whole_error])
    assert not is_filled_up(Centred(), "mse", [])
