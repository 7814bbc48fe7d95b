# SPDX-License-Identifier: Apache-2.0
"""A failed call leaves nothing behind: after each failure a small model trains to the bits that it reaches in a new process."""
import numpy as np
import pytest

import pando.tf as tf
from pando import ipu, keras
from pando.keras import layers
from pando.tf.compat import v1

TRAIN = """
import numpy as np, pando.tf as tf
from pando import ipu, keras
from pando.keras import layers
from pando.tf.compat import v1

def train():
    keras.utils.set_random_seed(3)
    x = np.random.default_rng(1).random((24, 4), np.float32)
    model = keras.Sequential([layers.Dense(5, activation="tanh", input_shape=(4,)), layers.BatchNormalization(),
                              layers.Dropout(0.5), layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
    history = model.fit(x, x.sum(1, keepdims=True), batch_size=8, epochs=2, verbose=0).history
    return np.concatenate([*map(np.ravel, model.get_weights()), history["loss"], history["mae"]])

def train_in_session():
    with v1.Graph().as_default(), ipu.scopes.ipu_scope("/device:IPU:0"):
        keras.utils.set_random_seed(3)
        queue = ipu.ipu_outfeed_queue.IPUOutfeedQueue()
        infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.from_tensor_slices(
            np.arange(8, dtype=np.float32).reshape(4, 2)).repeat())

        def body(row):
            weight = v1.get_variable("weight", [2])
            loss = tf.reduce_sum(tf.square(weight * row - 1.0))
            return v1.train.GradientDescentOptimizer(0.01).minimize(loss), queue.enqueue(loss)
        run = ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(4, body, [], infeed), [])
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            session.run(infeed.initializer)
            session.run(run)
            return np.ravel(session.run(queue.dequeue()))
"""
exec(TRAIN)

X, Y = np.ones((8, 4), np.float32), np.ones((8, 1), np.float32)


class Mistake(Exception):
    pass


def small(*more, **compiled):
    model = keras.Sequential([layers.Dense(3, input_shape=(4,)), *more, layers.Dense(1)])
    model.compile(**{"optimizer": "sgd", "loss": "mse", **compiled})
    return model


def fail(*arguments):
    raise Mistake()


class Failing(layers.Layer):
    def build(self, input_shape):
        self.scale = self.add_weight(name="scale", shape=(), initializer="ones")

    def call(self, inputs):
        fail()


class FailingInBuild(layers.Layer):
    def build(self, input_shape):
        self.scale = self.add_weight(name="scale", shape=(), initializer="ones")
        fail()


class FailingModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.last = layers.Dense(3), Failing()

    def call(self, inputs, training=None):
        if training:
            inputs = inputs * 2.0
        return self.last(self.first(inputs))


def call_within(where, error=Mistake):
    class Calling(keras.callbacks.Callback):
        pass

    def call(*arguments):
        raise error()
    setattr(Calling, where, call)
    small().fit(X, Y, batch_size=4, verbose=0, callbacks=[Calling()])


def generator():
    yield X, Y
    fail()


def failing_strategy():
    with ipu.ipu_strategy.IPUStrategy().scope():
        small().fit(X, Y, verbose=0)
        fail()


def failing_computation(function=fail):
    with ipu.scopes.ipu_scope("/device:IPU:0"):
        def computation():
            v1.get_variable("of_the_failure", [2, 3])
            return ipu.loops.repeat(3, function, [])
        ipu.ipu_compiler.compile(computation, [])


def failing_argument():
    with ipu.scopes.ipu_scope("/device:IPU:0"):
        ipu.ipu_compiler.compile(fail, [v1.placeholder("float32", [2])])


def failing_pipeline():
    infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(tf.data.Dataset.from_tensor_slices((X, Y)).batch(2).repeat())

    def stages():
        return ipu.pipelining_ops.pipeline([lambda x, y: (layers.Dense(2)(x), y), lambda x, y: fail()],
                                           gradient_accumulation_count=4, infeed_queue=infeed)
    with ipu.scopes.ipu_scope("/device:IPU:0"), v1.variable_scope("inner"):
        ipu.ipu_compiler.compile(stages, [])


def failing_graph():
    with v1.Graph().as_default(), v1.Session() as session, v1.variable_scope("scope"):
        v1.get_variable("weight", [7])
        session.run(v1.global_variables_initializer())
        fail()


def failing_optimizer():
    model = small()
    model.compile(keras.optimizers.SGD(fail), "mse")
    model.fit(X, Y, verbose=0)


FAILURES = {
    "a layer's call()": lambda: keras.Sequential([layers.Dense(2), Failing()])(X),
    "a layer's call() in a functional model": lambda: Failing()(layers.Dense(2)(keras.Input((4,)))),
    "a layer's build()": lambda: keras.Sequential([layers.Dense(2), FailingInBuild()])(X),
    "a model's call()": lambda: FailingModel()(X),
    "a model's call() in fit": lambda: (lambda model: (model.compile("sgd", "mse"), model.fit(X, Y)))(FailingModel()),
    "a Lambda": lambda: small(layers.Lambda(fail)),
    "an activation": lambda: small(layers.Dense(2, activation=fail)),
    "an initializer": lambda: small(layers.Dense(2, kernel_initializer=lambda shape, dtype=None: fail())),
    "a loss": lambda: small(loss=fail).fit(X, Y, verbose=0),
    "a metric": lambda: small(metrics=[fail]).evaluate(X, Y, verbose=0),
    "a schedule": lambda: small(optimizer=keras.optimizers.SGD(type("S", (keras.optimizers.schedules.LearningRateSchedule,), {
        "__call__": fail})())).fit(X, Y, verbose=0),
    "a function as the learning rate": failing_optimizer,
    "a generator": lambda: small().fit(generator(), steps_per_epoch=3, verbose=0),
    "a generator in predict": lambda: small().predict((fail() if i else X for i in range(3))),
    "a function of a data set": lambda: small().fit(tf.data.Dataset.from_tensor_slices((X, Y)).batch(4).map(fail), verbose=0),
    "clone_model": lambda: keras.models.clone_model(small(), clone_function=fail),
    "an IPUStrategy": failing_strategy,
    "a strategy's run": lambda: ipu.ipu_strategy.IPUStrategy().run(fail),
    "the body of a loop": failing_computation,
    "a computation": failing_argument,
    "a pipeline": failing_pipeline,
    "a graph": failing_graph}
FAILURES.update({where: lambda where=where: call_within(where) for where in (
    "on_train_begin", "on_epoch_begin", "on_train_batch_end", "on_epoch_end", "on_train_end")})


@pytest.fixture(scope="module")
def trained():
    """What a new process reaches."""
    import os
    import subprocess
    import sys

    from conftest import PACKAGES
    code = TRAIN + "\nprint(train().tolist(), train_in_session().tolist(), sep='\\n')"
    process = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True,
                             env={**os.environ, "PYTHONPATH": PACKAGES})
    return [np.array(eval(line)) for line in process.stdout.splitlines()[-2:]]


def assert_unharmed(trained):
    np.testing.assert_array_equal(train(), trained[0])
    np.testing.assert_array_equal(train_in_session(), trained[1])


@pytest.mark.parametrize("what", FAILURES)
def test_after_a_failure_of(what, trained):
    with pytest.raises(Mistake):
        FAILURES[what]()
    assert_unharmed(trained)


@pytest.mark.parametrize("what, call", [
    ("inputs", lambda: small().fit(np.ones((8, 5), np.float32), Y, verbose=0)),
    ("targets", lambda: small().fit(X, np.ones((7, 1), np.float32), verbose=0)),
    ("weights", lambda: small().set_weights([X])),
    ("a stack", lambda: keras.Sequential([layers.Dense(3), layers.Reshape((5,))]).fit(X, Y, verbose=0)),
    ("a computation", lambda: failing_computation(lambda: tf.matmul(tf.zeros((2, 3)), v1.placeholder("float32", [2, 3]))))])
def test_after_wrong_shapes_of(what, call, trained):
    with pytest.raises(Exception):
        call()
    assert_unharmed(trained)


def test_after_an_interrupt(trained):
    with pytest.raises(KeyboardInterrupt):
        call_within("on_epoch_end", KeyboardInterrupt)
    assert_unharmed(trained)


def test_a_stack_that_did_not_fit_can_be_built_for_other_inputs():
    model = keras.Sequential([layers.Dense(6), layers.Reshape((3, 2)), layers.Dense(1), layers.Reshape((4,))])
    with pytest.raises(Exception, match="cannot take"):
        model.build((None, 4))
    assert not any(layer.built for layer in model.layers) and not model.weights
    model.pop()
    model.build((None, 5))
    assert model.layers[0].kernel.shape == (5, 6)


def test_a_layer_whose_build_has_failed_is_built_again_as_if_it_were_the_first_time():
    class Once(layers.Layer):
        fails = True

        def build(self, input_shape):
            self.inner = layers.Dense(2)
            self.inner.build(input_shape)
            self.scale = self.add_weight(name="scale", shape=(), initializer="ones")
            if self.fails:
                fail()

        def call(self, inputs):
            return self.inner(inputs) * self.scale
    layer = Once()
    with pytest.raises(Mistake):
        layer(X)
    layer.fails = False
    assert layer(np.ones((8, 6), np.float32)).shape == (8, 2)
    assert [weight.shape for weight in layer.weights] == [(), (6, 2), (2,)]


def test_a_call_that_failed_does_not_change_what_a_model_does():
    class Scaled(layers.Layer):
        def call(self, inputs, scale=1.0):
            return inputs * scale
    layer, inputs = Scaled(), keras.Input((4,))
    model = keras.Model(inputs, layer(inputs, scale=2.0))
    with pytest.raises(Exception):
        layer(inputs, scale="much")
    np.testing.assert_array_equal(model.predict(X), X * 2)


def test_a_model_that_cannot_be_compiled_stays_as_it_was():
    model = small(optimizer=keras.optimizers.SGD(0.0))
    before = model.optimizer
    with pytest.raises(Exception):
        model.compile(keras.optimizers.SGD(1.0), ["mse", "mse"])
    assert model.optimizer is before
    weights = model.get_weights()
    model.fit(X, Y, verbose=0)
    np.testing.assert_array_equal(model.get_weights()[0], weights[0])


def test_a_layer_that_does_not_fit_is_not_in_the_stack():
    model = keras.Sequential()
    with pytest.raises(Exception):
        model.add(layers.Conv2D(3, 3, input_shape=(4,)))
    model.add(layers.Dense(2, input_shape=(4,)))
    with pytest.raises(Exception):
        model.add(layers.Conv2D(3, 3))
    model.add(layers.Dense(1))
    assert [type(layer).__name__ for layer in model.layers] == ["Dense", "Dense"]
    assert model.predict(X).shape == (8, 1) and keras.models.clone_model(model).count_params() == 13


def test_names_of_inputs_that_were_refused_are_forgotten():
    class Sum(keras.Model):
        def call(self, inputs):
            return inputs["a"] + inputs["b"] if isinstance(inputs, dict) else inputs * 3.0
    model = Sum()
    with pytest.raises(KeyError):
        model.predict({"a": X, "c": X})
    np.testing.assert_array_equal(model.predict(X), X * 3)
    np.testing.assert_array_equal(Sum()({"a": X, "b": X}).numpy(), X * 2)


def test_a_queue_keeps_the_structure_of_the_computation_that_was_compiled():
    queue = ipu.ipu_outfeed_queue.IPUOutfeedQueue()

    def loop(kept, fails):
        def body(value):
            done = queue.enqueue(kept(value))
            return fail() if fails else (value + 1.0, done)
        with ipu.scopes.ipu_scope("/device:IPU:0"):
            return ipu.ipu_compiler.compile(lambda: ipu.loops.repeat(2, body, [tf.constant(1.0)]), [])
    compiled = loop(lambda value: {"one": value, "two": value * 2.0}, False)
    with pytest.raises(Mistake):
        loop(lambda value: value, True)
    with v1.Session() as session:
        session.run(compiled)
        found = session.run(queue.dequeue())
    assert {name: list(values) for name, values in found.items()} == {"one": [1, 2], "two": [2, 4]}


def test_variables_of_a_computation_that_failed_are_gone():
    with v1.Graph().as_default():
        with pytest.raises(Mistake):
            failing_computation()
        assert v1.global_variables() == []
        assert v1.get_variable("of_the_failure", [5]).shape == (5,)
