# SPDX-License-Identifier: Apache-2.0
"""Functions take the arguments of upstream by the same names in the same order; what is added is given by name alone.

upstream/signatures.csv has the names, written down from the documentation of Keras 2.6, with what later releases
add at the end, and of PopTorch 3.
"""
import csv
import importlib
import inspect
import pathlib

import numpy as np
import pytest

from conftest import needs_torch
from pando import keras

with open(pathlib.Path(__file__).parent / "upstream/signatures.csv", newline="") as _file:
    ROWS = [(row["name"], row["parameters"].split()) for row in csv.DictReader(_file)]
KINDS = inspect.Parameter


def found(name):
    """The object of a dotted name within pando."""
    parts = name.split(".")
    member = importlib.import_module(f"pando.{parts[0]}")
    for part in parts[1:]:
        member = getattr(member, part)
    return member


def given_by_place(function):
    """The names of the arguments that a call may give by their place."""
    function = function.__init__ if inspect.isclass(function) else function
    return [name for name, parameter in inspect.signature(function).parameters.items()
            if name != "self" and parameter.kind in (KINDS.POSITIONAL_ONLY, KINDS.POSITIONAL_OR_KEYWORD)]


@pytest.mark.parametrize("name, parameters", [
    pytest.param(name, parameters, marks=needs_torch if name.startswith("poptorch.") else (), id=name)
    for name, parameters in ROWS])
def test_arguments_are_those_of_upstream(name, parameters):
    assert given_by_place(found(name)) == parameters


@pytest.mark.parametrize("call, words", [
    (lambda: keras.Sequential().fit([[1.0]], [1.0], validation_freq=2), "fit: validation_freq=2 is not in Pando"),
    (lambda: keras.Sequential().fit([[1.0]], [1.0], validation_batch_size=7), "fit: validation_batch_size is not in Pando"),
    (lambda: keras.Sequential().compile("sgd", "mse", weighted_metrics=["mae"]), "weighted_metrics are not in Pando"),
    (lambda: keras.layers.Dense(1, kernel_constraint="non_neg"), "kernel_constraint='non_neg' is not in Pando"),
    (lambda: keras.callbacks.EarlyStopping(start_from_epoch=3), "start_from_epoch is not in Pando"),
    (lambda: keras.losses.SparseCategoricalCrossentropy(ignore_class=1), "ignore_class is not in Pando")])
def test_what_is_not_there_is_refused(call, words):
    with pytest.raises((NotImplementedError, ValueError), match=words):
        call()


@pytest.mark.parametrize("call, words", [
    (lambda: keras.Sequential().compile("sgd", "mse", run_eagerl=True), "unexpected keyword argument 'run_eagerl'"),
    (lambda: keras.Sequential().fit([[1.0]], [1.0], epoch=3), "unexpected keyword argument 'epoch'; the nearest is epochs"),
    (lambda: keras.layers.Dense(3, activaton="relu"), "Dense has no argument 'activaton'"),
    (lambda: keras.optimizers.Adam(learnin_rate=1), "unexpected keyword argument 'learnin_rate'"),
    pytest.param(lambda: importlib.import_module("pando.poptorch").Options().deviceIteration(3),
                 "deviceIteration' in Pando; the nearest is deviceIterations", marks=needs_torch)])
def test_arguments_that_do_not_exist_are_refused(call, words):
    with pytest.raises((TypeError, AttributeError), match=words):
        call()


def test_save_does_not_overwrite_what_it_must_not(tmp_path):
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
    model.save_weights(tmp_path / "w.npz")
    with pytest.raises(FileExistsError, match="overwrite is False"):
        model.save_weights(tmp_path / "w.npz", overwrite=False)
    assert np.load(tmp_path / "w.npz")
