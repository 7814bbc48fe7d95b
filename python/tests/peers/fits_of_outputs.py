# SPDX-License-Identifier: Apache-2.0
"""Training with several inputs and outputs, single batches, and the names of metrics."""
import numpy as np

from fit_table import BATCH, FIT, SAMPLES, classification, program, regression, trained
from objects import integers, normal, uniform


def _two_outputs(keras, prepare, **compiled):
    layers = [keras.layers.Dense(3, activation="tanh"), keras.layers.Dense(1, name="first"),
              keras.layers.Dense(3, activation="softmax", name="second")]
    inputs = [keras.Input((4,), name="left"), keras.Input((2,), name="right")]
    joined = keras.layers.Concatenate()([layers[0](inputs[0]), inputs[1]])
    model = keras.Model(inputs, [layers[1](joined), layers[2](joined)])
    prepare(*layers)
    model.compile(**{"optimizer": keras.optimizers.SGD(0.1), "loss": ["mse", "sparse_categorical_crossentropy"], **compiled})
    data = [normal(1, SAMPLES, 4), normal(2, SAMPLES, 2)], [normal(3, SAMPLES, 1), integers(4, 3, SAMPLES)]
    return model, *data


@program
def two_inputs_and_outputs(keras, prepare):
    model, x, y = _two_outputs(keras, prepare, loss_weights=[0.5, 2.0])
    history = model.fit(x, y, epochs=3, **FIT)
    return {**trained(model), "losses": history.history["loss"],
            **{f"predicted {n}": p for n, p in enumerate(model.predict(x, batch_size=7, verbose=0))}}


@program
def names_of_losses_of_several_outputs(keras, prepare):
    model, x, y = _two_outputs(keras, prepare)
    history = model.fit(x, y, epochs=2, validation_data=(x, y), **FIT)
    return trained(model, history)


@program
def dicts_of_inputs_and_outputs(keras, prepare):
    model, x, y = _two_outputs(keras, prepare, loss={"first": "mse", "second": "sparse_categorical_crossentropy"},
                               loss_weights={"first": 0.5, "second": 2.0})
    history = model.fit({"right": x[1], "left": x[0]}, {"second": y[1], "first": y[0]}, epochs=2, **FIT)
    return {**trained(model), "losses": history.history["loss"]}


@program
def metrics_of_each_output(keras, prepare):
    model, x, y = _two_outputs(keras, prepare, metrics={"first": ["mae"], "second": ["accuracy"]},
                               loss={"first": "mse", "second": "sparse_categorical_crossentropy"})
    logs = model.evaluate(x, y, batch_size=BATCH, verbose=0, return_dict=True)
    return {"names": sorted(logs), **{f"evaluated {name}": value for name, value in logs.items()}}


@program
def sample_weights_of_several_outputs(keras, prepare):
    model, x, y = _two_outputs(keras, prepare)
    weights = uniform(5, SAMPLES)
    return {**trained(model), "losses": model.fit(x, y, epochs=2, sample_weight=weights, **FIT).history["loss"]}


@program
def one_loss_object_for_two_models(keras, prepare):
    loss = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    metric = keras.metrics.BinaryAccuracy(threshold=0.3)
    result = {}
    for number in range(2):
        layer = keras.layers.Dense(3)
        inputs = keras.Input((4,))
        model = keras.Model(inputs, layer(inputs))
        prepare(layer)
        model.compile(keras.optimizers.SGD(0.1), loss, metrics=[metric])
        y = np.eye(3, dtype=np.float32)[integers(2, 3, SAMPLES)]
        history = model.fit(normal(1, SAMPLES, 4), y, epochs=2, **FIT)
        result.update({f"{key} of {number}": value for key, value in trained(model, history).items()})
    return result


@program
def single_batches(keras, prepare):
    model, x, y = regression(keras, prepare, metrics=["mae"])
    values = [np.asarray(model.train_on_batch(x[:8], y[:8]), np.float64)]
    values.append(np.asarray(model.test_on_batch(x[:5], y[:5]), np.float64))
    return trained(model, values=np.stack(values), predicted=model.predict_on_batch(x[:3]))


@program
def single_batches_with_weights(keras, prepare):
    model, x, y = regression(keras, prepare)
    loss = model.train_on_batch(x[:8], y[:8], sample_weight=uniform(3, 8))
    return trained(model, loss=np.asarray(loss, np.float64).reshape(-1)[0])


@program
def single_batches_with_class_weights(keras, prepare):
    model, x, y = classification(keras, prepare)
    model.train_on_batch(x, y, class_weight={0: 0.2, 1: 3.0, 2: 1.0})
    return trained(model)


@program
def names_of_metrics(keras, prepare):
    model, x, y = classification(keras, prepare, metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2)])
    logs = model.evaluate(x, y, verbose=0, return_dict=True)
    values = model.evaluate(x, y, verbose=0)
    return {"names": sorted(logs), "values": [logs[name] for name in sorted(logs)], "listed": sorted(values)}


@program
def accuracy_is_chosen_by_the_shapes(keras, prepare):
    result = {}
    for name, classes, loss in (("numbers", 3, "sparse_categorical_crossentropy"), ("one hot", 3, "categorical_crossentropy"),
                                ("yes or no", 1, "binary_crossentropy")):
        inputs = keras.Input((classes,))
        model = keras.Model(inputs, keras.layers.Activation("sigmoid")(inputs))
        model.compile("sgd", loss, metrics=["accuracy", "acc"][:1])
        y = integers(2, max(classes, 2), SAMPLES)
        targets = np.eye(3, dtype=np.float32)[y] if name == "one hot" else y
        result[name] = model.evaluate(normal(1, SAMPLES, classes), targets, verbose=0)[1]
    return result
