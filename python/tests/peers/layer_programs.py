# SPDX-License-Identifier: Apache-2.0
"""Layers: their outputs, their gradients as one training step, and ten steps of training."""
import numpy as np

from names import found
from objects import integers, made, made_by, normal, numbers

SAMPLES = 6
# How often a layer with random numbers sees the same sample.
DRAWS = 4000


def _samples(case, count):
    """One array for each input of the layer."""
    limit = case.get("integers")
    if limit:
        return [integers(1, limit, count, *shape) for shape in case["shapes"]]
    return [normal(number, count, *shape) for number, shape in enumerate(case["shapes"])]


def _apply(keras, case, inputs):
    """The layer, if the case is about a class, and what it makes of symbolic inputs."""
    given = inputs[0] if len(inputs) == 1 else inputs
    if case["is_class"]:
        layer = made_by(keras, case)
        return layer, layer(given)
    return None, found(keras, case["about"])(given, **made(keras, case["arguments"]))


def _model(keras, case):
    """A model whose inputs pass through a trained layer, so that gradients of inputs show, and then through the layer."""
    inputs, first = [], []
    for sample in _samples(case, 1):
        inputs.append(keras.Input(sample.shape[1:], dtype=str(sample.dtype)))
        if not case.get("integers"):
            first.append(keras.layers.Dense(sample.shape[-1]))
    hidden = [dense(tensor) for dense, tensor in zip(first, inputs)] if first else inputs
    layer, output = _apply(keras, case, hidden)
    return keras.Model(inputs, output), first + ([layer] if layer is not None else [])


def _names(layer):
    return [weight.path.rsplit("/", 1)[-1] for weight in layer.weights]


def _values(layers):
    """The weights of the layers, by the numbers of the layers and their own."""
    return {f"{number} {place}": np.array(value) for number, layer in enumerate(layers)
            for place, value in enumerate(layer.get_weights())}


def draw(layers):
    """Weights that hide no mistake: biases that are not 0, variances that are not 1."""
    drawn = {}
    for number, layer in enumerate(layers):
        for name, value in zip(_names(layer), layer.get_weights()):
            values = normal(100 + len(drawn), *value.shape) * 0.5
            drawn[f"{number} {name}"] = np.abs(values) + 0.5 if "variance" in name else values
    return drawn


def give(layers, weights):
    """Sets the weights by their names, or in their order if the names are others."""
    for number, layer in enumerate(layers):
        given = {key.split(" ", 1)[1]: value for key, value in weights.items() if key.startswith(f"{number} ")}
        names = _names(layer)
        layer.set_weights([given[name] for name in names] if set(names) == set(given) else list(given.values()))


def _constants(layers):
    """The first values of weights that no random number is part of."""
    return {f"first {name}": value for name, value in _values(layers).items()
            if value.size > 1 and np.ptp(value) == 0}


def run_layer(keras, case, weights):
    """Outputs, a training step, ten steps; for a layer that is random in training, what its outputs are like there."""
    model, layers = _model(keras, case)
    own = layers[-1:] if case["is_class"] else []
    result = {"weight names": np.asarray([name for layer in own for name in _names(layer)], dtype=str), **_constants(own)}
    weights = weights or draw(layers)
    give(layers, weights)
    result.update({f"weight {name}": value for name, value in weights.items()})
    samples = _samples(case, SAMPLES)
    given = samples[0] if len(samples) == 1 else samples
    result["output"] = output = model.predict(given, batch_size=4, verbose=0)
    if case.get("random"):
        return {**result, **_in_training(keras, case)}
    targets = normal(50, *output.shape)
    model.compile(keras.optimizers.SGD(0.05), "mse")
    result["training output"] = numbers(model(given, training=True))
    fit = {"batch_size": SAMPLES, "shuffle": False, "verbose": 0}
    result["first loss"] = model.fit(given, targets, **fit).history["loss"]
    result.update({f"stepped {name}": value for name, value in _values(layers).items()})
    result["losses"] = model.fit(given, targets, epochs=9, **fit).history["loss"]
    result.update({f"trained {name}": value for name, value in _values(layers).items()})
    result["loss"] = model.evaluate(given, targets, batch_size=4, verbose=0)
    return result


def _in_training(keras, case):
    """The mean and the deviation of each element over many draws for the same sample."""
    sample = _samples(case, 1)[0]
    inputs = keras.Input(sample.shape[1:])
    model = keras.Model(inputs, _apply(keras, case, [inputs])[1])
    outputs = numbers(model(np.repeat(sample, DRAWS, axis=0), training=True))
    # Each draws by itself.
    return {"about mean": outputs.mean(0), "about deviation": outputs.std(0),
            "draws are different": len(np.unique(outputs.reshape(DRAWS, -1).round(4), axis=0)) > 1}


def run_frozen(keras, case, weights):
    """A layer that is not trainable, and has a name that was given."""
    model, layers = _model(keras, {**case, "arguments": {**case["arguments"], "trainable": False, "name": "given"}})
    weights = weights or draw(layers)
    give(layers, weights)
    samples = _samples(case, SAMPLES)
    given = samples[0] if len(samples) == 1 else samples
    targets = normal(50, *model.predict(given, verbose=0).shape)
    model.compile(keras.optimizers.SGD(0.05), "mse")
    losses = model.fit(given, targets, batch_size=SAMPLES, epochs=3, shuffle=False, verbose=0).history["loss"]
    own = layers[-1]
    return {"name": own.name, "weight names": np.asarray(_names(own), dtype=str), "trainable": own.trainable,
            "count of trained weights": len(own.trainable_weights),
            "losses": [] if case.get("random") else losses, **{f"weight {name}": w for name, w in weights.items()},
            **{f"trained {name}": value for name, value in _values([own]).items()}}


PROGRAMS = {"layer": run_layer, "frozen": run_frozen}
