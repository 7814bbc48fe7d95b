# SPDX-License-Identifier: Apache-2.0
"""keras.config: settings of Keras 3."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core.nearest import attributes_of as _attributes_of
from pando.keras.backend import epsilon, floatx, image_data_format, set_epsilon, set_floatx  # noqa: F401
from pando.keras.backend import set_image_data_format  # noqa: F401


def backend() -> Any:
    """The name of what computes."""
    return "pando"


def disable_traceback_filtering() -> Any:
    """Accepted: tracebacks are always whole."""


enable_traceback_filtering = disable_interactive_logging = enable_interactive_logging = disable_traceback_filtering

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
