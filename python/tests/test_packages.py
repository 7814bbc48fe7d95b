# SPDX-License-Identifier: Apache-2.0
"""The packages stand on each other: each loads only those below it, and hands on what it takes from them."""
import json

import numpy as np
import pytest

import pando.tf as tf
from conftest import needs_torch
from pando import _core, ipu, keras
from pando.keras import layers

LOADED = "print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('pando.')} - {'_core'}))"


@pytest.mark.parametrize("package, loaded", [
    ("core", "core"), ("compat", "compat core"), ("tensors", "core tensors"), ("keras", "core keras tensors"),
    ("tf", "core keras tensors tf"), pytest.param("torch", "core torch", marks=needs_torch),
    pytest.param("poptorch", "core poptorch torch", marks=needs_torch)])
def test_a_package_loads_those_below_it_alone(run_python, package, loaded):
    assert run_python("-c", f"import sys, pando.{package}; {LOADED}").stdout.split() == loaded.split()


def test_stages_of_pipelines_have_one_definition():
    from pando.ipu.keras import extensions
    assert ipu.keras.PipelineStage is keras.ipu.PipelineStage is extensions.PipelineStage
    with pytest.raises(AttributeError, match="pando.ipu.keras has no 'PipelineStag' in Pando; the nearest is PipelineStage"):
        ipu.keras.PipelineStag


def test_activations_of_tf_are_those_of_keras_and_known_to_layers():
    assert tf.nn.relu is keras.ops.relu and tf.nn.tanh is keras.ops.tanh
    model = keras.Sequential([layers.Dense(2, activation=keras.ops.tanh, input_shape=(3,))])
    assert json.loads(model.to_json())["config"]["layers"][-1]["config"]["activation"] == "tanh"
    np.testing.assert_allclose(keras.ops.leaky_relu([-2.0, 3.0], negative_slope=0.5).numpy(), [-1, 3])
    np.testing.assert_allclose(tf.nn.leaky_relu([-2.0, 3.0], alpha=0.5).numpy(), [-1, 3])


def test_layers_of_a_loaded_model_have_the_classes_of_pando():
    class Dense(layers.Layer):
        """A user's class of the same name, which must not take the place of Pando's."""

    inputs = keras.Input((3,))
    made = [keras.Model(inputs, layers.ReLU()(layers.Dense(2)(inputs))),
            keras.Sequential([layers.Dense(2, input_shape=(3,)), layers.ReLU()])]
    for model in made:
        loaded = keras.models.model_from_json(model.to_json())
        assert type(loaded) is type(model)
        assert [type(layer) for layer in loaded.layers[-2:]] == [layers.Dense, layers.ReLU]
        assert not isinstance(loaded.layers[-2], Dense)


def test_a_tensor_is_evaluated_in_the_innermost_session():
    tf.compat.v1.reset_default_graph()
    doubled = tf.compat.v1.constant(2.0) * 2.0
    with pytest.raises(ValueError, match="^eval: there is no default session; use `with tf.Session\\(\\):` or give one$"):
        doubled.eval()
    assert doubled.eval(session=tf.compat.v1.Session()) == 4
    with tf.compat.v1.Session() as outer, tf.compat.v1.Session() as inner:
        assert tf.compat.v1.get_default_session() is inner is not outer
        assert doubled.eval() == 4


def test_a_device_of_tf_is_that_of_ipu(request):
    request.addfinalizer(_core.reset_ipu_configuration)
    _core.reset_ipu_configuration()
    with tf.device("/device:CPU:0"):
        assert not any("IPU" in device["name"] for device in _core.devices())
    with tf.device("/device:IPU:0"):
        compiled = ipu.ipu_compiler.compile(lambda x: x * 2.0, [tf.constant(3.0)])
    assert any("IPU" in device["name"] for device in _core.devices())
    with tf.compat.v1.Session() as session:
        assert session.run(compiled) == [6]
