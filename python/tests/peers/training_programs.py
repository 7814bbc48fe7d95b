# SPDX-License-Identifier: Apache-2.0
"""Optimizers and callbacks, in training."""
import csv
import pathlib

import numpy as np

from layer_programs import draw, give
from objects import made_by, normal, numbers


def network(keras, weights, optimizer, **compiled):
    """Two layers whose weights were drawn or given; the model, its layers and the weights."""
    layers = [keras.layers.Dense(6, activation="tanh"), keras.layers.Dense(1)]
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers[1](layers[0](inputs)))
    weights = weights or draw(layers)
    give(layers, weights)
    model.compile(optimizer, "mse", **compiled)
    return model, layers, {f"weight {name}": value for name, value in weights.items()}


def run_optimizer(keras, case, weights):
    """The weights after one step and after ten, and what the optimizer says about itself."""
    optimizer = made_by(keras, case)
    model, layers, result = network(keras, weights, optimizer)
    x, y = normal(1, 20, 4), normal(2, 20, 1) * 3
    fit = {"batch_size": 8, "shuffle": False, "verbose": 0}
    model.fit(x[:8], y[:8], **fit)
    result.update({f"stepped {n}": np.array(w) for n, w in enumerate(model.get_weights())})
    result["losses"] = model.fit(x, y, epochs=3, **fit).history["loss"]
    result.update({f"trained {n}": np.array(w) for n, w in enumerate(model.get_weights())})
    result["iterations"] = int(numbers(optimizer.iterations))
    rate = optimizer.learning_rate
    result["rate"] = "a schedule" if callable(rate) else float(numbers(rate))
    config = optimizer.get_config()
    result.update({f"config {name}": float(config[name]) for name in ("learning_rate", "momentum", "beta_1", "rho", "epsilon")
                   if isinstance(config.get(name), (int, float))})
    return result


# A rate that makes the loss overflow.
_RATES = {"TerminateOnNaN": 1e18}


def run_callback(keras, case, weights):
    """Training with a callback: how long, what was recorded, the weights at the end, and the files."""
    rate = _RATES.get(case["about"].split(".")[1], 0.1)
    model, layers, result = network(keras, weights, keras.optimizers.SGD(rate), metrics=["mae"])
    x, y = normal(1, 20, 4), normal(2, 20, 1) * 2
    history = model.fit(x[:14], y[:14], validation_data=(x[14:], y[14:]), batch_size=4, epochs=12, shuffle=False, verbose=0,
                        callbacks=[made_by(keras, case)])
    for name, values in history.history.items():
        if name not in ("lr", "learning_rate"):
            result[f"history {name}"] = np.asarray(values)
    result["epochs"], result["names"] = history.epoch, sorted(history.history)
    if not np.isnan(history.history["loss"][-1]):
        result.update({f"trained {n}": np.array(w) for n, w in enumerate(model.get_weights())})
    result["rate"] = float(numbers(model.optimizer.learning_rate))
    return {**result, **_files(model)}


def _files(model):
    """Tables of numbers, and files of weights, which have another format in Pando."""
    result = {}
    for path in sorted(pathlib.Path(".").iterdir()):
        if path.suffix in (".csv", ".log"):
            text = path.read_text()
            rows = list(csv.reader(text.splitlines(), delimiter=";" if ";" in text else ","))
            result[f"columns of {path.name}"] = rows[0]
            result[f"rows of {path.name}"] = np.asarray(rows[1:], dtype=np.float64)
        elif path.is_file():
            model.load_weights(str(path))
            stem = path.name.split(".")[0]
            result.update({f"file {stem} {n}": np.array(w) for n, w in enumerate(model.get_weights())})
    return result


PROGRAMS = {"optimizer": run_optimizer, "callback": run_callback}
