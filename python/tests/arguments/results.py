# SPDX-License-Identifier: Apache-2.0
"""What comes of a call, as a list of facets that can be compared: values, weights after training, names, text, files."""
import contextlib
import dataclasses
import io
import json
import logging
import os
import pathlib
import re
import sys
import tempfile
import types
import warnings

import numpy as np

from pando import keras, tf
from pando.core import messages
from pando.keras.layers.base import Layer
from pando.tensors.tensor import Tensor, is_symbolic
from pando.tf.compat import v1

RANDOM = np.random.RandomState(5)
IMAGES = RANDOM.uniform(-1, 1, (4, 7, 7, 4)).astype("float32")
SEQUENCES = RANDOM.uniform(-1, 1, (4, 7, 4)).astype("float32")
VECTORS = RANDOM.uniform(-1, 1, (4, 4)).astype("float32")
NUMBERS = RANDOM.randint(0, 5, (4, 3)).astype("int32")
# What a layer is tried on, in this order: it must take one of them. TAKEN says which, for each class.
TAKEN = {keras.layers.Embedding: [NUMBERS], keras.layers.Concatenate: [SEQUENCES, -SEQUENCES]}
INPUTS = ([IMAGES], [SEQUENCES], [VECTORS], [NUMBERS], [VECTORS, VECTORS[::-1] * 0.5])
CLASSES = np.array([0, 2, 1, 2])
ONE_HOT = np.eye(3, dtype="float32")[CLASSES]
SCORES = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.5, 0.4, 0.1], [0.1, 0.2, 0.7]], "float32")
SAMPLE_WEIGHTS = np.array([1, 3, 0.5, 2], "float32")


@dataclasses.dataclass
class Outcome:
    """What a call did: its error, the notices that it gave, and everything else that can be seen of it."""
    error: Exception | None
    notices: list
    facets: list


def without_numbers(name):
    """A name without the number that makes it the only one of its process."""
    return re.sub(r"_\d+", "", str(name))


def without_times(text):
    """What was printed, without how long it took."""
    return re.sub(r"[\d.]+ ?(ms|us|s)\b(/\w+)?", "time", text)


class _Notices(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


@contextlib.contextmanager
def _heard(texts):
    handler = _Notices()
    handler.texts = texts
    loggers = [logging.getLogger(name) for name in ("tensorflow", "poptorch", "pando")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        texts += [str(warning.message) for warning in caught]
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


def start_anew():
    """The random numbers, notices and variables that a call finds are those of every other call."""
    messages._told.clear()
    v1.reset_default_graph()
    keras.utils.set_random_seed(3)
    tf.random.set_seed(3)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(3)


def observe(call):
    """Calls it, and notes what can be seen."""
    start_anew()
    error, facets, notices, text = None, [], [], io.StringIO()
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(text), contextlib.redirect_stderr(io.StringIO()):
        os.chdir(folder)
        try:
            with _heard(notices):
                facets = list(facets_of(call()))
        except (Exception, SystemExit) as raised:  # whatever a user would see
            error = raised
        finally:
            os.chdir(before)
        facets.append(("text", text.getvalue()))
        facets += _files(pathlib.Path(folder))
    return Outcome(error, notices, _steady(facets))


def _files(folder):
    """The files of a call. Checkpoints are written while training goes on: how many there are is a matter of time."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("checkpoint-"):
            yield "file", str(path.relative_to(folder)), _content(path)
        elif path.is_dir():
            yield "folder", str(path.relative_to(folder))


def _content(path):
    """What is in a file, without times and without the numbers of names."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            return sorted((name, file[name].tobytes()) for name in file.files)
    if path.suffix == ".safetensors":
        data = path.read_bytes()
        size = 8 + int.from_bytes(data[:8], "little")
        return sorted((without_numbers(name), data[size:][slice(*entry["data_offsets"])])
                      for name, entry in json.loads(data[8:size]).items() if name != "__metadata__")
    return path.read_text() if path.suffix in (".json", ".csv") else path.suffix


def _steady(value):
    """The same without what differs from call to call."""
    if isinstance(value, str):
        return without_times(without_numbers(value))
    if isinstance(value, dict):
        return {_steady(key): _steady(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_steady(part) for part in value]
    return value


def facets_of(made):
    """Pairs of what is looked at and what is seen."""
    for kinds, look in _LOOKS:
        if isinstance(made, kinds):
            yield from look(made)
            return
    yield "value", _plain(made)


def _plain(value):
    """A value as something that can be compared: arrays as bytes, objects by what they hold."""
    if isinstance(value, keras.optimizers.Optimizer):
        return value.get_config()
    if is_symbolic(value):
        return "symbol", tuple(value.shape), str(value.dtype), without_numbers(getattr(value, "name", ""))
    inner = getattr(value, "_value", value)
    if hasattr(value, "trainable") and hasattr(value, "numpy"):
        return value.name, value.trainable, _plain(value.numpy())
    if isinstance(value, Tensor):
        inner = value.numpy()
    if isinstance(inner, (np.ndarray, np.generic)):
        return str(inner.dtype), inner.shape, inner.tobytes(), type(value).__name__
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [_plain(part) for part in value]
    if isinstance(value, (str, int, float, bool, type(None), type, bytes)):
        return value
    if isinstance(value, types.FunctionType):
        return value.__qualname__
    held = {name: _plain(part) for name, part in getattr(value, "__dict__", {}).items() if not name.startswith("_")}
    return type(value).__name__, re.sub(r"0x[0-9a-f]+", "", without_numbers(repr(value))), held


def model_of(layer, arrays, training=None):
    """A model that is this layer and nothing else."""
    inputs = [keras.Input(array.shape[1:], dtype=array.dtype.name) for array in arrays]
    return inputs, layer(inputs[0] if len(inputs) == 1 else inputs, training=training)


def _called(layer):
    """The first inputs that the layer takes, and what it makes of them."""
    cls, errors = type(layer), []
    for arrays in ([TAKEN[cls]] if cls in TAKEN else INPUTS):
        try:
            inputs, outputs = model_of(layer, arrays)
            TAKEN[cls] = arrays
            return arrays, inputs, outputs
        except (ValueError, TypeError, IndexError, AttributeError, RuntimeError) as error:
            errors.append(error)
    raise errors[0]


def _of_input_layer(layer):
    yield "name", without_numbers(layer.name)
    yield "trainable", layer.trainable
    model = keras.Sequential([layer, keras.layers.Flatten()])
    yield "shape", tuple(model.input_shape), model.inputs[0].dtype.name


def _of_layer(layer):
    yield "name", without_numbers(layer.name)
    yield "trainable", layer.trainable, layer.dtype
    yield "built", keras.Sequential([layer]).built
    arrays, inputs, outputs = _called(layer)
    yield "shape", tuple(outputs.shape), str(outputs.dtype)
    yield "weights", [(without_numbers(weight.name), tuple(weight.shape), weight.trainable) for weight in layer.weights]
    yield "values", [value.tobytes() for value in layer.get_weights()]
    yield "predicted", keras.Model(inputs, outputs).predict(arrays).tobytes()
    _, trained = model_of(layer, arrays, training=True)
    head = keras.layers.Dense(1, kernel_initializer="ones", name="head")
    flat = keras.layers.Flatten()(trained) if len(trained.shape) > 2 else trained
    model = keras.Model(_, head(flat))
    yield from trained_facets(model, arrays, np.ones((4, 1), "float32"))


def trained_facets(model, x, y, optimizer=None, loss="mse", **options):
    """What three steps of training make of a model."""
    model.compile(optimizer or keras.optimizers.SGD(0.05), loss, **options)
    for _ in range(3):
        yield "logs", model.train_on_batch(x, y, return_dict=True)
    yield "trained", [value.tobytes() for value in model.get_weights()]


def dense_model(**options):
    """A small model whose weights are always the same at first."""
    return keras.Sequential([keras.layers.Dense(3, input_shape=(4,), kernel_initializer=keras.initializers.RandomNormal(0, 0.5),
                                                name="first", **options)], name="small")


def _of_loss(loss):
    yield "name", loss.name
    targets = CLASSES if "Sparse" in type(loss).__name__ else ONE_HOT
    for weights in (None, SAMPLE_WEIGHTS):
        yield "loss", _plain(loss(targets, SCORES, weights))
    yield from trained_facets(dense_model(activation="sigmoid"), VECTORS, targets, loss=loss)


def _of_metric(metric):
    yield "name", metric.name
    if isinstance(metric, keras.metrics.Mean):
        if not metric._count:
            metric.update_state(SCORES)
        yield "result", _plain(metric.result())
        return
    targets = CLASSES if "Sparse" in type(metric).__name__ else ONE_HOT
    metric.update_state(targets, SCORES)
    yield "result", _plain(metric.result())
    model = dense_model(activation="sigmoid")
    model.compile("sgd", "mse" if targets is ONE_HOT else "sparse_categorical_crossentropy", metrics=[metric])
    yield "evaluated", model.evaluate(VECTORS, targets, verbose=0, return_dict=True)


def _of_optimizer(optimizer):
    yield "name", optimizer.get_config()["name"]
    yield from trained_facets(dense_model(), VECTORS, ONE_HOT * 3, optimizer)


def _of_initializer(initializer):
    yield "drawn", _plain(initializer((3, 5))), _plain(initializer((4, 4)))
    yield "weights", [value.tobytes() for value in keras.Sequential([
        keras.layers.Dense(4, kernel_initializer=initializer, input_shape=(4,))]).get_weights()]


def _of_regularizer(regularizer):
    yield from trained_facets(dense_model(kernel_regularizer=regularizer), VECTORS, ONE_HOT)


def _of_schedule(schedule):
    rates = [schedule(step) for step in (0.0, 1.0, 2.0, 3.0, 5.0, 9.0)]
    yield "rates", [float(np.asarray(getattr(rate, "_value", rate))) for rate in rates]
    yield from trained_facets(dense_model(), VECTORS, ONE_HOT, keras.optimizers.SGD(schedule))


def _of_callback(callback):
    """Validation gets better and then worse: what is trained for is more than what is validated with."""
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(1,), use_bias=False, kernel_initializer="zeros", name="only")])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    ones = np.ones((4, 1), "float32")
    history = model.fit(ones, ones, epochs=9, batch_size=2, verbose=0, callbacks=[callback], validation_data=(ones, ones * 0.7))
    yield "history", history.history, history.epoch
    yield "trained", [value.tobytes() for value in model.get_weights()]
    yield "rate", float(model.optimizer.learning_rate)


def _of_model(model):
    yield "name", without_numbers(model.name)
    yield "trainable", model.trainable
    yield "layers", [without_numbers(layer.name) for layer in model.layers]
    if model.built:
        yield "shapes", tuple(model.input_shape), tuple(model.output_shape)
        yield "weights", [(without_numbers(weight.name), weight.trainable) for weight in model.weights]
        yield "values", [value.tobytes() for value in model.get_weights()]


def _of_dataset(dataset):
    yield "spec", str(dataset.element_spec)
    for _ in range(2):
        yield "elements", [_plain(element) for _, element in zip(range(30), dataset)]



_LOOKS = (
    (keras.Model, _of_model), (keras.layers.InputLayer, _of_input_layer), (Layer, _of_layer),
    (keras.losses.Loss, _of_loss), (keras.metrics.Metric, _of_metric), (keras.optimizers.Optimizer, _of_optimizer),
    (keras.initializers.Initializer, _of_initializer), (keras.regularizers.Regularizer, _of_regularizer),
    (keras.schedules.LearningRateSchedule, _of_schedule),
    (keras.callbacks.History, lambda history: [("history", history.history, history.epoch)]),
    (keras.callbacks.Callback, _of_callback), (tf.data.Dataset, _of_dataset),
    (types.GeneratorType, lambda facets: facets))
