# SPDX-License-Identifier: Apache-2.0
"""Training as users write it: each function is a program that runs with either module keras.

A program returns arrays by name. Its second argument is a function that gives layers their weights: those that Keras drew.
"""
import numpy as np

from layer_programs import draw, give
from objects import integers, normal

PROGRAMS = {}
# 37 samples in batches of 8: the last one is not full.
SAMPLES, BATCH = 37, 8
FIT = {"batch_size": BATCH, "shuffle": False, "verbose": 0}


def program(function):
    PROGRAMS[function.__name__.replace("_", " ")] = function
    return function


def run(keras, case, weights):
    """A program of this table; what it was given for weights is part of the answer."""
    given = {}

    def prepare(*layers):
        give(layers, weights or draw(layers))
        given.update({f"weight {name}": value for name, value in (weights or draw(layers)).items()})

    result = PROGRAMS[case["about"]](keras, prepare)
    return {**given, **result}


def cases():
    """A case for each program."""
    return [{"name": f"fit: {name}", "about": name, "program": "fits", "argument": None, "arguments": {}}
            for name in PROGRAMS]


def regression(keras, prepare, **compiled):
    """A model of two layers, compiled, with its data."""
    layers = [keras.layers.Dense(5, activation="tanh"), keras.layers.Dense(1)]
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers[1](layers[0](inputs)))
    prepare(*layers)
    model.compile(**{"optimizer": keras.optimizers.SGD(0.1), "loss": "mse", **compiled})
    return model, normal(1, SAMPLES, 4), normal(2, SAMPLES, 1)


def classification(keras, prepare, classes=3, loss="sparse_categorical_crossentropy", **compiled):
    """The same for classes, whose numbers are the targets."""
    layers = [keras.layers.Dense(5, activation="tanh"), keras.layers.Dense(classes, activation="softmax")]
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers[1](layers[0](inputs)))
    prepare(*layers)
    model.compile(keras.optimizers.SGD(0.1), loss, **compiled)
    return model, normal(1, SAMPLES, 4), integers(2, classes, SAMPLES)


def trained(model, history=None, **more):
    """What training left: the curves and the weights."""
    result = {f"trained {number}": np.array(value) for number, value in enumerate(model.get_weights())}
    for name, values in (history.history if history is not None else {}).items():
        result[f"history {name}"] = np.asarray(values)
    return {**result, **more}


def of_evaluation(model, x, y, **arguments):
    logs = model.evaluate(x, y, verbose=0, return_dict=True, **arguments)
    return {f"evaluated {name}": value for name, value in logs.items()}
