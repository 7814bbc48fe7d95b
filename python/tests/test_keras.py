# SPDX-License-Identifier: Apache-2.0
"""Keras: what users of Keras rely on, on small data."""
import gc

import numpy as np
import pytest

from pando import Error, ipu, keras
import pando.tf as tf

layers = keras.layers


@pytest.fixture
def data():
    random = np.random.default_rng(1)
    x = random.normal(size=(256, 8)).astype("float32")
    return x, (x.sum(1) > 0).astype("int32")


def classifier(*more):
    model = keras.Sequential([layers.Dense(16, activation="relu", input_shape=(8,)), *more, layers.Dense(2)])
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    return model


def test_fit_learns_and_returns_what_keras_returns(data):
    model = classifier()
    history = model.fit(*data, epochs=8, verbose=0, validation_split=0.25)
    assert set(history.history) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert history.epoch == list(range(8))
    assert history.history["val_accuracy"][-1] > 0.85
    loss, accuracy = model.evaluate(*data, verbose=0)
    assert accuracy > 0.85 and isinstance(loss, float)
    assert set(model.evaluate(*data, verbose=0, return_dict=True)) == {"loss", "accuracy"}
    assert model.predict(data[0][:5]).shape == (5, 2)
    assert model.summary() is None


def test_float64_lists_tensors_and_datasets_are_data(data):
    x, y = data
    model = classifier()
    model.fit(x.astype("float64"), y.tolist(), verbose=0)
    model.fit(tf.constant(x), tf.constant(y), verbose=0)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    model.fit(dataset, validation_data=dataset, verbose=0)

    def batches():
        while True:
            yield x[:32], y[:32]
    model.fit(batches(), steps_per_epoch=3, epochs=2, verbose=0)

    class Batches(keras.utils.Sequence):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return x[index * 8:index * 8 + 8], y[index * 8:index * 8 + 8]
    model.fit(Batches(), verbose=0)


def test_a_layer_listed_twice_becomes_two_layers(capfd):
    dense = layers.Dense(8, input_shape=(8,))
    model = keras.Sequential([dense, dense])
    assert model.count_params() == 2 * (8 * 8 + 8)


def test_functional_models_share_layers_and_have_outputs(data):
    inputs = keras.Input((8,), name="x")
    shared = layers.Dense(8, activation=tf.nn.relu)
    joined = layers.Concatenate()([shared(inputs), shared(inputs * 2.0)])
    model = keras.Model(inputs, layers.Dense(2)(joined))
    assert model.count_params() == 8 * 8 + 8 + 16 * 2 + 2
    middle = keras.Model(model.input, shared.output)
    assert middle.predict(data[0][:4]).shape == (4, 8)
    assert [type(layer).__name__ for layer in model.layers][0] == "_InputOf"
    assert model.get_layer(shared.name) is shared
    with pytest.raises(ValueError, match="nearest"):
        model.get_layer("dens")


def test_dict_inputs_and_several_outputs(data):
    x, y = data
    a, b = keras.Input((8,)), keras.Input((8,))
    model = keras.Model({"a": a, "b": b}, [layers.Dense(2)(a), layers.Dense(1)(layers.Add()([a, b]))])
    model.compile("sgd", [keras.losses.SparseCategoricalCrossentropy(from_logits=True), "mse"],
                  loss_weights=[1.0, 0.5])
    model.fit({"a": x, "b": x}, [y, y.astype("float32")[:, None]], verbose=0)
    first, second = model.predict({"a": x[:3], "b": x[:3]})
    assert first.shape == (3, 2) and second.shape == (3, 1)


class Scaled(layers.Layer):
    """A user's layer: a weight, an inner layer, and the argument training."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.inner = layers.Dense(units)

    def build(self, input_shape):
        self.scale = self.add_weight(name="scale", shape=(input_shape[-1],), initializer="ones")

    def call(self, inputs, training=None):
        x = self.inner(inputs * self.scale)
        return x if training else x + 1.0


def test_a_layer_of_the_user_is_trained_and_sees_training(data):
    model = classifier(Scaled(4))
    names = [weight.name for weight in model.weights]
    assert any("scale" in name for name in names)
    scale = [weight for weight in model.weights if "scale" in weight.name][0]
    before = scale.numpy().copy()
    model.fit(*data, epochs=3, verbose=0)
    assert not np.allclose(before, scale.numpy())
    layer = Scaled(3)
    x = np.ones((2, 8), "float32")
    assert np.allclose(layer(x).numpy() - layer(x, training=True).numpy(), 1.0)


def test_a_class_of_models(data):
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.last = layers.Dense(16, activation="relu"), layers.Dense(2)

        def call(self, inputs, training=None):
            return self.last(self.first(inputs), training=training)

    model = Net()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    history = model.fit(*data, epochs=20, verbose=0)
    assert history.history["accuracy"][-1] > 0.8
    assert model(data[0][:3]).shape == (3, 2)


def test_losses_metrics_and_activations_of_the_user(data):
    x, y = data

    def loss(y_true, y_pred):
        return tf.reduce_mean(tf.square(y_true - y_pred), axis=-1)

    def far(y_true, y_pred):
        return tf.abs(y_true - y_pred)

    model = keras.Sequential([layers.Dense(1, activation=lambda x: tf.nn.sigmoid(x) * 1.5)])
    model.compile("sgd", loss, metrics=[far, "mse"])
    target = y.astype("float32")[:, None]
    model.fit(x, target, verbose=0)
    logs = model.evaluate(x, target, verbose=0, return_dict=True)
    assert np.isclose(logs["loss"], np.mean((model.predict(x) - target) ** 2), atol=1e-5)
    assert np.isclose(logs["far"], np.mean(np.abs(model.predict(x) - target)), atol=1e-5)


def test_callbacks_of_the_user_are_called(data):
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append((epoch, sorted(logs)))
            if epoch == 1:
                self.model.stop_training = True

        def on_train_batch_end(self, batch, logs=None):
            seen.append(batch)

    model = classifier()
    model.fit(*data, epochs=5, batch_size=64, verbose=0, callbacks=[Watch()])
    assert seen == [0, 1, 2, 3, (0, ["accuracy", "loss"]), 0, 1, 2, 3, (1, ["accuracy", "loss"])]


def test_what_a_callback_raises_reaches_the_caller_of_fit(data):
    def fail(epoch, logs):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        classifier().fit(*data, verbose=0, callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=fail)])


def test_early_stopping_and_schedules(data):
    model = classifier()
    stop = keras.callbacks.EarlyStopping(monitor="loss", min_delta=10.0, patience=1)
    assert len(model.fit(*data, epochs=9, verbose=0, callbacks=[stop]).epoch) < 9
    model.compile(keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)), "mse")
    model.compile(keras.optimizers.SGD(0.1, decay=1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(*data, verbose=0)
    with pytest.raises(Error, match="schedule"):
        model.optimizer.learning_rate = 0.5
    assert float(keras.optimizers.SGD(0.25).learning_rate) == 0.25


def test_files(data, tmp_path):
    model = classifier()
    model.fit(*data, verbose=0)
    model.save(tmp_path / "model")
    again = keras.models.load_model(tmp_path / "model")
    assert np.array_equal(model.predict(data[0]), again.predict(data[0]))
    model.save_weights(tmp_path / "w.h5")
    other = classifier()
    other.load_weights(tmp_path / "w.h5")
    assert np.array_equal(model.predict(data[0]), other.predict(data[0]))
    assert keras.models.model_from_json(model.to_json()).count_params() == model.count_params()


def test_two_ipus_replicate_and_pipelines_have_stages(data):
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 2
    config.tiles_per_ipu = 1
    config.configure_ipu_system()
    strategy = ipu.ipu_strategy.IPUStrategy()
    with strategy.scope():
        replicated = classifier()
        replicated.fit(*data, epochs=2, batch_size=32, verbose=0)
        inputs = keras.Input((8,))
        with ipu.keras.PipelineStage(0):
            x = layers.Dense(16, activation="relu")(inputs)
        with ipu.keras.PipelineStage(1):
            x = layers.Dense(2)(x)
        model = keras.Model(inputs, x)
        model.set_pipelining_options(gradient_accumulation_steps_per_replica=4,
                                     pipeline_schedule=ipu.ops.pipelining_ops.PipelineSchedule.Grouped)
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), steps_per_execution=8)
        losses = model.fit(*data, epochs=3, batch_size=32, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert [assignment.pipeline_stage for assignment in model.get_pipeline_stage_assignment()] == [0, 1]
    with pytest.raises(Error, match="PipelineStage"):
        with ipu.keras.PipelineStage(0):
            pass


def test_mistakes_have_clear_errors(data):
    with pytest.raises(TypeError, match="kernel_size"):
        layers.Conv2D(3)
    with pytest.raises(TypeError, match="has no argument 'input_shap'; the nearest is input_shape"):
        layers.Dense(3, input_shap=(3,))
    with pytest.raises(ValueError, match="channels_last"):
        layers.Conv2D(3, 3, data_format="channels_first")
    with pytest.raises(ValueError, match="nearest is relu"):
        layers.Dense(3, activation="reluu")
    with pytest.raises(AttributeError, match="nearest is Dense"):
        layers.Dens
    with pytest.raises(TypeError, match="object"):
        keras.Sequential([layers.Flatten])
    with pytest.raises(AttributeError, match="auto_select_ipus"):
        ipu.config.IPUConfig().auto_select_ipu = 1
    with pytest.raises(Error, match="compile"):
        keras.Sequential([layers.Dense(2)]).fit(*data)
    with pytest.raises(TypeError, match="nearest is jit_compile"):
        classifier().compile("sgd", "mse", jit_compil=True)


def test_layers_of_users_are_collected(data):
    import weakref
    model = classifier(Scaled(4))
    model.fit(*data, verbose=0)
    layer = weakref.ref(model.layers[1])
    del model
    gc.collect()
    gc.collect()
    assert layer() is None


@pytest.mark.parametrize("layer, shape", [
    (layers.Conv1D(4, 3, padding="causal"), (6, 5)), (layers.MaxPooling1D(2), (6, 5)),
    (layers.GlobalAveragePooling1D(), (6, 5)), (layers.PReLU(), (7,)), (layers.ELU(), (7,)),
    (layers.RepeatVector(3), (7,)), (layers.Cropping2D(1), (6, 6, 2)), (layers.GaussianNoise(0.1), (7,)),
    (layers.Lambda(lambda x: x * 2.0), (7,)), (layers.Softmax(axis=1), (3, 4)), (layers.Identity(), (3,)),
    (layers.SeparableConv2D(4, 3), (8, 8, 2)), (layers.DepthwiseConv2D(3), (8, 8, 2)),
    (layers.Conv2DTranspose(2, 3, strides=2), (4, 4, 2)), (layers.UpSampling2D(), (4, 4, 2)),
    (layers.ZeroPadding2D(((1, 2), (0, 1))), (4, 4, 2)), (layers.BatchNormalization(), (4, 4, 2)),
    (layers.LayerNormalization(), (5,)), (layers.Permute((2, 1)), (3, 4)), (layers.Rescaling(1 / 255), (4,)),
    (layers.RandomFlip(), (4, 4, 1)), (layers.ReLU(6.0), (4,)), (layers.LeakyReLU(), (4,))])
def test_every_layer_gives_the_shape_that_it_says(layer, shape):
    x = np.random.default_rng(0).normal(size=(3, *shape)).astype("float32")
    said = layer.compute_output_shape((None, *shape))
    assert tuple(layer(x).shape)[1:] == tuple(said)[1:]


def test_notebooks_show_tables_and_curves(data):
    model = classifier()
    history = model.fit(*data, epochs=2, verbose=0)
    assert "<table>" in model._repr_html_() and "Dense" in model._repr_html_()
    assert "<svg" in history._repr_html_() and "polyline" in history._repr_html_()


def test_dicts_find_inputs_and_outputs_by_the_names_of_their_layers():
    title, body = keras.Input((8,), name="title"), keras.Input((6,), name="body")
    joined = layers.concatenate([layers.Dense(4)(title), layers.Dense(4)(body)])
    outputs = [layers.Dense(1, name="priority")(joined), layers.Dense(3, activation="softmax", name="department")(joined)]
    model = keras.Model(inputs=[title, body], outputs=outputs)
    given = {"title": np.ones((16, 8)), "body": np.zeros((16, 6))}
    wanted = {"priority": np.ones((16, 1)), "department": np.eye(3)[np.arange(16) % 3]}
    losses = {"priority": "mse", "department": "categorical_crossentropy"}
    model.compile("sgd", losses, loss_weights={"department": 0.25, "priority": 2.0})
    logs = model.evaluate(given, wanted, return_dict=True, verbose=0)
    assert logs["loss"] == pytest.approx(2.0 * logs["priority_loss"] + 0.25 * logs["department_loss"], rel=1e-5)
    np.testing.assert_array_equal(model.predict(given)[0], model.predict([given["title"], given["body"]])[0])
    with pytest.raises(ValueError, match="'priority' is missing"):
        model.evaluate(given, {"department": wanted["department"]}, verbose=0)


def test_metrics_compute_from_arrays_outside_of_models():
    accuracy = keras.metrics.Accuracy()
    accuracy.update_state([1, 2, 3], [1, 2, 4])
    assert accuracy.result().numpy() == pytest.approx(2 / 3)
    mean = keras.metrics.Mean()
    mean(3.0)
    assert float(mean(5.0)) == 4.0


def test_a_metric_with_a_state_of_its_own_says_what_to_write():
    class Total(keras.metrics.Metric):
        def __init__(self):
            super().__init__(name="total")
            self.total = self.add_weight(name="total")
    with pytest.raises(NotImplementedError, match="write call"):
        Total()


def test_a_class_may_take_a_dict():
    class Named(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs["a"]) + self.dense(inputs["b"])
    model = Named()
    model.compile("sgd", "mse")
    given = {"b": np.ones((8, 3)), "a": np.zeros((8, 3))}
    model.fit(given, np.ones((8, 1)), verbose=0)
    kernel, bias = model.get_weights()
    np.testing.assert_allclose(model.predict(given), np.full((8, 1), kernel.sum() + 2 * bias), rtol=1e-5)
