# SPDX-License-Identifier: Apache-2.0
"""What the comparison with Keras 3 (python/tests/peers) has found, here without Keras 3."""
import numpy as np
import pytest

from pando import keras
from pando.keras import layers

X = np.random.RandomState(1).standard_normal((40, 4)).astype(np.float32)
Y = np.random.RandomState(2).standard_normal((40, 1)).astype(np.float32)


def trained_model(**compiled):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([layers.Dense(1, input_shape=(4,))])
    model.compile(keras.optimizers.SGD(0.1), "mse", **compiled)
    return model


@pytest.mark.parametrize("make, predictions", [
    (lambda: keras.losses.CategoricalCrossentropy(from_logits=True), [[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]]),
    (lambda: keras.losses.BinaryCrossentropy(label_smoothing=0.3), [[0.9, 0.1, 0.2], [0.3, 0.8, 0.1]]),
    (lambda: keras.losses.Huber(delta=0.2), [[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]])])
def test_a_loss_means_the_same_each_time_it_is_used(make, predictions):
    targets, predictions = np.eye(3, dtype=np.float32)[:2], np.float32(predictions)
    loss = make()
    first = loss(targets, predictions).numpy()
    assert loss(targets, predictions).numpy() == first
    model = keras.Sequential([layers.Activation("linear", input_shape=(3,))])
    model.compile("sgd", loss)
    np.testing.assert_allclose(model.evaluate(predictions, targets, verbose=0), first, rtol=1e-5)


def test_a_metric_means_the_same_each_time_it_is_used():
    metric = keras.metrics.BinaryAccuracy(threshold=0.3)
    for _ in range(2):
        metric.reset_state()
        metric.update_state([[1.0], [0.0]], [[0.4], [0.2]])
        assert metric.result().numpy() == 1


def test_the_weight_of_a_sample_counts_for_all_that_it_has():
    metric = keras.metrics.Accuracy()
    metric.update_state(np.ones((2, 3)), np.float32([[1, 1, 0], [0, 0, 0]]), sample_weight=np.float32([3, 1]))
    np.testing.assert_allclose(metric.result().numpy(), 0.5)


def test_batch_normalization_refuses_an_axis_that_is_not_the_last():
    layers.BatchNormalization(axis=1)(keras.Input((4,)))
    layers.BatchNormalization(axis=3)(keras.Input((5, 5, 4)))
    with pytest.raises(ValueError, match="axis is 1 but the channels must be last: -1"):
        layers.BatchNormalization(axis=1)(keras.Input((5, 5, 4)))
    with pytest.raises(ValueError, match=r"LayerNormalization: axis is \[1, 2\], but Pando normalises one axis, the last"):
        layers.LayerNormalization(axis=[1, 2])


@pytest.mark.parametrize("make, words", [
    (lambda: layers.AveragePooling1D(2, data_format="channels_first"), "AveragePooling1D: data_format is 'channels_first'"),
    (lambda: layers.MaxPooling1D(2, data_format="channels_first"), "MaxPooling1D: data_format is 'channels_first'"),
    (lambda: layers.Conv1D(2, 3, data_format="channels_first"), "Conv1D: data_format is 'channels_first'"),
    (lambda: layers.GlobalMaxPooling1D(data_format="channels_first"), "GlobalMaxPooling1D: data_format is 'channels_first'"),
    (lambda: layers.Cropping2D(1, data_format="channels_first"), "Cropping2D: data_format is 'channels_first'"),
    (lambda: layers.PReLU(alpha_constraint="non_neg"), "PReLU: alpha_constraint='non_neg' is not in Pando"),
    (lambda: layers.RandomRotation(0.1, interpolation="nearest"),
     "RandomRotation: interpolation='nearest' is not in Pando, which has 'bilinear'"),
    (lambda: keras.metrics.MeanSquaredError(dtype="float16"),
     "MeanSquaredError: dtype is 'float16', but metrics of Pando are computed in float32"),
    (lambda: keras.metrics.CategoricalCrossentropy(axis=1), "the classes are along the last axis in Pando")])
def test_an_argument_that_changes_the_result_is_refused(make, words):
    with pytest.raises((ValueError, NotImplementedError)) as caught:
        make()
    assert words in str(caught.value)


def test_softmax_along_several_axes():
    values = np.random.RandomState(3).standard_normal((2, 3, 4)).astype(np.float32)
    powers = np.exp(values)
    np.testing.assert_allclose(layers.Softmax(axis=(1, 2))(values).numpy(), powers / powers.sum((1, 2), keepdims=True),
                               rtol=1e-5)


def test_a_regularizer_is_a_function():
    weights = np.float32([[1, -2], [3, 0]])
    np.testing.assert_allclose(keras.regularizers.L1L2(0.1, 0.01)(weights).numpy(), 0.1 * 6 + 0.01 * 14, rtol=1e-6)


def test_early_stopping_waits_for_the_baseline_and_ends_with_the_best_weights():
    model, stop = trained_model(), keras.callbacks.EarlyStopping("loss", baseline=-1.0, patience=3)
    history = model.fit(X, Y, epochs=9, shuffle=False, verbose=0, callbacks=[stop])
    # The loss becomes better all the time, so it is not stopped, although it never beats the baseline.
    assert len(history.epoch) == 9
    best, weights = [], []

    class Keep(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            best.append(logs["loss"])
            weights.append(self.model.get_weights()[0])
    model = trained_model()
    stop = keras.callbacks.EarlyStopping("loss", mode="max", patience=20, restore_best_weights=True)
    model.fit(X, Y, epochs=4, shuffle=False, verbose=0, callbacks=[Keep(), stop])
    np.testing.assert_array_equal(model.get_weights()[0], weights[int(np.argmax(best))])


def test_a_checkpoint_begins_with_a_threshold(tmp_path):
    for threshold, files in ((0.0, 0), (1e9, 1)):
        folder = tmp_path / str(files)
        folder.mkdir()
        checkpoint = keras.callbacks.ModelCheckpoint(folder / "w.npz", "loss", save_best_only=True, save_weights_only=True,
                                                     initial_value_threshold=threshold)
        trained_model().fit(X, Y, epochs=2, verbose=0, callbacks=[checkpoint])
        assert len(list(folder.iterdir())) == files


def test_callbacks_get_logs_everywhere():
    calls = []

    class Recorder(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            calls.append(("train begins", dict(logs)))

        def on_epoch_begin(self, epoch, logs=None):
            calls.append((f"epoch {epoch} begins", dict(logs)))

        def on_train_end(self, logs=None):
            calls.append(("train ends", dict(logs)))

        def on_test_begin(self, logs=None):
            calls.append(("test begins", dict(logs)))

        def on_test_end(self, logs=None):
            calls.append(("test ends", dict(logs)))

        def on_predict_begin(self, logs=None):
            calls.append(("predict begins", dict(logs)))

        def on_predict_end(self, logs=None):
            calls.append(("predict ends", dict(logs)))
    model = trained_model(metrics=["mae"])
    history = model.fit(X, Y, epochs=2, verbose=0, callbacks=[Recorder()])
    last = {name: values[-1] for name, values in history.history.items()}
    assert calls == [("train begins", {}), ("epoch 0 begins", {}), ("epoch 1 begins", {}), ("train ends", last)]
    calls.clear()
    history = model.fit(X, Y, epochs=1, verbose=0, callbacks=[Recorder()], validation_data=(X, Y))
    last = {name: values[-1] for name, values in history.history.items()}
    tested = {name[len("val_"):]: value for name, value in last.items() if name.startswith("val_")}
    assert set(tested) == {"loss", "mae"}
    assert calls == [("train begins", {}), ("epoch 0 begins", {}), ("test begins", {}), ("test ends", tested),
                     ("train ends", last)]
    calls.clear()
    logs = model.evaluate(X, Y, verbose=0, callbacks=[Recorder()], return_dict=True)
    model.predict(X, callbacks=Recorder())
    assert calls == [("test begins", {}), ("test ends", logs), ("predict begins", {}), ("predict ends", {})]
