# SPDX-License-Identifier: Apache-2.0
"""Calls of Keras that need more than arguments: methods, on an object that is made for them, and what is used in a model."""
import unittest.mock

import numpy as np

from arguments.results import ONE_HOT, VECTORS, dense_model
from pando import ipu, keras, tf
from pando.keras.layers.base import Layer


class _Scaled(Layer):
    """A layer as programs write them; `weight` are the arguments of its weight."""

    def __init__(self, weight=None, loss=None, **arguments):
        super().__init__(**arguments)
        self.arguments, self.loss = weight or {}, loss

    def build(self, input_shape):
        arguments = {"name": "scale", "shape": input_shape[-1:], "initializer": "ones", **self.arguments}
        self.scale = self.add_weight(**arguments)

    def call(self, inputs):
        if self.loss is not None:
            self.add_loss(**{**self.loss, "losses": tf.reduce_mean(inputs * self.scale, axis=-1) * self.loss["losses"]})
        return inputs * self.scale


class _Loss(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1)


class _Metric(keras.metrics.Metric):
    call = _Loss.call


class _Callback(keras.callbacks.Callback):
    """Notes the weights after each batch: those of an execution are seen together."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append([value.tobytes() for value in self.model.get_weights()])


# What a class that is derived from stands for.
DERIVED = {
    keras.Optimizer: keras.optimizers.SGD, keras.Layer: _Scaled, keras.losses.Loss: _Loss,
    keras.metrics.Metric: _Metric,
}


def compiled(metrics=("mae",)):
    """A small model that can be trained."""
    model = dense_model()
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=list(metrics), steps_per_execution=1)
    return model


def _built(**options):
    """A subclass of Model is built when it is told the shape."""
    class Own(keras.Model):
        def __init__(self):
            super().__init__(name="own")
            self.dense = keras.layers.Dense(3, name="inner")

        def call(self, inputs):
            return self.dense(inputs)
    return Own()


def _two_layers():
    first, second = keras.layers.Dense(3, input_shape=(4,), name="first"), keras.layers.Dense(2, name="second")
    return keras.Sequential([first, second], name="both")


def _weights_of(model):
    return [value.tobytes() for value in model.get_weights()]


def _compile(_, arguments):
    model, seen = dense_model(), _Callback()
    model.set_gradient_accumulation_options(gradient_accumulation_steps_per_replica=2)
    model.compile(**{"optimizer": "sgd", "loss": "mse", **arguments})
    yield "history", model.fit(VECTORS, ONE_HOT, batch_size=1, epochs=1, verbose=0, shuffle=False, callbacks=[seen]).history
    yield "weights", seen.seen
    yield "explained", model.explain(8, 1)
    yield "evaluated", model.evaluate(VECTORS, ONE_HOT, verbose=0, return_dict=True)


def _fit(_, arguments):
    model, seen = compiled(), _Callback()
    callbacks = [seen, *arguments.pop("callbacks", [])]
    if "resume" in arguments:
        compiled().fit(VECTORS, ONE_HOT, batch_size=2, epochs=1, verbose=0, checkpoint_directory="kept", checkpoint_every=1,
                       callbacks=[_Callback()])
    history = model.fit(callbacks=callbacks, **arguments)
    yield "history", history.history, history.epoch
    yield "weights", seen.seen


def _on_compiled(name):
    def called(_, arguments):
        model = compiled()
        if name in ("train_on_batch", "test_on_batch"):
            # A batch before, with which means may go on.
            getattr(model, name)(VECTORS * 0.5, ONE_HOT)
        made = getattr(model, name)(**arguments)
        yield "made", made.history if hasattr(made, "history") else repr(made)
        yield "weights", _weights_of(model)
    return called


def _on_two_ipus():
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 2
    config.configure_ipu_system()
    return ipu.ipu_strategy.IPUStrategy().scope()


def _stages_set(name):
    """Four layers on two stages."""
    def called(_, arguments):
        with _on_two_ipus():
            with keras.ipu.PipelineStage(0):
                inputs = keras.Input((4,))
                x = keras.layers.Dense(4, kernel_initializer="ones", name="one")(inputs)
                x = keras.layers.Dense(4, kernel_initializer="ones", name="two")(x)
            with keras.ipu.PipelineStage(1):
                x = keras.layers.Dense(3, kernel_initializer="ones", name="three")(x)
            model = keras.Model(inputs, x)
            if name == "set_pipeline_stage_assignment" or name.startswith("print"):
                model.set_pipelining_options(gradient_accumulation_steps_per_replica=4)
            made = getattr(model, name)(**arguments)
            yield "made", made
            model.compile("sgd", "mse", steps_per_execution=8)
            yield "explained", model.explain(batch_size=1)
            many = np.ones((8, 4), "float32")
            yield "history", model.fit(many, np.ones((8, 3), "float32"), batch_size=1, verbose=0, shuffle=False).history
            yield "weights", _weights_of(model)
    return called


def _accumulated(_, arguments):
    model, seen = dense_model(), _Callback()
    model.set_gradient_accumulation_options(**arguments)
    model.compile("sgd", "mse", steps_per_execution=4)
    many = np.ones((8, 4), "float32")
    yield "history", model.fit(many, np.ones((8, 3), "float32"), batch_size=1, verbose=0, callbacks=[seen]).history
    yield "weights", seen.seen


def _input_of(arguments):
    tensor = keras.Input(**arguments)
    yield "tensor", tuple(tensor.shape), tensor.dtype.name
    model = keras.Model(tensor, keras.layers.Flatten(name="flat")(tensor))
    yield "layers", [layer.name for layer in model.layers]


def _saved(name):
    def called(_, arguments):
        model = compiled()
        getattr(model, name)(**arguments)
        if "overwrite" in arguments:
            getattr(model, name)(**arguments)
    return called


def _load_weights(_, arguments):
    for number, file in enumerate(("written", "other")):
        source = keras.Sequential([keras.layers.Dense(3, input_shape=(4,), kernel_initializer="ones")])
        source.set_weights([value + number + 1 for value in source.get_weights()])
        source.save_weights(file)
    model = keras.Sequential([keras.layers.Dense(3, input_shape=(4,))])
    model.load_weights(**arguments)
    yield "weights", _weights_of(model)


def _cloned(arguments):
    return keras.models.clone_model(**{"model": compiled(), **arguments})


def _staged(subject, arguments):
    with _on_two_ipus():
        inputs = keras.Input((4,))
        with subject.function(**arguments):
            middle = keras.layers.Dense(2, name="one")(inputs)
        with keras.ipu.PipelineStage(1):
            last = keras.layers.Dense(2, name="two")(middle)
        return [(stage.layer.name, stage.pipeline_stage) for stage in keras.Model(inputs, last).get_pipeline_stage_assignment()]


def _load_model(_, arguments):
    compiled().save("written")
    keras.Sequential([keras.layers.Dense(2, input_shape=(3,), name="other")], name="others").save("other")
    return keras.models.load_model(**arguments)


def _on(make, name=None):
    """A method of what `make` returns; what is seen is what it returns, or the object itself if that is None."""
    def called(subject, arguments):
        receiver = make()
        made = getattr(receiver, name or subject.name.rpartition(".")[2])(**arguments)
        return receiver if made is None else made
    return called


def _with_log(subject, arguments):
    with open("log.csv", "w") as file:
        file.write("before\n")
    return subject.function(**arguments)


def _epsilon_set(subject, arguments):
    try:
        subject.function(**arguments)
        return keras.backend.epsilon()
    finally:
        keras.backend.set_epsilon(1e-7)


def _symbolic(subject, arguments):
    inputs = list({id(tensor): tensor for tensor in arguments["inputs"]}.values())
    outputs = subject.function(**arguments)
    yield "shape", tuple(outputs.shape)
    model = keras.Model(inputs, outputs)
    yield "layers", [layer.name for layer in model.layers if "input" not in layer.name], model.trainable
    yield "predicted", model.predict([VECTORS, VECTORS[::-1] * 0.5, VECTORS * 3][:len(inputs)]).tobytes()


def _model(_, arguments):
    one, two = keras.Input((4,)), keras.Input((3,))
    middle = keras.layers.Concatenate(name="middle")([one, two])
    last = keras.layers.Dense(3, kernel_initializer="ones", name="last")(middle)
    places = {"in order": [one, two], "reversed": [two, one], "middle": middle, "last": last}
    given = {"inputs": "in order", "outputs": "last", **arguments}
    return keras.Model(**{key: places.get(value, value) if isinstance(value, str) and key != "name" else value
                          for key, value in given.items()})


def _dropped(subject, arguments):
    factor = float(arguments["inputs"][0, 0])
    return keras.layers.Lambda(lambda x: subject.function(**{**arguments, "inputs": x * factor}), name="lambda")


def _seeded(subject, arguments):
    subject.function(**arguments)
    return tf.random.normal((3,)), keras.initializers.GlorotUniform()((2, 2))


def _loaded(subject, arguments):
    """Without the images, which take seconds."""
    with unittest.mock.patch.object(keras.datasets, "_load", str):
        return subject.function(**arguments)


def _model_saved(subject, arguments):
    for _ in range(2 if "overwrite" in arguments else 1):
        subject.function(**arguments)


def _rate_assigned(arguments):
    optimizer = keras.optimizers.SGD(0.01)
    optimizer.learning_rate.assign(**arguments)
    return optimizer


# Calls that need more than arguments, by the name of the subject: a function of the subject and the arguments.
CALLS = {
    "keras.datasets.*.load_data": _loaded,
    "keras.Layer.add_weight": lambda _, arguments: _Scaled(weight=arguments, name="own"),
    "keras.Layer.add_loss": lambda _, arguments: _Scaled(loss=arguments, name="own"),
    "keras.Layer.compute_output_shape": _on(lambda: keras.layers.Dense(3)),
    "keras.Layer.from_config": lambda _, arguments: keras.layers.Dense.from_config(**arguments),
    "keras.Optimizer.from_config": lambda _, arguments: keras.optimizers.SGD.from_config(**arguments),
    "keras.Optimizer.minimize": _on(lambda: keras.optimizers.SGD()),
    "keras.initializers.Initializer.from_config":
        lambda _, arguments: keras.initializers.RandomNormal.from_config(**arguments),
    "keras.schedules.LearningRateSchedule.from_config":
        lambda _, arguments: keras.schedules.CosineDecay.from_config(**arguments),
    "keras.layers.described.Described.set_weights": _on(lambda: dense_model()), "keras.Model": _model,
    "keras.Model.build": _on(_built),
    "keras.Model.get_layer": lambda _, arguments: _two_layers().get_layer(**arguments).name,
    "keras.Model.call": lambda _, arguments: _built()(**arguments), "keras.Sequential.add": _on(lambda: dense_model()),
    "keras.Sequential.build":
        _on(lambda: keras.Sequential([keras.layers.Dense(3, kernel_initializer="ones", name="one")], name="built")),
    "keras.training.Training.compile": _compile, "keras.training.Training.fit": _fit,
    "keras.training.Training.summary":
        _on(lambda: keras.Sequential([keras.Input((4,)), dense_model(), keras.layers.Dense(2, name="last")], name="outer")),
    "keras.training.Training.predict*": _on_compiled("predict"),
    "keras.training.Training.evaluate": _on_compiled("evaluate"),
    "keras.training.Training.predict_on_batch": _on_compiled("predict_on_batch"),
    "keras.training.Training.train_on_batch": _on_compiled("train_on_batch"),
    "keras.training.Training.test_on_batch": _on_compiled("test_on_batch"),
    "keras.training.Training.fit_generator": _on_compiled("fit_generator"),
    "keras.stages.Stages.explain": _on(compiled), "keras.stages.Stages.set_gradient_accumulation_options": _accumulated,
    "keras.Input": lambda _, arguments: _input_of(arguments),
    "keras.metrics.*top_k_categorical_accuracy": lambda subject, arguments: subject.function(**{"k": 1, **arguments}),
    "keras.stages.Stages.set_pipelining_options": _stages_set("set_pipelining_options"),
    "keras.stages.Stages.set_pipeline_stage_assignment": _stages_set("set_pipeline_stage_assignment"),
    "keras.stages.Stages.print_pipeline_stage_assignment_summary":
        _stages_set("print_pipeline_stage_assignment_summary"),
    "keras.model_files.ModelFiles.save": _saved("save"),
    "keras.model_files.ModelFiles.save_weights": _saved("save_weights"),
    "keras.model_files.ModelFiles.load_weights": _load_weights, "keras.model_files.ModelFiles.to_json": _on(compiled),
    "keras.models.load_model": _load_model,
    "keras.metrics.Metric.update_state": _on(lambda: keras.metrics.MeanSquaredError()),
    "keras.metrics.Metric.add_weight": _on(_Metric), "keras.metrics.Mean.update_state": _on(keras.metrics.Mean),
    "keras.callbacks.CSVLogger": _with_log,
    "keras.optimizers.Rate.assign": lambda _, arguments: _rate_assigned(arguments), "keras.layers.[a-z]*": _symbolic,
    "keras.backend.set_value":
        lambda subject, arguments: [subject.function(**arguments), arguments["x"].name, arguments["x"].numpy()][1:],
    "keras.backend.set_epsilon": _epsilon_set,
    "keras.random.dropout":
        _dropped,
    "keras.utils.set_random_seed":
        _seeded,
    "keras.models.clone_model": lambda _, arguments: _cloned(arguments),
    "keras.models.save_model":
        _model_saved,
    "keras.models.model_from_json":
        lambda _, arguments: keras.models.model_from_json(**{"text": compiled().to_json(), **arguments}),
    "keras.ipu.PipelineStage": _staged, "keras.variables.Variable.*": _on(lambda: dense_model().weights[0]),
}
