# SPDX-License-Identifier: Apache-2.0
"""An argument is obeyed, refused or told of.

Every public class, function and method of pando.keras, pando.tf and pando.poptorch is called, by its signature, with a value
other than the default for each argument. What comes of the call differs (outputs, weights after training, names, text, files),
or an error or a notice names the argument, or arguments/reasons.py says why neither is needed. A new layer, loss or function
needs no line here: its arguments get values by their names (arguments/values.py).
"""
import ast
import collections
import fnmatch
import functools
import inspect
import textwrap

import pytest

from arguments.reasons import REASONS
from arguments.subjects import HAS_TORCH, Subject, all_subjects
from arguments.verdicts import argument_names, refuses_all, verdict

SUBJECTS = all_subjects()


def excuses_of(name):
    """The patterns of the reasons for an argument."""
    return [pattern for pattern in REASONS if fnmatch.fnmatchcase(name, pattern) and pattern.count(".") == name.count(".")]


@functools.lru_cache(maxsize=None)
def ignored(subject):
    """The arguments of a subject that are ignored, with what is wrong; and the patterns of the reasons that excuse others."""
    wrong, used = {}, set()
    for argument in argument_names(subject):
        found = verdict(subject, argument)
        excuses = excuses_of(f"{subject.name}.{argument}")
        if found is not None and excuses:
            used.update(excuses)
        elif found is not None:
            wrong[argument] = found
    return wrong, used


@pytest.mark.parametrize("subject", SUBJECTS, ids=[subject.name for subject in SUBJECTS])
def test_every_argument_is_obeyed_refused_or_told_of(subject):
    assert ignored(subject)[0] == {}


def never_read(subject):
    """The parameters that the body of a function does not read."""
    function = inspect.unwrap(subject.function.__init__ if inspect.isclass(subject.function) else subject.function)
    if not inspect.isfunction(function) or not function.__module__.startswith("pando."):
        return set()
    body = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if isinstance(body, ast.Return):
        return set()
    read = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
    return set() if "locals" in read else set(subject.parameters) - read - {"self", "cls"}


@pytest.mark.parametrize("subject", SUBJECTS, ids=[subject.name for subject in SUBJECTS])
def test_what_is_never_read_has_a_reason(subject):
    names = {argument: f"{subject.name}.{argument}" for argument in never_read(subject)}
    assert [argument for argument, name in names.items() if not excuses_of(name) and not refuses_all(subject)] == []


def test_every_reason_is_needed():
    used = set().union(*(ignored(subject)[1] for subject in SUBJECTS))
    unused = {reason for reason in set(REASONS) - used if HAS_TORCH or not reason.startswith("poptorch.")}
    assert sorted(unused) == []


def test_an_ignored_argument_would_be_found():
    def silent(x, axis=-1):
        return x * 2
    assert list(ignored(Subject("keras.silent", silent))[0]) == ["axis"]


def test_an_error_that_does_not_name_the_argument_would_be_found():
    def unclear(x, axis=-1):
        if axis != -1:
            raise ValueError("no")
        return x
    assert "in words that do not name it" in ignored(Subject("keras.unclear", unclear))[0]["axis"]


def test_a_function_that_cannot_be_called_would_be_found():
    def strange(x, something_new):
        return x
    assert "add a value" in ignored(Subject("keras.strange", strange))[0]["x"]


def test_keras_tensorflow_and_poptorch_are_looked_at():
    count = collections.Counter(subject.name.partition(".")[0] for subject in SUBJECTS)
    assert count["keras"] > 200 and count["tf"] > 150 and (count["poptorch"] > 20 or not HAS_TORCH)
