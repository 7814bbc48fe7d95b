# SPDX-License-Identifier: Apache-2.0
"""The parts of training: losses, metrics, activations, initializers, schedules and regularizers."""
import numpy as np

from layer_programs import draw, give
from names import found
from objects import integers, made, made_by, normal, numbers, uniform

ROWS, CLASSES = 8, 6


def _shares(seed, *shape):
    """Probabilities that sum to 1 along the last axis."""
    values = np.exp(normal(seed, *shape))
    return values / values.sum(-1, keepdims=True)


def _one_hot(seed, *shape):
    return np.eye(shape[-1], dtype=np.float32)[integers(seed, shape[-1], *shape[:-1])]


# (targets, predictions) that a loss or metric is for; the numbers are seeds.
KINDS = {
    "numbers": lambda seed, *shape: (normal(seed, *shape), normal(seed + 1, *shape)),
    "classes": lambda seed, *shape: (_one_hot(seed, *shape), _shares(seed + 1, *shape)),
    "class numbers": lambda seed, *shape: (integers(seed, shape[-1], *shape[:-1]), _shares(seed + 1, *shape)),
    "shares": lambda seed, *shape: (_shares(seed, *shape), _shares(seed + 1, *shape)),
    "yes or no": lambda seed, *shape: (integers(seed, 2, *shape).astype(np.float32), uniform(seed + 1, *shape)),
    "signs": lambda seed, *shape: (integers(seed, 2, *shape) * 2.0 - 1.0, normal(seed + 1, *shape)),
    "counts": lambda seed, *shape: (integers(seed, 5, *shape).astype(np.float32), uniform(seed + 1, *shape) + 0.1),
    "equal numbers": lambda seed, *shape: (integers(seed, 2, *shape).astype(np.float32),
                                           integers(seed + 1, 2, *shape).astype(np.float32)),
}
# What the last layer of a model makes predictions of such a kind with.
_ENDS = {"classes": "softmax", "class numbers": "softmax", "shares": "softmax", "yes or no": "sigmoid",
         "counts": "softplus"}


def _data(case, seed=1, rows=ROWS):
    targets, predictions = KINDS[case["kind"]](seed, rows, *case.get("shape", [CLASSES]))
    if case["arguments"].get("from_logits"):
        predictions = normal(seed + 1, *predictions.shape) * (100 if case.get("edges") else 1)
    elif case.get("edges"):
        binary = case["kind"] == "yes or no"
        predictions = np.round(predictions) if binary else np.eye(CLASSES, dtype=np.float32)[predictions.argmax(-1)]
    return np.float32(targets) if targets.dtype == np.float64 else targets, predictions


def run_loss(keras, case, weights):
    """The loss of arrays, with and without weights of samples, and training with it."""
    loss, (targets, predictions) = made_by(keras, case), _data(case)
    sample_weight = uniform(3, ROWS) + 0.5
    result = {"value": numbers(loss(targets, predictions)), "name": loss.name}
    if len(predictions.shape) == 2:
        result["weighted"] = numbers(loss(targets, predictions, sample_weight=sample_weight))
    if loss.reduction in (None, "none"):
        return result
    if case.get("edges"):
        return {**result, **_gradient(keras, case, targets, predictions)}
    features = normal(4, ROWS, *predictions.shape[1:-1], 4)
    end = None if case["arguments"].get("from_logits") else _ENDS.get(case["kind"])
    inputs = keras.Input(features.shape[1:])
    dense = keras.layers.Dense(predictions.shape[-1], activation=end)
    model = keras.Model(inputs, dense(inputs))
    weights = weights or draw([dense])
    give([dense], weights)
    model.compile(keras.optimizers.SGD(0.1), made_by(keras, case))
    result.update({f"weight {name}": value for name, value in weights.items()})
    fit = {"batch_size": ROWS, "shuffle": False, "verbose": 0,
           "sample_weight": sample_weight if len(predictions.shape) == 2 else None}
    result["first loss"] = model.fit(features, targets, **fit).history["loss"]
    result["stepped"] = np.array(dense.get_weights()[0])
    result["losses"] = model.fit(features, targets, epochs=9, **fit).history["loss"]
    result["trained"] = np.array(dense.get_weights()[0])
    result["loss"] = model.evaluate(features, targets, batch_size=3, verbose=0)
    return result


def _gradient(keras, case, targets, predictions):
    """A training step of a model that gives just these predictions."""
    inputs = keras.Input(predictions.shape[1:])
    dense = keras.layers.Dense(predictions.shape[-1])
    model = keras.Model(inputs, dense(inputs))
    dense.set_weights([np.eye(predictions.shape[-1], dtype=np.float32), np.zeros(predictions.shape[-1], np.float32)])
    model.compile(keras.optimizers.SGD(0.1), made_by(keras, case))
    losses = model.fit(predictions, targets, batch_size=ROWS, shuffle=False, verbose=0).history["loss"]
    return {"losses": losses, "stepped": np.array(dense.get_weights()[0]), "stepped bias": np.array(dense.get_weights()[1])}


def run_function(keras, case, weights):
    """A function of targets and predictions."""
    function, (targets, predictions) = found(keras, case["about"]), _data(case)
    return {"values": numbers(function(targets, predictions, **made(keras, case["arguments"])))}


def run_metric(keras, case, weights):
    """A metric over two batches, after a reset, with weights, and in a model."""
    metric = made_by(keras, case)
    batches = [_data(case, 1, ROWS), _data(case, 21, 5)]
    means = case["about"] == "metrics.Mean"
    result = {"name": metric.name}
    for targets, predictions in batches:
        metric.update_state(*([predictions] if means else [targets, predictions]))
    result["value"] = numbers(metric.result())
    metric.reset_state()
    targets, predictions = batches[0]
    if len(case.get("shape", [CLASSES])) == 1:
        metric.update_state(*([predictions[:, 0]] if means else [targets, predictions]), sample_weight=uniform(3, ROWS))
        result["weighted"] = numbers(metric.result())
    if not means and case["about"] != "metrics.Accuracy":
        result.update(_in_model(keras, case))
    return result


def _in_model(keras, case):
    """The metric over all batches of evaluate, the last of which is not full."""
    targets, predictions = _data(case, 1, 13)
    inputs = keras.Input(predictions.shape[1:])
    model = keras.Model(inputs, keras.layers.Activation("linear")(inputs))
    model.compile("sgd", "mse" if case["kind"] != "class numbers" else "sparse_categorical_crossentropy",
                  metrics=[made_by(keras, case)])
    values = model.evaluate(predictions, targets, batch_size=4, verbose=0, return_dict=True)
    return {"names": sorted(values), "evaluated": [values[name] for name in sorted(values) if name != "loss"]}


def run_activation(keras, case, weights):
    """An activation, and its gradient as training of what is before it."""
    function, arguments = found(keras, case["about"]), made(keras, case["arguments"])
    points = np.linspace(-8, 8, 65, dtype=np.float32).reshape(5, 13)
    result = {"values": numbers(function(keras.ops.convert_to_tensor(points), **arguments))}
    inputs = keras.Input((4,))
    dense = keras.layers.Dense(5, activation=lambda x: function(x, **arguments))
    model = keras.Model(inputs, dense(inputs))
    weights = weights or draw([dense])
    give([dense], weights)
    model.compile(keras.optimizers.SGD(0.01), "mse")
    losses = model.fit(normal(1, 8, 4), normal(2, 8, 5), batch_size=8, epochs=10, shuffle=False, verbose=0)
    return {**result, **{f"weight {name}": value for name, value in weights.items()},
            "losses": losses.history["loss"], "trained": np.array(dense.get_weights()[0])}


# One matrix, and the kernel of a convolution, whose inputs and outputs are counted in another way.
_SHAPES = ((150, 200), (3, 3, 40, 80))


def run_initializer(keras, case, weights):
    """Values that are the same every time, or what random ones are like."""
    result = {}
    random = case.get("random")
    for shape in _SHAPES if random else [(7, 7)]:
        values = numbers(made_by(keras, case)(shape))
        if not random:
            result["values"] = values
            continue
        share = values.std() or 1.0
        result[f"about {len(shape)} axes"] = np.asarray(
            [values.mean() / share, np.abs(values / share).mean(), np.mean((values / share)**4) / 3,
             np.quantile(values / share, 0.9)])
        result[f"deviation of {len(shape)} axes"] = values.std()
        # The largest of all differs from draw to draw.
        result[f"largest of {len(shape)} axes"] = np.quantile(np.abs(values), 0.999)
    return {**result, **(_draws(keras, case) if random else {})}


def _draws(keras, case):
    """Whether seeds decide, and what an orthogonal matrix is like."""
    def draw_once(seed):
        return numbers(made_by(keras, {**case, "arguments": {**case["arguments"], "seed": seed}})((20, 30)))
    result = {"one seed": np.array_equal(draw_once(3), draw_once(3)), "two seeds": np.array_equal(draw_once(3), draw_once(4)),
              "no seed": np.array_equal(draw_once(None), draw_once(None))}
    one = made_by(keras, {**case, "arguments": {**case["arguments"], "seed": 5}})
    result["called twice with a seed"] = np.array_equal(numbers(one((4, 5))), numbers(one((4, 5))))
    if case["about"] == "initializers.Orthogonal":
        for shape in ((5, 9), (9, 5), (3, 2, 4)):
            flat = numbers(made_by(keras, case)(shape)).reshape(-1, shape[-1])
            result[f"product of {shape}"] = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
    return result


def run_schedule(keras, case, weights):
    """The rates of many updates, and training with them."""
    schedule = made_by(keras, case)
    result = {"rates": np.asarray([float(numbers(schedule(step))) for step in range(0, 30)])}
    inputs = keras.Input((3,))
    dense = keras.layers.Dense(2)
    model = keras.Model(inputs, dense(inputs))
    weights = weights or draw([dense])
    give([dense], weights)
    model.compile(keras.optimizers.SGD(made_by(keras, case)), "mse")
    fit = model.fit(normal(1, 8, 3), normal(2, 8, 2), batch_size=2, epochs=5, shuffle=False, verbose=0)
    return {**result, **{f"weight {name}": value for name, value in weights.items()},
            "losses": fit.history["loss"], "trained": np.array(dense.get_weights()[0])}


def run_regularizer(keras, case, weights):
    """A penalty, and training with it."""
    values = normal(1, 4, 5)
    result = {"penalty": numbers(made_by(keras, case)(keras.ops.convert_to_tensor(values)))}
    inputs = keras.Input((4,))
    dense = keras.layers.Dense(3, kernel_regularizer=made_by(keras, case), bias_regularizer=made_by(keras, case))
    model = keras.Model(inputs, dense(inputs))
    weights = weights or draw([dense])
    give([dense], weights)
    model.compile(keras.optimizers.SGD(0.05), "mse")
    x, y = normal(2, 10, 4), normal(3, 10, 3)
    fit = model.fit(x, y, batch_size=4, epochs=4, shuffle=False, verbose=0)
    return {**result, **{f"weight {name}": value for name, value in weights.items()}, "losses": fit.history["loss"],
            "trained": np.array(dense.get_weights()[0]), "loss": model.evaluate(x, y, batch_size=4, verbose=0)}


PROGRAMS = {"loss": run_loss, "function": run_function, "metric": run_metric, "activation": run_activation,
            "initializer": run_initializer, "schedule": run_schedule, "regularizer": run_regularizer}
