# SPDX-License-Identifier: Apache-2.0
"""A program in the style of Keras, for mypy."""
from __future__ import annotations

from typing import Any

import numpy as np

import pando.tf as tf
from pando import ipu, keras


class Net(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = keras.layers.Dense(8, activation=tf.nn.relu)
        self.dropout = keras.layers.Dropout(0.5)

    def call(self, inputs: tf.Tensor, training: bool | None = None) -> Any:
        return self.dropout(self.hidden(inputs), training=training)


class Report(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        print(epoch, logs)


config = ipu.config.IPUConfig()
config.auto_select_ipus = 1
config.configure_ipu_system()
(x_train, y_train), test = keras.datasets.mnist.load_data()
with ipu.ipu_strategy.IPUStrategy().scope():
    model = keras.Sequential([keras.layers.Flatten(input_shape=(28, 28)), keras.layers.Dense(10)], name="net")
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)
    model.compile(optimizer=keras.optimizers.Adam(learning_rate=rate), metrics=["accuracy"], steps_per_execution=10,
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(x_train, y_train, epochs=2, batch_size=64, validation_data=test,
                        callbacks=[keras.callbacks.EarlyStopping(patience=1), Report()])
    curve: list[float] = history.history["loss"]
    loss, accuracy = model.evaluate(x_train, y_train)
    best = np.argmax(model.predict(x_train), axis=-1)
    model.summary()
    weights: list[Any] = model.get_weights()
    inputs = keras.Input(shape=(4,))
    functional = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    count: int = functional.count_params()
    data = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(100).batch(32, drop_remainder=True)
    Net().fit(data.prefetch(tf.data.AUTOTUNE))
    total = tf.reduce_sum(tf.cast(tf.constant([1.0, 2.0]), tf.float32))
