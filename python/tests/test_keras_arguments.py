# SPDX-License-Identifier: Apache-2.0
"""Keras: an argument is obeyed or refused, and what is refused is said in words that help."""
import os

import numpy as np
import pytest

import pando.tf as tf
from pando import Error, keras
from pando.keras import layers

X, Y = np.ones((4, 1), np.float32), np.zeros((4, 1), np.float32)


def line(optimizer="sgd", **compiled):
    model = keras.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones", input_shape=(1,))])
    model.compile(optimizer, "mse", **compiled)
    return model


def weight(model):
    return model.get_weights()[0].item()


def words(call):
    with pytest.raises(Exception) as caught:
        call()
    return str(caught.value)


# Learning rates ------------------------------------------------------------------------------------------------------

def test_a_function_as_the_learning_rate_is_called_before_each_step():
    rates = []

    def rate():
        rates.append(0.1 / (1 + len(rates)))
        return rates[-1]
    model, expected = line(keras.optimizers.SGD(rate)), 1.0
    model.fit(X, Y, batch_size=1, epochs=2, verbose=0)
    assert len(rates) == 8
    model.train_on_batch(X, Y)
    assert len(rates) == 9
    for value in rates:
        expected -= value * 2 * expected
    np.testing.assert_allclose(weight(model), expected, rtol=1e-5)


def test_a_function_as_the_learning_rate_may_read_what_callbacks_change():
    state = {"rate": 0.1}
    model = line(keras.optimizers.Adam(learning_rate=lambda: state["rate"]))
    stop = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: state.update(rate=0.0))
    model.fit(X, Y, batch_size=4, verbose=0, callbacks=[stop])
    after_one = weight(model)
    model.fit(X, Y, batch_size=4, epochs=3, verbose=0)
    assert after_one != 1.0 and weight(model) == after_one
    state["rate"] = 0.25
    assert float(model.optimizer.learning_rate) == 0.25 and model.optimizer.get_config()["learning_rate"] == 0.25


def test_with_several_steps_it_is_called_before_each_execution_and_that_is_said(run_python):
    program = ("from pando import keras; import numpy as np\n"
               "calls = []\n"
               "model = keras.Sequential([keras.layers.Dense(1, input_shape=(1,))])\n"
               "model.compile(keras.optimizers.SGD(lambda: calls.append(0) or 0.1), 'mse', steps_per_execution=4)\n"
               "for _ in range(2): model.fit(np.ones((8, 1)), np.ones((8, 1)), batch_size=1, verbose=0)\n"
               "print(len(calls))")
    process = run_python("-c", program)
    assert process.stdout == "4\n"
    assert process.stderr == ("The learning rate is a function, which is called before each execution of 4 steps: their updates "
                              "have the same rate. A schedule changes it with every update.\n")


def test_a_learning_rate_that_makes_no_sense_is_refused():
    assert words(lambda: line(keras.optimizers.SGD(lambda: float("nan"))).fit(X, Y, verbose=0)) == (
        "sgd: the learning rate is nan but must be a finite number, 0 or more")
    assert words(lambda: keras.optimizers.SGD(None)) == (
        "learning_rate is None, but must be a number, a schedule or a function")
    assert words(lambda: keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay)) == (
        "learning_rate is the class CosineDecay, but must be an object, such as CosineDecay(...)")
    assert words(lambda: keras.optimizers.SGD(momentum=None)) == "SGD: momentum cannot be None"
    optimizer = keras.optimizers.Adam()
    with pytest.raises(TypeError, match=r"Adam: learning_rate can be set to a number only; give a schedule or a function to"):
        optimizer.learning_rate = lambda: 0.1


def test_the_configuration_has_the_learning_rate_of_now():
    optimizer = keras.optimizers.SGD(0.5, momentum=0.9)
    optimizer.learning_rate = 0.125
    assert optimizer.get_config() == {"name": "SGD", "learning_rate": 0.125, "momentum": 0.9, "nesterov": False}
    assert float(keras.optimizers.SGD.from_config(optimizer.get_config()).learning_rate) == 0.125
    assert keras.optimizers.Adam(lr=0.25).get_config()["learning_rate"] == 0.25


# fit and what belongs to it ------------------------------------------------------------------------------------------

def test_validation_data_needs_targets():
    expected = ("fit: validation_data has no targets: give (x, y), (x, y, sample_weight), or a Dataset or generator of such "
                "batches")
    for data in (X, (X,), [X]):
        assert words(lambda: line().fit(X, Y, validation_data=data, verbose=0)) == expected
    assert "val_loss" in line().fit(X, Y, validation_data=(X, Y), verbose=0).history


def test_weights_beside_a_dataset_are_in_the_dataset():
    batches = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    expected = "sample_weight must not be given: {} gives weights with inputs and targets, as a third part"
    for what in ("fit", "evaluate"):
        for data, name in ((batches, "Dataset"), (iter([(X, Y)]), "list_iterator")):
            assert words(lambda: getattr(line(), what)(data, sample_weight=np.ones(len(X)), verbose=0)) == (
                expected.format(name))


def test_callbacks_know_the_steps_of_an_epoch():
    class Steps(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            seen.append(self.params["steps"])
    seen = []
    for arguments in ({}, {"steps_per_epoch": 2}, {"validation_split": 0.5}):
        line().fit(X, Y, batch_size=len(X) // 4, callbacks=[Steps()], verbose=0, **arguments)
    assert seen == [4, 2, 2]


def test_class_weight_is_a_dict():
    assert words(lambda: line().fit(X, Y, class_weight=[1.0, 2.0], verbose=0)) == (
        "fit: class_weight is [1.0, 2.0], but must be a dict from the number of each class to its weight, such as "
        "{0: 1.0, 1: 2.0}")


def test_callbacks_are_objects():
    assert words(lambda: line().fit(X, Y, callbacks=[keras.callbacks.EarlyStopping], verbose=0)) == (
        "fit: callbacks has the class EarlyStopping, but must have objects, such as EarlyStopping()")


def two_outputs(**compiled):
    inputs = keras.Input((1,))
    model = keras.Model(inputs, [layers.Dense(1, name="p")(inputs), layers.Dense(1, name="q")(inputs)])
    model.compile("sgd", "mse", **compiled)
    return model


def test_metrics_names_are_those_of_evaluate():
    model = two_outputs(metrics={"p": "mae"})
    assert model.metrics_names == ["loss", "p_loss", "q_loss", "p_mae"]
    assert list(model.evaluate(X, [Y, Y], verbose=0, return_dict=True)) == model.metrics_names
    assert line(metrics=["mae", "mse"]).metrics_names == ["loss", "mae", "mse"]
    assert keras.Sequential([layers.Dense(1)]).metrics_names == []


def test_outputs_of_one_model_twice_get_names_of_their_own():
    inner, a, b = line(), keras.Input((1,)), keras.Input((1,))
    model = keras.Model([a, b], [inner(a), inner(b)])
    model.compile("sgd", "mse", metrics=["mae"])
    name = inner.name
    assert model.metrics_names == ["loss", f"{name}_loss", f"{name}_1_loss", f"{name}_mae", f"{name}_1_mae"]
    values = model.evaluate([X, 2 * X], {name: Y, f"{name}_1": Y}, verbose=0)
    np.testing.assert_allclose(values, [5, 1, 4, 1, 2], rtol=1e-6)
    model.train_on_batch([X, X], [Y, Y])


@pytest.mark.parametrize("name", ["compute_loss", "compute_metrics", "make_test_function"])
def test_methods_that_would_not_be_called_are_refused(name):
    model = type("Own", (keras.Model,), {name: lambda self, *arguments: 0, "call": lambda self, inputs: inputs})()
    assert words(lambda: model.compile("sgd", "mse")) == (
        f"Own.{name} would not be called: Pando compiles the whole step. Give the loss to compile(), as a function of (y_true, "
        f"y_pred) if need be, add other terms by add_loss() in the call() of a layer, and remove {name}; "
        "pando.torch.compile_step trains modules of PyTorch with losses of any form")


# Files and clones ----------------------------------------------------------------------------------------------------

def test_overwrite_false_keeps_the_file(tmp_path):
    path = str(tmp_path / "model")
    line().save(path)
    other = line()
    other.set_weights([np.full((1, 1), 9.0)])
    for save in (lambda: keras.models.save_model(other, path, overwrite=False), lambda: other.save(path, overwrite=False)):
        assert words(save) == f"save: {path} exists, and overwrite is False"
    assert weight(keras.models.load_model(path)) == 1
    keras.models.save_model(other, path)
    assert weight(keras.models.load_model(path)) == 9


@pytest.mark.parametrize("ending", [".h5", ".hdf5", ".keras", ".onnx", ".tflite", ".pb", ".pt", ".safetensors"])
def test_names_of_other_formats_make_no_folder(tmp_path, ending):
    path = str(tmp_path / "m") + ending
    assert words(lambda: line().save(path)) == (
        f"save: '{path}' would be a folder and not a {ending} file: Pando saves models as folders, with the layers in "
        f"model.json and the weights in weights.safetensors; give a name without '{ending}', or save the weights alone with "
        "save_weights(), as .safetensors or .npz")
    assert not os.path.exists(path)


def test_a_file_is_not_a_model(tmp_path):
    path = tmp_path / "m.keras"
    path.write_bytes(b"PK")
    assert words(lambda: keras.models.load_model(path)) == (
        f"load_model: '{path}' is a file, but Pando reads models from folders that save() has written; load_weights() reads "
        ".safetensors and .npz files")
    assert words(lambda: line().save(str(tmp_path / "m"), save_format="h5")) == "save: save_format='h5' is not in Pando"


def test_clone_model_asks_the_function_for_each_layer():
    asked = []

    def wider(layer):
        asked.append(layer.name)
        return layers.Dense(5, name=layer.name, use_bias=False) if layer.name == "first" else type(layer).from_config(
            layer.get_config())
    stack = keras.Sequential([layers.Dense(2, input_shape=(3,), name="first", use_bias=False), layers.ReLU(name="relu")])
    clone = keras.models.clone_model(stack, clone_function=wider)
    assert asked == ["first", "relu"] and clone.output_shape == (None, 5)
    inputs = keras.Input((3,), name="x")
    first = layers.Dense(2, name="first", use_bias=False)
    shared = keras.Model(inputs, layers.Add()([first(inputs), first(inputs * 2.0)]))
    clone = keras.models.clone_model(shared, clone_function=wider)
    value = np.ones((1, 3), np.float32)
    np.testing.assert_allclose(clone.predict(value), 3 * value @ clone.get_weights()[0], rtol=1e-5)
    assert clone.get_weights()[0].shape == (3, 5) and shared.get_weights()[0].shape == (3, 2)


def test_a_clone_has_weights_of_its_own_also_with_layers_of_the_user():
    class Doubled(layers.Layer):
        def call(self, inputs):
            return inputs * 2.0
    model = keras.Sequential([layers.Dense(3, activation=lambda x: x + 1.0, input_shape=(3,)), Doubled(),
                              layers.Dense(1, trainable=False)])
    clone = keras.models.clone_model(model)
    assert not np.array_equal(clone.get_weights()[0], model.get_weights()[0])
    clone.set_weights(model.get_weights())
    value = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(clone.predict(value), model.predict(value))
    assert [layer.name for layer in clone.layers] == [layer.name for layer in model.layers]
    assert [layer.trainable for layer in clone.layers] == [True, True, False]


def test_clone_model_refuses_what_is_not_a_layer():
    assert words(lambda: keras.models.clone_model(line(), clone_function=lambda layer: 3)).startswith(
        "clone_model: clone_function returned 3 for the layer 'dense")
    assert words(lambda: keras.models.clone_model(line(), clone_function=3)) == (
        "clone_model: clone_function is 3, but must be a function of a layer")
    assert words(lambda: keras.models.clone_model(line(), input_tensors=[1])) == (
        "clone_model: input_tensors=[1] is not in Pando")


# Numbers and shapes --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("make, expected", [
    (lambda: layers.BatchNormalization(momentum=None), "BatchNormalization: momentum cannot be None"),
    (lambda: layers.BatchNormalization(epsilon="small"), "BatchNormalization: epsilon cannot be 'small'"),
    (lambda: layers.Dense(None), "Dense: units cannot be None"), (lambda: layers.Dense(2.5), "Dense: units cannot be 2.5"),
    (lambda: layers.Conv2D(None, 3), "Conv2D: filters cannot be None"),
    (lambda: layers.Conv1D(None, 3), "Conv1D: filters cannot be None"), (lambda: layers.ELU(None), "ELU: alpha cannot be None"),
    (lambda: layers.Dropout("half"), "Dropout: rate cannot be 'half'"),
    (lambda: layers.RepeatVector(1.5), "RepeatVector: n cannot be 1.5")])
def test_a_number_that_is_none_is_named(make, expected):
    assert words(make) == expected


def test_numbers_of_other_types_are_numbers():
    assert layers.Dense(8 / 2).units == 4 and layers.Dense(np.int64(4)).units == 4
    assert layers.Conv2D(np.float32(6), (6 / 2, 3)).kernel_size == (3, 3)


@pytest.mark.parametrize("call, expected", [
    (lambda: tf.matmul(tf.zeros((2, 3)), tf.zeros((4, 5))), "matmul: cannot take tensors of shapes (2, 3) and (4, 5)"),
    (lambda: tf.zeros((2, 3)) + tf.zeros((4,)), "add: cannot take tensors of shapes (2, 3) and (4,)"),
    (lambda: tf.reshape(tf.zeros((2, 3)), (4,)), "reshape: cannot take a tensor of shape (2, 3), with shape=[4]"),
    (lambda: tf.random.normal((None, 3)), "random numbers of shape (None, 3): every size must be known here; only a layer that "
                                          "is traced knows the batch")])
def test_shapes_that_do_not_fit_are_named_in_plain_words(call, expected):
    assert words(call) == expected


def test_plot_model_says_that_it_draws_nothing_and_goes_on(run_python):
    process = run_python("-c", "from pando import keras; keras.utils.plot_model(keras.Sequential()); print('on')")
    assert process.stdout == "on\n"
    assert process.stderr == "plot_model has no effect in Pando; model.summary() and model.explain() describe a model\n"


def test_a_layer_without_super_init_says_so():
    class Forgetful(layers.Layer):
        def __init__(self):
            self.units = 3
    assert words(lambda: Forgetful()(X)) == "Forgetful: call super().__init__() first"
    with pytest.raises(Error):
        line().fit(np.ones((4, 2), np.float32), Y, verbose=0)
