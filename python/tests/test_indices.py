# SPDX-License-Identifier: Apache-2.0
"""Indices that a table has no row for, and targets that are not classes: an error, and no weight has changed."""
import numpy as np
import pytest

import pando.tf as tf
from pando import Error, keras
from pando.keras import layers

OUT_OF_RANGE = "gather 'words': index 7 is out of range for a table of 5 rows; indices must be 0 to 4"


@pytest.mark.parametrize("call", ["fit", "evaluate", "predict", "train_on_batch", "fit of a Dataset"])
def test_an_index_out_of_range_names_its_layer_and_changes_nothing(call):
    model = keras.Sequential([layers.Embedding(5, 2, input_length=2, name="words"), layers.Flatten(), layers.Dense(1)])
    model.compile("adam", "mse")
    x, y = np.array([[0, 1], [2, 3], [4, 7]]), np.ones((3, 1), np.float32)
    good = np.minimum(x, 4)
    model.fit(good, y, verbose=0)
    before = model.get_weights()
    calls = {"fit": lambda x: model.fit(x, y, batch_size=1, shuffle=False, verbose=0),
             "evaluate": lambda x: model.evaluate(x, y, batch_size=1, verbose=0),
             "predict": lambda x: model.predict(x, batch_size=1, verbose=0),
             "train_on_batch": lambda x: model.train_on_batch(x, y),
             "fit of a Dataset": lambda x: model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(3), verbose=0)}
    with pytest.raises(Error) as refused:
        calls[call](x)
    assert str(refused.value) == OUT_OF_RANGE
    for old, new in zip(before, model.get_weights()):
        np.testing.assert_array_equal(old, new)
    calls[call](good)
    assert np.isfinite(model.get_weights()[0]).all()


def test_an_index_that_a_model_computes_is_checked_too():
    class Next(keras.Model):
        def __init__(self):
            super().__init__()
            self.words = layers.Embedding(5, 2, name="words")

        def call(self, inputs):
            return self.words(inputs + 1)

    model = Next()
    assert model.predict(np.array([[0, 3]], np.int32), verbose=0).shape == (1, 2, 2)
    with pytest.raises(Error) as refused:
        model.predict(np.array([[0, 6]], np.int32), verbose=0)
    assert str(refused.value) == OUT_OF_RANGE
    assert np.isfinite(model.predict(np.array([[0, 3]], np.int32), verbose=0)).all()


def test_gather_refuses_an_index_out_of_range_eagerly_and_in_pipelines():
    table = tf.constant([[1.0], [2.0], [3.0]])
    message = "index 3 is out of range for a table of 3 rows; indices must be 0 to 2"
    for gathered in (tf.gather, tf.nn.embedding_lookup):
        with pytest.raises(IndexError, match=f"^gather: {message}$"):
            gathered(table, [0, 3])
    indices = tf.data.Dataset.from_tensor_slices(np.array([0, 2, 3], np.int32)).map(lambda i: tf.gather(table, i))
    found = iter(indices)
    assert next(found).numpy().tolist() == [1] and next(found).numpy().tolist() == [3]
    with pytest.raises((IndexError, Error), match=message):
        next(found)


def test_a_target_that_is_not_a_class_is_refused_eagerly_and_in_training():
    message = "target 3 is not one of 3 classes; targets must be 0 to 2"
    logits = tf.constant([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 0], logits=logits).numpy()
    np.testing.assert_allclose(loss, np.log1p(np.exp(-1) + np.exp(-2)), rtol=1e-6)
    with pytest.raises(IndexError, match=f"^sparse_softmax_cross_entropy: {message}$"):
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3], logits=logits)

    def own(y_true, y_pred):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.squeeze(y_true, -1), logits=y_pred)
    model = keras.Sequential([keras.Input((2,)), layers.Dense(3)])
    model.compile("sgd", own)
    before = model.get_weights()
    with pytest.raises(Error, match=f"^sparse_softmax_cross_entropy 'loss': {message}$"):
        model.fit(np.ones((2, 2)), np.array([0, 3]), verbose=0)
    for old, new in zip(before, model.get_weights()):
        np.testing.assert_array_equal(old, new)
