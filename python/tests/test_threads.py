# SPDX-License-Identifier: Apache-2.0
"""Python threads and Pando's own: models, sessions, loaders and data sets used by several at once, with Python functions
among them. The thread sanitizer runs this file, too."""
import threading

import numpy as np
import pytest

import pando.tf as tf
import pando.tf.compat.v1 as tf1
from in_threads import in_threads
from pando import ipu, keras

X = np.random.default_rng(1).random((64, 4)).astype("float32")
Y = (X.sum(1, keepdims=True) > 2).astype("float32")
pytestmark = pytest.mark.usefixtures("eager_switching")


def make_model():
    model = keras.Sequential([keras.layers.Dense(8, activation="relu", input_shape=(4,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    return model


def test_models_train_at_once_with_python_callbacks():
    class Counter(keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.batches = self.epochs = 0

        def on_train_batch_end(self, batch, logs=None):
            self.batches += 1

        def on_epoch_end(self, epoch, logs=None):
            self.epochs += 1
            self.model.predict(X[:2], verbose=0)

    def work(_):
        counter = Counter()
        make_model().fit(X, Y, batch_size=16, epochs=3, verbose=0, callbacks=[counter])
        return counter.batches, counter.epochs
    assert in_threads(3, work) == [(12, 3)] * 3


def test_a_model_is_used_while_it_trains():
    model = make_model()

    def work(i):
        if i == 0:
            return len(model.fit(X, Y, batch_size=8, epochs=5, verbose=0).history["loss"])
        return [model.predict(X[:8], verbose=0).shape for _ in range(5)][-1]
    assert in_threads(3, work) == [5, (8, 1), (8, 1)]


def test_data_sets_with_python_functions_feed_several_models():
    calls = []

    def look(x, y):
        calls.append(1)
        return (x * 2 if float(tf.reduce_sum(x)) > 0 else x), y
    data = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(64, seed=1).batch(16)
    data = data.map(look).map(lambda x, y: (x + 0.0, y), num_parallel_calls=2).prefetch(2)
    losses = in_threads(3, lambda _: make_model().fit(data, epochs=2, verbose=0).history["loss"])
    assert all(len(loss) == 2 for loss in losses) and len(calls) >= 3 * 2 * 4


def test_a_generator_feeds_a_model_while_other_threads_run_python():
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            sum(range(100))
    other = threading.Thread(target=spin)
    other.start()
    try:
        def batches():
            for i in range(0, 64, 16):
                yield X[i:i + 16], Y[i:i + 16]
        data = tf.data.Dataset.from_generator(batches, output_signature=(
            tf.TensorSpec((16, 4), tf.float32), tf.TensorSpec((16, 1), tf.float32)))
        assert len(make_model().fit(data, epochs=3, verbose=0).history["loss"]) == 3
    finally:
        stop.set()
        other.join()


def test_one_session_runs_in_several_threads():
    tf1.reset_default_graph()
    ipu.utils.configure_ipu_system(ipu.utils.auto_select_ipus(ipu.utils.create_ipu_config(), 1))
    fed = tf1.placeholder(tf1.float32, (3,))
    doubled = fed * 2.0
    with tf1.Session() as session:
        results = in_threads(3, lambda i: [session.run(doubled, {fed: np.full(3, i, "float32")}).tolist()
                                           for _ in range(20)][-1])
    assert results == [[2.0 * i] * 3 for i in range(3)]


def test_arrays_die_on_the_threads_of_the_library():
    def work(_):
        for _ in range(5):
            x, y = X.copy(), Y.copy()
            data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8).prefetch(4)
            del x, y
            make_model().fit(data, verbose=0)
        return True
    assert in_threads(2, work) == [True, True]


def test_a_model_is_asked_while_a_callback_of_its_training_is_python():
    """A call that waits for its turn leaves Python to the callback that it waits for."""
    begun = threading.Event()

    class Slow(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            begun.set()
            sum(range(1000))
    model = make_model()

    def work(i):
        if i == 0:
            model.fit(X, Y, batch_size=4, epochs=5, verbose=0, callbacks=[Slow()])
        else:
            begun.wait()
            model.set_gradient_accumulation_options(gradient_accumulation_steps_per_replica=2)
            model.set_pipelining_options(gradient_accumulation_steps_per_replica=2)
            model.compile(optimizer="sgd", loss="mse")
        return model.summary(print_fn=lambda _: None)
    assert in_threads(2, work) == [None, None]
