# SPDX-License-Identifier: Apache-2.0
"""Errors of the packages."""


class TraceError(TypeError):
    """A value was asked for while a model is recorded or traced, when only its type and shape are known."""


def no_value(what):
    """The error for asking a symbol for its value."""
    return TraceError(f"{what}: the value of this tensor is known only when the program runs; "
                      "use where() instead of if, and look at values outside of the model")
