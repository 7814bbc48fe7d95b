# SPDX-License-Identifier: Apache-2.0
"""Errors and messages name what a Python program writes, and functions refuse arguments that upstream's lack."""
import logging

import numpy as np
import pytest

import pando.tf.compat.v1 as tf
from pando import Error, _core, ipu, keras
from pando.tf import distribute

TEXTS = [
    ("assign what ipu_compiler::compile returns", "assign what ipu_compiler.compile returns"),
    ('make an ipu::scopes::ipu_scope("/device:IPU:0") around it', 'make an ipu.scopes.ipu_scope("/device:IPU:0") around it'),
    ("pando::keras::Input(...)", "pando.keras.Input(...)"),
    ("set_pipelining_options({.gradient_accumulation_steps_per_replica = ...})",
     "set_pipelining_options(gradient_accumulation_steps_per_replica=...)"),
    ("leave them out: {.drop_last = true, .shuffle = false}", "leave them out: drop_last=True, shuffle=False"),
    # The user's.
    ("the layer 'a::b' is the device's keras::Input", "the layer 'a::b' is the device's keras.Input"),
    ("/tmp/a::b/c: cannot be read", "/tmp/a::b/c: cannot be read"),
    # Nothing of C++.
    ("x = 1 is true: {} or {a}, at 10:30", "x = 1 is true: {} or {a}, at 10:30"), ("::", "::"), ("a::", "a::"), ("", "")]


@pytest.mark.parametrize("text, wanted", TEXTS)
def test_names_and_options_are_spelled_as_in_python(text, wanted):
    assert _core.in_python(text) == wanted


def never_initialised():
    tf.reset_default_graph()
    variable = tf.get_variable("w", initializer=np.ones(2, np.float32))
    tf.Session().run(variable)


def one_column():
    model = keras.Sequential([keras.layers.Dense(3, activation="softmax", input_shape=(2,))])
    model.compile(loss="categorical_crossentropy")
    model.fit(np.zeros((4, 2)), np.zeros((4, 1)), verbose=0)


@pytest.mark.parametrize("call, words", [
    (never_initialised, r"tf\.global_variables_initializer\(\)"),
    (one_column, r"keras\.utils\.to_categorical")])
def test_errors_of_the_library(call, words):
    with pytest.raises(Error, match=words) as raised:
        call()
    assert "::" not in str(raised.value)


def test_what_a_function_returns_is_refused_without_types_of_cpp():
    with pytest.raises(TypeError) as raised:
        _core.set_output("stdout", None, 3)
    assert "C++" not in str(raised.value) and "std::" not in str(raised.value)


@pytest.mark.parametrize("call, words", [
    (lambda: ipu.ipu_infeed_queue.IPUInfeedQueue(None, prefetch_dept=3),
     r"IPUInfeedQueue\(\) got an unexpected keyword argument 'prefetch_dept'; the nearest is prefetch_depth"),
    (lambda: ipu.ipu_outfeed_queue.IPUOutfeedQueue(replication_facto=2), "the nearest is replication_factor"),
    (lambda: ipu.utils.create_ipu_config(profilin=True), "the nearest is profiling"),
    (lambda: ipu.utils.set_matmul_options(ipu.utils.create_ipu_config(), matmul_option={}), "the nearest is matmul_options"),
    (lambda: ipu.pipelining_ops.pipeline([], acumulate_outfeed=True), "the nearest is accumulate_outfeed"),
    (lambda: ipu.ipu_run_config.RunConfig(save_checkpoint_steps=3), "the nearest is save_checkpoints_steps"),
    (lambda: tf.get_variable("v", [2], initialiser=None), r"get_variable\(\) .*; the nearest is initializer"),
    (lambda: tf.layers.dense(None, 3, kernel_initialiser=None), "the nearest is kernel_initializer"),
    (lambda: tf.train.Saver(max_to_kep=3), "the nearest is max_to_keep"),
    (lambda: tf.ConfigProto(allow_soft_placemen=True), "the nearest is allow_soft_placement"),
    (lambda: tf.nn.embedding_lookup([[1.0]], [0], partition_strateg="mod"), "the nearest is partition_strategy"),
    (lambda: keras.Sequential().set_gradient_accumulation_options(step=2), "unexpected keyword argument 'step'"),
    (lambda: distribute.OneDeviceStrategy("/cpu:0", 3), "positional argument")])
def test_arguments_that_upstream_lacks_are_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize("call, words", [
    (lambda: tf.nn.embedding_lookup([[1.0]], [0], max_norm=2.0), "embedding_lookup: max_norm=2.0 is not in Pando"),
    (lambda: tf.get_variable("v", [2], regularizer=abs), "get_variable: regularizer=.* is not in Pando"),
    (lambda: keras.Sequential().set_gradient_accumulation_options(2, gradient_accumulation_reduction_method="mean"),
     r"give reduction='mean' to compile\(\)")])
def test_values_that_would_change_the_result_are_refused(call, words):
    with pytest.raises(NotImplementedError, match=words):
        call()


def test_arguments_without_effect_are_told_of_once(caplog):
    with caplog.at_level(logging.INFO, logger="tensorflow"):
        for _ in range(2):
            ipu.ipu_outfeed_queue.IPUOutfeedQueue("name", replication_factor=4, io_batch_size=None)
    told = [record.getMessage() for record in caplog.records if "IPUOutfeedQueue" in record.getMessage()]
    assert told == ["IPUOutfeedQueue: replication_factor has no effect in Pando"]


def test_the_initializer_of_a_scope_is_that_of_its_variables():
    tf.reset_default_graph()
    with tf.variable_scope("outer", initializer=tf.constant_initializer(3.0)):
        with tf.variable_scope("inner"):
            found = tf.get_variable("scoped", [2])
        own = tf.get_variable("own", [1], initializer=tf.constant_initializer(1.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(found).tolist() == [3.0, 3.0] and session.run(own).tolist() == [1.0]
    assert found.name == "outer/inner/scoped:0"


def test_range_and_matmul_take_upstreams_names():
    import pando.tf as tf2
    assert tf2.range(3).numpy().tolist() == [0, 1, 2]
    assert tf2.range(start=1, limit=7, delta=2).numpy().tolist() == [1, 3, 5]
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert tf2.matmul(a, a, adjoint_b=True, a_is_sparse=False).numpy().tolist() == (a @ a.T).tolist()
