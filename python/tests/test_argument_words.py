# SPDX-License-Identifier: Apache-2.0
"""What errors and notices about arguments say, word for word, and what arguments do that were once ignored."""
import numpy as np
import pytest

from pando import keras, tf
from pando.core import messages
from pando.tf.compat import v1

ONES = np.ones((2, 3), "float32")
VECTORS = keras.Input((4,))
COLUMNS = np.array([[0.0, 2.0]], "float32")


class OwnWeight(keras.layers.Layer):
    def build(self, input_shape):
        self.add_weight("scale", (1,), dtype="int32")

    def call(self, inputs):
        return inputs


class CountsBatches(keras.callbacks.Callback):
    def on_test_batch_end(self, batch, logs=None):
        pass


def evaluated(callback):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    return model.evaluate(ONES, ONES[:, :1], verbose=0, callbacks=[callback])


@pytest.mark.parametrize("call, words", [
    (lambda: keras.layers.Average()(VECTORS), "Average: inputs must be a list of at least two tensors, as in Average()([a, b])"),
    (lambda: keras.layers.PReLU(alpha_constraint="non_neg"), "PReLU: alpha_constraint='non_neg' is not in Pando"),
    (lambda: keras.layers.Conv1D(1, 2, data_format="channels_first"),
     "Conv1D: data_format is 'channels_first', but Pando has 'channels_last' only; move the channels to the last axis"),
    (lambda: keras.layers.RandomRotation(0.1, interpolation="nearest"),
     "RandomRotation: interpolation='nearest' is not in Pando, which has 'bilinear' only"),
    (lambda: OwnWeight()(VECTORS), "OwnWeight.add_weight: dtype='int32' is not in Pando, whose weights are float32"),
    (lambda: keras.layers.Dense(1, input_length=3), "Dense has no argument 'input_length'; the nearest is input_shape"),
    (lambda: keras.metrics.CategoricalCrossentropy(axis=0),
     "CategoricalCrossentropy: axis is 0, but the classes are along the last axis in Pando"),
    (lambda: keras.callbacks.ReduceLROnPlateau(min_detla=1),
     "ReduceLROnPlateau() got an unexpected keyword argument 'min_detla'; the nearest is min_delta"),
    (lambda: evaluated(CountsBatches()),
     "CountsBatches.on_test_batch_end would not be called: Pando calls callbacks before and after evaluate(), predict() and "
     "validation, and not for each batch of them"),
    (lambda: keras.ops.max(ONES, initial=2), "max: initial=2 is not in Pando"),
    (lambda: tf.norm(ONES, ord=1), "norm: ord=1 is not in Pando, which has 'euclidean' only"),
    (lambda: tf.nn.max_pool(ONES, data_format="NCHW"), "max_pool: data_format is 'NCHW', but Pando has 'NHWC' only"),
    (lambda: tf.nn.max_pool(ONES, value=ONES), "max_pool: give one of input and value, not both"),
    (lambda: tf.nn.softmax_cross_entropy_with_logits(ONES, ONES, axis=0),
     "softmax_cross_entropy_with_logits: axis=0 is not in Pando, whose classes are along the last axis"),
    (lambda: v1.Session("grpc://host"), "Session: target='grpc://host' is not in Pando, whose sessions run in this process"),
    (lambda: v1.variable_scope("a", dtype="float64"),
     "variable_scope: dtype='float64' is not in Pando; give it to get_variable()"),
    (lambda: v1.constant([1.0, 2.0], shape=(2, 1), verify_shape=True),
     "constant: the value has the shape (2,), but verify_shape wants (2, 1)")])
def test_what_is_refused(call, words):
    with pytest.raises((NotImplementedError, ValueError, TypeError)) as raised:
        call()
    assert str(raised.value) == words


@pytest.mark.parametrize("call, words", [
    (lambda: keras.layers.Dense(1, dtype="float64"), "Dense: dtype='float64' has no effect in Pando, which computes in float32"),
    (lambda: keras.layers.Dense(1, dynamic=True), "Dense: dynamic has no effect in Pando"),
    (lambda: keras.layers.GaussianNoise(0.1, seed=3),
     "GaussianNoise: the seed of a layer has no effect in Pando; tf.random.set_seed() decides"),
    (lambda: keras.metrics.Mean(dtype="float64"), "Mean: dtype='float64' has no effect in Pando, which computes in float32"),
    (lambda: keras.random.SeedGenerator(3), "SeedGenerator: seed has no effect in Pando"),
    (lambda: tf.config.run_functions_eagerly(True),
     "run_functions_eagerly: run_eagerly has no effect in Pando, which compiles whole steps"),
    (lambda: tf.data.Dataset.range(3).cache("file"),
     "Dataset.cache: filename has no effect in Pando, which keeps the elements in memory"),
    (lambda: v1.train.Saver(max_to_keep=2), "Saver: max_to_keep has no effect in Pando, which deletes no files")])
def test_what_is_told_of_once(call, words, caplog):
    messages._told.clear()
    call()
    call()
    assert caplog.messages == [words]


def test_objects_keep_their_arguments_when_they_are_used_again():
    loss = keras.losses.CategoricalCrossentropy(from_logits=True)
    metric = keras.metrics.BinaryAccuracy(threshold=0.9)
    stopping = keras.callbacks.EarlyStopping(monitor="loss", patience=0, min_delta=100.0)
    for _ in range(2):
        # -log of the share of the second of exp(0) and exp(2).
        assert loss(np.array([[0.0, 1.0]]), COLUMNS).numpy() == pytest.approx(np.log(1 + np.exp(-2.0)))
        metric.reset_state()
        metric.update_state(np.array([[1.0]]), np.array([[0.8]], "float32"))
        assert metric.result().numpy() == 0
        model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse", metrics=[metric])
        history = model.fit(ONES, ONES[:, :1], epochs=5, verbose=0, callbacks=[stopping])
        assert len(history.epoch) == 2


def test_callbacks_of_evaluate_and_predict_are_called():
    class Notes(keras.callbacks.Callback):
        seen = ()

        def on_test_begin(self, logs=None):
            self.seen += ("test begins",)

        def on_test_end(self, logs=None):
            self.seen += ("test ends", sorted(logs))

        def on_predict_end(self, logs=None):
            self.seen += ("predicted",)
    notes = Notes()
    evaluated(notes)
    notes.model.predict(ONES, callbacks=[notes])
    assert notes.seen == ("test begins", "test ends", ["loss"], "predicted")


@pytest.mark.parametrize("given, words", [
    ({"output_types": "float32", "output_shapes": (2,)},
     "from_generator: an element has the shape (3,), but output_shapes says (2,)"),
    ({"output_signature": tf.TensorSpec((None, 3))},
     "from_generator: an element has the shape (3,), but output_signature says (None, 3)")])
def test_elements_of_a_generator_have_the_shape_that_was_given(given, words):
    with pytest.raises(ValueError) as raised:
        list(tf.data.Dataset.from_generator(lambda: iter([np.ones(3)]), **given))
    assert words in str(raised.value)
    both = tf.data.Dataset.from_generator(lambda: iter([(1.0, np.ones(3))]), ("int32", "float32"), ((), (None,)))
    assert [value.shape for value in next(iter(both))] == [(), (3,)]


def test_a_seed_of_a_call_gives_the_same_numbers_again():
    def drawn(seed):
        tf.random.set_seed(5)
        return [tf.random.normal((3,), seed=seed).numpy().tolist() for _ in range(2)]
    assert drawn(1) == drawn(1) and drawn(1) != drawn(2) and drawn(1)[0] != drawn(1)[1]
    assert tf.random.normal((2,), dtype=tf.float64).dtype == "float64"


def test_labels_of_sigmoid_losses_are_smoothed():
    plain = v1.losses.sigmoid_cross_entropy(np.array([[0.9, 0.1]], "float32"), COLUMNS)
    smoothed = v1.losses.sigmoid_cross_entropy(np.array([[1.0, 0.0]], "float32"), COLUMNS, label_smoothing=0.2)
    assert smoothed.numpy() == pytest.approx(plain.numpy())


def test_a_global_step_counts_updates():
    from pando import ipu
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    v1.reset_default_graph()

    def update(x):
        weight = v1.get_variable("weight", initializer=np.ones(3, "float32"))
        step = v1.get_variable("step", initializer=np.int32(0), trainable=False)
        return v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(x * weight), global_step=step)
    x = v1.placeholder("float32", (3,))
    with ipu.scopes.ipu_scope("/device:IPU:0"):
        updates = ipu.ipu_compiler.compile(update, [x])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for _ in range(4):
            session.run(updates, {x: np.ones(3)})
        assert session.run(v1.global_variables()[1]) == 4
        saver = v1.train.Saver(v1.global_variables())
        with pytest.raises(NotImplementedError, match="Saver: var_list without some of the variables is not in Pando"):
            v1.train.Saver([v1.global_variables()[0]])
        assert saver is not None


def test_weights_are_found_by_their_names_alone_if_that_is_wanted(tmp_path):
    one, other = (keras.Sequential([keras.layers.Dense(2, input_shape=(3,))]) for _ in range(2))
    one.save_weights(tmp_path / "w.npz")
    other.load_weights(tmp_path / "w.npz")
    assert np.array_equal(other.get_weights()[0], one.get_weights()[0])
    with pytest.raises(Exception, match="with by_name=True they are found by their names alone"):
        other.load_weights(tmp_path / "w.npz", by_name=True)


def test_the_text_of_a_model_takes_the_arguments_of_json():
    model = keras.Sequential([keras.layers.Dense(2, input_shape=(3,))])
    assert model.to_json(indent=2).startswith("{\n  ") and "\n" not in model.to_json()


def test_a_model_that_is_not_trainable_has_no_trainable_weights():
    assert keras.Sequential([keras.layers.Dense(2, input_shape=(3,))], trainable=False).trainable_weights == []
