# SPDX-License-Identifier: Apache-2.0
"""How a subject is called: classes and functions by their arguments, methods on an object that is made for them."""
import fnmatch
import inspect

from arguments import keras_calls, tf_calls
from arguments.fresh import Fresh
from arguments.subjects import HAS_TORCH
from arguments.values import needed

CALLS = {**keras_calls.CALLS, **tf_calls.CALLS}
if HAS_TORCH:
    from arguments import poptorch_calls
    CALLS.update(poptorch_calls.CALLS)


def call(subject, given):
    """What the subject returns for what it needs, and for what is given besides."""
    arguments = {**needed(subject), **given}
    arguments = {name: value.make() if isinstance(value, Fresh) else value for name, value in arguments.items()}
    for pattern, made in CALLS.items():
        if fnmatch.fnmatchcase(subject.name, pattern) and pattern.count(".") == subject.name.count("."):
            return made(subject, arguments)
    function = subject.function
    return (keras_calls.DERIVED.get(function, function) if inspect.isclass(function) else function)(**arguments)
