# SPDX-License-Identifier: Apache-2.0
"""Training of layers with state, of layers that are shared or frozen, and settings that change."""
import numpy as np

from fit_table import FIT, SAMPLES, program, regression, trained
from objects import integers, normal, numbers


@program
def batch_normalization_with_odd_last_batches(keras, prepare):
    layers = [keras.layers.Dense(5), keras.layers.BatchNormalization(momentum=0.8), keras.layers.Dense(1)]
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers[2](layers[1](layers[0](inputs))))
    prepare(*layers)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    x, y = normal(1, SAMPLES, 4), normal(2, SAMPLES, 1)
    return trained(model, model.fit(x, y, epochs=3, validation_data=(x, y), **FIT))


@program
def batch_normalization_called_twice(keras, prepare):
    layers = [keras.layers.Dense(3), keras.layers.BatchNormalization(momentum=0.8)]
    inputs = [keras.Input((4,)), keras.Input((4,))]
    first, second = [layers[1](layers[0](tensor)) for tensor in inputs]
    model = keras.Model(inputs, keras.layers.Subtract()([first, second]))
    prepare(*layers)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    x = [normal(1, SAMPLES, 4), normal(2, SAMPLES, 4)]
    return trained(model, model.fit(x, normal(3, SAMPLES, 3), epochs=2, **FIT))


@program
def frozen_batch_normalization(keras, prepare):
    layers = [keras.layers.Dense(5), keras.layers.BatchNormalization()]
    layers[1].trainable = False
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers[1](layers[0](inputs)))
    prepare(*layers)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return trained(model, model.fit(normal(1, SAMPLES, 4), normal(2, SAMPLES, 5), epochs=2, **FIT))


@program
def one_layer_twice(keras, prepare):
    layer = keras.layers.Dense(4, activation="tanh")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layer(layer(inputs)))
    prepare(layer)
    model.compile(keras.optimizers.Adam(0.05), "mse")
    return trained(model, model.fit(normal(1, SAMPLES, 4), normal(2, SAMPLES, 4), epochs=2, **FIT))


@program
def a_model_within_a_model(keras, prepare):
    layers = [keras.layers.Dense(4, activation="relu"), keras.layers.Dense(2)]
    inner = keras.Sequential([keras.Input((4,)), layers[0]])
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers[1](inner(inputs)))
    prepare(*layers)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return trained(model, model.fit(normal(1, SAMPLES, 4), normal(2, SAMPLES, 2), epochs=2, **FIT))


@program
def a_frozen_layer(keras, prepare):
    layers = [keras.layers.Dense(4), keras.layers.Dense(2)]
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers[1](layers[0](inputs)))
    prepare(*layers)
    layers[0].trainable = False
    model.compile(keras.optimizers.SGD(0.1), "mse")
    x, y = normal(1, SAMPLES, 4), normal(2, SAMPLES, 2)
    result = trained(model, model.fit(x, y, epochs=2, **FIT))
    layers[0].trainable = True
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return {**result, **{f"thawed {n}": w for n, w in trained(model, model.fit(x, y, epochs=2, **FIT)).items()}}


@program
def callable_learning_rates(keras, prepare):
    rates = [0.1]
    model, x, y = regression(keras, prepare, optimizer=keras.optimizers.SGD(lambda: rates[0]))
    first = trained(model, model.fit(x, y, **FIT))
    rates[0] = 0.01
    return {**first, **{f"later {n}": w for n, w in trained(model, model.fit(x, y, **FIT)).items()}}


@program
def a_learning_rate_that_is_set(keras, prepare):
    model, x, y = regression(keras, prepare)
    model.fit(x, y, **FIT)
    model.optimizer.learning_rate = 0.01
    history = model.fit(x, y, **FIT)
    return trained(model, history, rate=float(numbers(model.optimizer.learning_rate)),
                   config=float(model.optimizer.get_config()["learning_rate"]))


@program
def a_clone_by_a_function(keras, prepare):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="one"), keras.layers.Dense(2, name="two")])

    def wider(layer):
        return keras.layers.Dense(7, name="one") if layer.name == "one" else type(layer).from_config(layer.get_config())
    clone = keras.models.clone_model(model, clone_function=wider)
    return {f"shape {n}": np.asarray(w.shape) for n, w in enumerate(clone.get_weights())}


@program
def an_index_out_of_range(keras, prepare):
    layer = keras.layers.Embedding(5, 3)
    inputs = keras.Input((2,), dtype="int32")
    model = keras.Model(inputs, keras.layers.Flatten()(layer(inputs)))
    prepare(layer)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(np.full((8, 2), 5, np.int32), normal(1, 8, 6), **FIT)
    return {}


@program
def bytes_of_images(keras, prepare):
    layers = [keras.layers.Conv2D(3, 3), keras.layers.Dense(2)]
    inputs = keras.Input((6, 6, 1), dtype="uint8")
    hidden = layers[0](keras.layers.Rescaling(1 / 255)(inputs))
    model = keras.Model(inputs, layers[1](keras.layers.Flatten()(hidden)))
    prepare(*layers)
    model.compile(keras.optimizers.SGD(0.001), "mse")
    x = integers(1, 256, SAMPLES, 6, 6, 1).astype(np.uint8)
    return trained(model, model.fit(x, normal(2, SAMPLES, 2), epochs=2, **FIT))


@program
def saving_over_what_is_there(keras, prepare):
    model, x, _ = regression(keras, prepare)
    path = "w.weights.h5" if keras.backend.backend() == "torch" else "w.safetensors"
    model.save_weights(path)
    model.save_weights(path, overwrite=False)
    return {}
