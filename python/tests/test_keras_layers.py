# SPDX-License-Identifier: Apache-2.0
"""Keras: the options of layers as attributes, classes derived from layers of Pando, copies and pickles."""
import copy
import inspect
import pickle

import numpy as np
import pytest

import pando.tf as tf
from pando import keras
from pando.keras import initializers, layers

CLASSES = sorted({cls for cls in map(vars(layers).get, layers.__all__) if isinstance(cls, type) and cls is not layers.Layer},
                 key=lambda cls: cls.__name__)
# Arguments of classes that need some.
GIVEN = {"Dense": (3,), "Conv2D": (3, 2), "Conv1D": (3, 2), "Conv2DTranspose": (3, 2), "SeparableConv2D": (3, 2),
         "DepthwiseConv2D": (2,), "Embedding": (5, 3), "Reshape": ((-1,),), "Permute": ((2, 1),), "Dropout": (0.5,),
         "Activation": ("relu",), "Rescaling": (0.5,), "RandomTranslation": (0.1, 0.2), "RandomRotation": (0.1,), "Dot": (1,),
         "InputLayer": ((4,),), "Lambda": (abs,), "RepeatVector": (2,), "GaussianNoise": (0.5,)}
# Options of Keras that no layer of Pando has, and those of Python that are no attributes in Keras, either.
NOT_KEPT = {"activity_regularizer", "kernel_constraint", "bias_constraint", "depthwise_constraint", "pointwise_constraint",
            "embeddings_constraint", "beta_constraint", "gamma_constraint", "alpha_constraint", "noise_shape", "seed",
            # What a layer has once it was called.
            "input_shape", "output_shape"}


def made(cls):
    return cls(*GIVEN.get(cls.__name__, ()))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_option_is_an_attribute(cls):
    layer = made(cls)
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        if name not in ("self", "kwargs") and name not in NOT_KEPT:
            assert hasattr(layer, name), name


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_layer_is_made_again_from_its_configuration(cls):
    layer = made(cls)
    again = cls.from_config(layer.get_config())
    assert again.get_config() == layer.get_config() and again.name == layer.name


def saved(model, path):
    model.save(str(path))
    return keras.models.load_model(path)


def test_options_are_those_that_were_given_also_after_loading(tmp_path):
    model = keras.Sequential([
        layers.Conv2D(4, 3, padding="same", activation="relu", kernel_regularizer="l2", input_shape=(8, 8, 3)),
        layers.MaxPooling2D(), layers.BatchNormalization(momentum=0.9), layers.Flatten(),
        layers.Dropout(0.25), layers.Dense(1, use_bias=False, kernel_initializer=initializers.RandomNormal(stddev=0.5))])
    for layer in (model.layers, saved(model, tmp_path / "m").layers):
        assert (layer[0].filters, layer[0].kernel_size, layer[0].strides, layer[0].padding) == (4, (3, 3), (1, 1), "same")
        assert layer[0].activation is keras.activations.relu and layer[0].kernel_regularizer.l2 == 0.01
        assert layer[0].kernel.shape == (3, 3, 3, 4) and layer[0].bias.shape == (4,)
        assert layer[1].pool_size == (2, 2) and layer[1].strides == (2, 2)
        assert layer[2].momentum == 0.9 and layer[2].gamma.shape == (4,) and layer[2].moving_mean.shape == (4,)
        assert layer[4].rate == 0.25
        assert layer[5].units == 1 and layer[5].use_bias is False and layer[5].bias is None
        assert isinstance(layer[5].kernel_initializer, initializers.RandomNormal)
        assert layer[5].kernel_initializer.stddev == 0.5
        assert type(layer[5]).from_config(layer[5].get_config()).get_config() == layer[5].get_config()


def test_a_function_of_the_program_is_an_option_too():
    def plus(x):
        return x + 1.0
    layer = layers.Dense(2, activation=plus)
    assert layer.activation is plus and layer.get_config()["activation"] is plus
    assert type(layer).from_config(layer.get_config()).activation is plus


def test_weights_before_a_layer_is_built():
    with pytest.raises(AttributeError) as caught:
        layers.Dense(3, name="late").kernel
    assert str(caught.value) == ("the layer 'late' has no 'kernel' before it is built: call it on its input, or call its "
                                 "build(input_shape)")
    assert layers.Dense(3, use_bias=False).bias is None
    dense = layers.Dense(3)
    dense.build((None, 4))
    assert dense.kernel.shape == (4, 3)
    with pytest.raises(AttributeError, match="Dense has no 'gamma' in Pando"):
        dense.gamma


def test_a_property_that_fails_says_why():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs)

        @property
        def width(self):
            return self.dense.unitz
    model = Own()
    with pytest.raises(AttributeError) as caught:
        model.width
    assert str(caught.value) == "Dense has no 'unitz' in Pando; the nearest is units"
    assert [layer.name for layer in model.layers] == [model.dense.name]
    model(np.ones((1, 2), np.float32))
    assert [type(layer).__name__ for layer in model.layers][-1] == "Dense"


# Classes of the user -------------------------------------------------------------------------------------------------

class Rounded(layers.MaxPooling2D):
    def call(self, inputs):
        return tf.round(super().call(inputs))


class Shifted(layers.Dense):
    """A weight of its own after those of Dense."""

    def __init__(self, units, shift=0.0, **kwargs):
        super().__init__(units, kernel_initializer="ones", **kwargs)
        self.shift = shift

    def build(self, input_shape):
        super().build(input_shape)
        self.offset = self.add_weight(name="offset", shape=(self.units,), initializer="ones")

    def call(self, inputs):
        return super().call(inputs) + self.offset + self.shift

    def get_config(self):
        return {**super().get_config(), "shift": self.shift}


class Plain(layers.MaxPooling2D):
    def __init__(self, **kwargs):
        super().__init__(3, **kwargs)


def test_a_class_derived_from_a_layer_of_pando_computes_what_it_says():
    images = np.random.default_rng(1).random((2, 4, 4, 1), np.float32) * 10
    layer = Rounded(pool_size=2)
    pooled = images.reshape(2, 2, 2, 2, 2, 1).max((2, 4))
    np.testing.assert_array_equal(layer(images).numpy(), np.round(pooled))
    model = keras.Sequential([keras.Input((4, 4, 1)), Rounded(), layers.Flatten(), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(images, np.ones((2, 1)), verbose=0)
    assert layer.pool_size == (2, 2) and Rounded.from_config(layer.get_config()).pool_size == (2, 2)
    assert Plain()(np.zeros((1, 6, 6, 1), np.float32)).shape == (1, 2, 2, 1) and Plain().pool_size == (3, 3)


def test_the_weights_of_such_a_class_are_trained():
    layer = Shifted(1, shift=0.5, use_bias=False, input_shape=(2,))
    model = keras.Sequential([layer])
    x, y = np.ones((4, 2), np.float32), np.zeros((4, 1), np.float32)
    assert model.predict(x)[0].item() == 3.5
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(x, y, batch_size=4, verbose=0)
    np.testing.assert_allclose(layer.kernel.numpy(), np.full((2, 1), 1 - 0.7), rtol=1e-6)
    np.testing.assert_allclose(layer.offset.numpy(), [1 - 0.7], rtol=1e-6)
    config = layer.get_config()
    assert config["units"] == 1 and config["shift"] == 0.5 and layer.bias is None


def test_weights_that_a_call_reads_are_trained():
    class Twice(layers.Dense):
        def call(self, inputs):
            return tf.matmul(inputs, self.kernel) * 2.0

    class Tied(layers.Layer):
        def __init__(self):
            super().__init__()
            self.first = layers.Dense(1, use_bias=False, kernel_initializer="ones")

        def call(self, inputs):
            return self.first(inputs) * 0.0 + tf.matmul(inputs, self.first.kernel) * 2.0
    x, y = np.ones((4, 1), np.float32), np.zeros((4, 1), np.float32)
    for layer in (Twice(1, use_bias=False, kernel_initializer="ones"), Tied()):
        model = keras.Sequential([layer])
        model.compile(keras.optimizers.SGD(0.01), "mse")
        model.fit(x, y, batch_size=4, verbose=0)
        np.testing.assert_allclose(model.get_weights()[0].item(), 1 - 0.01 * 8, rtol=1e-6)


def test_a_weight_outside_of_its_layer_is_the_weight():
    dense, inputs = layers.Dense(1, use_bias=False, kernel_initializer="ones"), keras.Input((1,))
    model = keras.Model(inputs, dense(inputs) * 0.0 + inputs * dense.kernel)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(np.ones((4, 1)), np.zeros((4, 1)), batch_size=4, verbose=0)
    np.testing.assert_allclose(dense.kernel.numpy(), [[0.8]], rtol=1e-6)
    np.testing.assert_allclose(model.predict(np.ones((1, 1))), [[0.8]], rtol=1e-6)


def test_a_program_may_call_build_itself():
    class Scale(layers.Layer):
        def build(self, input_shape):
            super().build(input_shape)
            self.scale = self.add_weight(name="scale", shape=(input_shape[-1],), initializer="ones")

        def call(self, inputs):
            return inputs * self.scale

    class Around(layers.Layer):
        def __init__(self):
            super().__init__()
            self.inner, self.dense = Scale(), layers.Dense(2)

        def build(self, input_shape):
            self.inner.build(input_shape)
            self.dense.build(input_shape)

        def call(self, inputs):
            return self.dense(self.inner(inputs))
    for make, count in ((Scale, 3), (Around, 11)):
        layer = make()
        for _ in range(2):
            layer.build((None, 3))
        assert layer.built and layer.count_params() == count
        layer(np.ones((2, 3), np.float32))
        assert layer.count_params() == count


def test_each_call_keeps_its_arguments():
    class Scaled(layers.Layer):
        def call(self, inputs, scale=1.0):
            return inputs * scale
    layer, inputs = Scaled(), keras.Input((1,))
    model = keras.Model(inputs, [layer(inputs, scale=2.0), layer(inputs, scale=3.0), layer(inputs)])
    assert [output.item() for output in model.predict(np.ones((1, 1)))] == [2, 3, 1]
    assert [output.item() for output in copy.deepcopy(model).predict(np.ones((1, 1)))] == [2, 3, 1]


def test_layers_in_lists_and_replaced_layers():
    class Stack(layers.Layer):
        def __init__(self):
            super().__init__()
            self.steps, self.last = [], layers.Dense(7)
            for _ in range(2):
                self.steps.append(layers.Dense(1, use_bias=False, kernel_initializer="ones"))
            self.last = layers.Dense(1, use_bias=False, kernel_initializer="ones")

        def call(self, inputs):
            for step in self.steps:
                inputs = step(inputs)
            return self.last(inputs)
    model = keras.Sequential([Stack()])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(np.ones((4, 1)), np.zeros((4, 1)), batch_size=4, verbose=0)
    assert len(model.weights) == 3
    np.testing.assert_allclose(model.get_weights(), np.full((3, 1, 1), 0.8), rtol=1e-6)


# Copies --------------------------------------------------------------------------------------------------------------

COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda value: pickle.loads(pickle.dumps(value))}


class Own(layers.Layer):
    def __init__(self, units=2, **kwargs):
        super().__init__(**kwargs)
        self.inner, self.scale = layers.Dense(units), 2.0

    def call(self, inputs):
        return self.inner(inputs) * self.scale


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("make", [lambda: layers.Dense(3, activation="tanh", name="d"), lambda: layers.BatchNormalization(),
                                  lambda: layers.Conv1D(3, 2), lambda: Own(3), lambda: Shifted(3, shift=1.0)])
def test_a_layer_is_copied_with_its_weights(way, make):
    layer = make()
    value = np.random.default_rng(2).random((2, 5, 4), np.float32)
    unbuilt = COPIES[way](layer)
    assert not unbuilt.built and unbuilt.name == layer.name and type(unbuilt) is type(layer)
    wanted = layer(value).numpy()
    built = COPIES[way](layer)
    np.testing.assert_array_equal(built(value).numpy(), wanted)
    built.set_weights([weights + 1 for weights in built.get_weights()])
    np.testing.assert_array_equal(layer(value).numpy(), wanted)
    assert unbuilt(value).shape == wanted.shape


@pytest.mark.parametrize("way", COPIES)
def test_what_the_program_has_noted_on_a_layer_is_copied(way):
    layer = Own()
    layer.scale, layer.inner.trainable = 5.0, False
    copied = COPIES[way](layer)
    assert copied.scale == 5.0 and not copied.inner.trainable and copied.trainable


def test_a_shallow_copy_shares_the_weights():
    layer = layers.Dense(1)
    assert copy.copy(layer).get_config() == layer.get_config()
    layer.build((None, 2))
    shared = copy.copy(layer)
    shared.set_weights([np.full((2, 1), 4.0), np.zeros(1)])
    assert layer.get_weights()[0][0, 0] == 4
    own = Own(name="own")
    own(np.ones((1, 2), np.float32))
    with pytest.raises(TypeError) as caught:
        copy.copy(own)
    assert str(caught.value) == ("copy.copy: the layer 'own' and its copy would share their weights, which a class of your own "
                                 "cannot do in Pando; use copy.deepcopy()")


def stack():
    return keras.Sequential([keras.Input((4,)), layers.Dense(3, activation="relu"), Own(3), layers.Dense(1, trainable=False)])


def late():
    return keras.Sequential([layers.Dense(3), layers.Dense(2)], name="late")


def network():
    inputs = keras.Input((4,), name="x")
    hidden = layers.Dense(4, name="shared")
    return keras.Model({"x": inputs}, {"b": hidden(hidden(inputs)), "a": layers.Dense(1)(inputs)})


class Written(keras.Model):
    def __init__(self, units):
        super().__init__()
        self.first, self.last = layers.Dense(units), layers.Dense(1)

    def call(self, inputs):
        return self.last(tf.nn.relu(self.first(inputs)))


def assert_same(one, other):
    assert isinstance(one, dict) == isinstance(other, dict)
    for key in other if isinstance(other, dict) else [...]:
        np.testing.assert_array_equal(one[key], other[key])


class Branching(Written):
    def call(self, inputs, training=None):
        return super().call(inputs * 2.0 if training else inputs)


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("make", [stack, late, network, lambda: Written(5), lambda: Branching(5)])
def test_a_model_is_copied_with_its_weights(way, make):
    value = np.random.default_rng(2).random((3, 4), np.float32)
    model = make()
    COPIES[way](model)
    wanted = model.predict(value) if make is not late else model(value).numpy()
    copied = COPIES[way](model)
    assert type(copied) is type(model) and copied.name == model.name
    assert_same(copied.predict(value), wanted)
    assert [weight.trainable for weight in copied.weights] == [weight.trainable for weight in model.weights]
    copied.set_weights([weights + 1 for weights in copied.get_weights()])
    copied.compile("sgd", "mse")
    assert_same(model.predict(value), wanted)


def test_what_cannot_be_copied_says_why():
    branching = Branching(5)
    branching(np.ones((1, 4), np.float32))
    with pytest.raises(ValueError) as caught:
        keras.models.clone_model(branching)
    assert str(caught.value) == (
        f"clone_model: the call() of '{branching.name}' cannot be cloned layer by layer, because it depends on whether the model "
        "trains, or adds losses; make another Branching")
    inputs = keras.Input((4,))
    with pytest.raises(TypeError) as caught:
        copy.deepcopy(keras.Model(inputs, branching(inputs)))
    assert str(caught.value) == (
        f"the model '{branching.name}' is a part of another model and cannot be copied with it, because its call() depends on "
        "whether it trains, or adds losses; make another object of its class")
    inputs = keras.Input((4,))
    with pytest.raises(Exception, match="the layer 'own_in_a_file' .Own. cannot be saved: its class is not one of Keras's"):
        pickle.dumps(keras.Model(inputs, Own(name="own_in_a_file")(inputs)))


def test_a_model_has_no_shallow_copy():
    with pytest.raises(TypeError) as caught:
        copy.copy(late())
    assert str(caught.value) == ("copy.copy: the model 'late' and its copy would be one; use copy.deepcopy(), or "
                                 "keras.models.clone_model() for other weights")
