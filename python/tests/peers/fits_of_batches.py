# SPDX-License-Identifier: Apache-2.0
"""Training with batches of all kinds, validation, and weights of samples and classes."""
import numpy as np

from fit_table import BATCH, FIT, SAMPLES, classification, of_evaluation, program, regression, trained
from objects import integers, normal, numbers, uniform


@program
def odd_last_batches(keras, prepare):
    model, x, y = regression(keras, prepare, metrics=["mae", keras.metrics.MeanSquaredError(name="squares")])
    history = model.fit(x, y, epochs=3, validation_data=(x[:11], y[:11]), **FIT)
    return trained(model, history, **of_evaluation(model, x, y, batch_size=7),
                   predicted=model.predict(x, batch_size=10, verbose=0))


@program
def validation_split(keras, prepare):
    model, x, y = regression(keras, prepare, metrics=["mae"])
    return trained(model, model.fit(x, y, epochs=3, validation_split=0.3, **FIT))


@program
def validation_with_weights(keras, prepare):
    model, x, y = regression(keras, prepare)
    data = (x[:13], y[:13], uniform(5, 13) + 0.5)
    return trained(model, model.fit(x, y, epochs=2, validation_data=data, **FIT))


@program
def validation_data_without_targets(keras, prepare):
    model, x, y = regression(keras, prepare)
    model.fit(x, y, validation_data=x[:8], **FIT)
    return {}


@program
def sample_weights(keras, prepare):
    model, x, y = regression(keras, prepare, metrics=["mae"])
    weights = uniform(3, SAMPLES) * 2
    return trained(model, model.fit(x, y, epochs=3, sample_weight=weights, **FIT),
                   **of_evaluation(model, x, y, sample_weight=weights, batch_size=5))


@program
def sample_weights_of_zero(keras, prepare):
    model, x, y = regression(keras, prepare)
    weights = np.where(np.arange(SAMPLES) % 3 == 0, 0.0, 1.5).astype(np.float32)
    return trained(model, model.fit(x, y, epochs=3, sample_weight=weights, **FIT),
                   **of_evaluation(model, x, y, sample_weight=weights, batch_size=5))


@program
def weights_of_zero_in_metrics(keras, prepare):
    weights = np.where(np.arange(SAMPLES) % 3 == 0, 0.0, 1.5).astype(np.float32)
    model, x, y = regression(keras, prepare, metrics=["mae"])
    return of_evaluation(model, x, y, sample_weight=weights, batch_size=5)


@program
def a_batch_whose_weights_are_all_zero(keras, prepare):
    model, x, y = regression(keras, prepare)
    weights = np.ones(SAMPLES, np.float32)
    weights[BATCH:2 * BATCH] = 0
    return trained(model, model.fit(x, y, epochs=2, sample_weight=weights, **FIT))


@program
def class_weights(keras, prepare):
    model, x, y = classification(keras, prepare, metrics=["accuracy"])
    return trained(model, model.fit(x, y, epochs=3, class_weight={0: 0.5, 1: 2.0, 2: 1.0}, **FIT))


@program
def class_weights_that_leave_a_class_out(keras, prepare):
    model, x, y = classification(keras, prepare)
    return trained(model, model.fit(x, y, epochs=3, class_weight={0: 0.5, 2: 3.0}, **FIT))


@program
def class_weights_of_zero(keras, prepare):
    model, x, y = classification(keras, prepare)
    return trained(model, model.fit(x, y, epochs=3, class_weight={0: 0.0, 1: 2.0, 2: 1.0}, **FIT))


@program
def class_weights_of_one_hot_targets(keras, prepare):
    model, x, y = classification(keras, prepare, loss="categorical_crossentropy")
    targets = np.eye(3, dtype=np.float32)[y]
    return trained(model, model.fit(x, targets, epochs=3, class_weight={0: 0.5, 1: 2.0, 2: 1.0}, **FIT))


@program
def class_weights_of_yes_or_no(keras, prepare):
    layer = keras.layers.Dense(1, activation="sigmoid")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layer(inputs))
    prepare(layer)
    model.compile(keras.optimizers.SGD(0.1), "binary_crossentropy", metrics=["accuracy"])
    x, y = normal(1, SAMPLES, 4), integers(2, 2, SAMPLES).astype(np.float32)
    return trained(model, model.fit(x, y, epochs=3, class_weight={0: 0.25, 1: 2.0}, **FIT))


@program
def class_weights_and_validation(keras, prepare):
    model, x, y = classification(keras, prepare)
    return trained(model, model.fit(x, y, epochs=2, class_weight={0: 0.5, 1: 2.0, 2: 1.0}, validation_data=(x, y), **FIT))


@program
def class_weights_and_sample_weights(keras, prepare):
    model, x, y = classification(keras, prepare)
    weights = {"class_weight": {0: 0.5, 1: 2.0, 2: 1.0}, "sample_weight": uniform(3, SAMPLES)}
    return trained(model, model.fit(x, y, epochs=2, **weights, **FIT))


@program
def weighted_metrics(keras, prepare):
    model, x, y = regression(keras, prepare, weighted_metrics=["mae"])
    return of_evaluation(model, x, y, sample_weight=uniform(3, SAMPLES))


@program
def validation_freq(keras, prepare):
    model, x, y = regression(keras, prepare)
    return trained(model, model.fit(x, y, epochs=4, validation_data=(x, y), validation_freq=2, **FIT))


@program
def validation_batch_size(keras, prepare):
    model, x, y = regression(keras, prepare)
    return trained(model, model.fit(x, y, epochs=2, validation_data=(x, y), validation_batch_size=5, **FIT))


@program
def initial_epoch(keras, prepare):
    model, x, y = regression(keras, prepare)
    history = model.fit(x, y, initial_epoch=2, epochs=5, **FIT)
    return trained(model, history, epochs=history.epoch)


@program
def fit_twice(keras, prepare):
    model, x, y = regression(keras, prepare, optimizer=keras.optimizers.Adam(0.02))
    model.fit(x, y, epochs=2, **FIT)
    return trained(model, model.fit(x, y, epochs=2, **FIT), iterations=int(numbers(model.optimizer.iterations)))


@program
def every_sample_once(keras, prepare):
    class Sum(keras.layers.Layer):
        def call(self, inputs):
            return inputs * 1.0

    inputs = keras.Input((1,))
    model = keras.Model(inputs, Sum()(inputs))
    model.compile("sgd", "mse")
    x = normal(1, SAMPLES, 1)
    history = model.fit(x, np.zeros_like(x), batch_size=BATCH, epochs=3, shuffle=True, verbose=0)
    return {"losses": history.history["loss"]}


@program
def generators(keras, prepare):
    def batches():
        while True:
            for start in range(0, 32, BATCH):
                yield x[start:start + BATCH], y[start:start + BATCH]
    model, x, y = regression(keras, prepare)
    history = model.fit(batches(), steps_per_epoch=3, epochs=3, validation_data=batches(), validation_steps=2, verbose=0)
    return trained(model, history)


@program
def generators_with_weights(keras, prepare):
    def batches():
        while True:
            for start in range(0, 32, BATCH):
                yield x[start:start + BATCH], y[start:start + BATCH], weights[start:start + BATCH]
    model, x, y = regression(keras, prepare)
    weights = uniform(3, SAMPLES)
    return trained(model, model.fit(batches(), steps_per_epoch=4, epochs=2, verbose=0))


@program
def numbered_batches(keras, prepare):
    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return x[index * BATCH:(index + 1) * BATCH], y[index * BATCH:(index + 1) * BATCH]
    model, x, y = regression(keras, prepare)
    history = model.fit(Batches(), epochs=2, shuffle=False, verbose=0)
    return trained(model, history, predicted=model.predict(Batches(), verbose=0))


@program
def flat_targets(keras, prepare):
    model, x, y = regression(keras, prepare, metrics=["mae"])
    return trained(model, model.fit(x, y[:, 0], epochs=2, **FIT))


@program
def larger_batches_than_samples(keras, prepare):
    model, x, y = regression(keras, prepare)
    return trained(model, model.fit(x, y, batch_size=100, epochs=2, shuffle=False, verbose=0))


@program
def steps_of_executions(keras, prepare):
    # Keras refuses other numbers than 1 on its torch backend; they change no result.
    steps = 1 if keras.backend.backend() == "torch" else 3
    model, x, y = regression(keras, prepare, steps_per_execution=steps, metrics=["mae"])
    return trained(model, model.fit(x, y, epochs=3, validation_data=(x, y), **FIT), batch=BATCH)
