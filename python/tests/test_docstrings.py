# SPDX-License-Identifier: Apache-2.0
"""help() helps: every public class, function and method says what it does."""
import importlib
import inspect
import operator
import pkgutil
import pydoc

import pytest

import pando
from conftest import needs_torch
from pando import keras
from pando.core.nearest import public_names

PACKAGES = ("compat", "ipu", "keras", "tf", *([] if needs_torch.args[0] else ["poptorch"]))
MODULES = [f"pando.{package}" for package in (*PACKAGES, *([] if needs_torch.args[0] else ["torch"]))]
MODULES += sorted(found.name for package in PACKAGES for found in pkgutil.walk_packages(
    importlib.import_module(f"pando.{package}").__path__, f"pando.{package}."))
# What these modules have is used by others of their package, and not by users.
INNER = {"pando.compat.finder", "pando.tf.mapping", "pando.keras.data", "pando.keras.html", "pando.keras.layers.calls",
         "pando.keras.stages", "pando.keras.eager", "pando.poptorch.passes"}


def is_ours(member):
    module = getattr(member, "__module__", None) or ""
    return module.startswith("pando.") and not module.startswith("pando._core")


def undocumented(module):
    """The names in a module that users meet and that say nothing about themselves."""
    for name in public_names(module):
        member = inspect.getattr_static(module, name, None)
        if not is_ours(member) or not (inspect.isclass(member) or inspect.isfunction(member)):
            continue
        if not (member.__doc__ or "").strip():
            yield f"{module.__name__}.{name}"
        if not inspect.isclass(member):
            continue
        for part, value in vars(member).items():
            if part.startswith("_") or not (inspect.isfunction(value) or isinstance(value, (property, classmethod))):
                continue
            if inspect.isfunction(value) and not is_ours(value):
                continue
            # A method that overrides another one may leave it to that one to say what it does.
            if not (inspect.getdoc(getattr(member, part)) or "").strip():
                yield f"{module.__name__}.{name}.{part}"


@pytest.mark.parametrize("name", [name for name in MODULES if name not in INNER])
def test_everything_public_says_what_it_does(name):
    assert list(undocumented(importlib.import_module(name))) == []


def test_a_name_without_a_docstring_would_be_found():
    module = type(pando)("pando.nothing")

    def silent():
        pass
    silent.__module__ = "pando.nothing"
    module.silent = silent
    assert list(undocumented(module)) == ["pando.nothing.silent"]


@pytest.mark.parametrize("subject, words", [
    (pando, ["where to begin", "python3 -m pando"]), (keras.Model, ["Model(inputs, outputs)", "call(self, inputs)"]),
    (keras.Model.fit, ["x: ", "validation_split", "History", ">>>"]), (keras.Model.compile, ["loss", "steps_per_execution"]),
    (keras.layers.Dense, ["units", ">>>"]),
    pytest.param("poptorch.trainingModel", ["optimizer", ">>>"], marks=needs_torch),
    pytest.param("poptorch.Options", ["deviceIterations", ">>>"], marks=needs_torch)])
def test_help_of_what_users_meet_first(subject, words):
    if isinstance(subject, str):
        subject = operator.attrgetter(subject)(pando)
    text = pydoc.render_doc(subject, renderer=pydoc.plaintext)
    assert all(word in text for word in words), text
