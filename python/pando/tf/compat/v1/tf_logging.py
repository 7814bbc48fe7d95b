# SPDX-License-Identifier: Apache-2.0
"""tf.logging: the logger "tensorflow"."""
from __future__ import annotations

import logging as _logging
from typing import Any

DEBUG, INFO, WARN, ERROR, FATAL = (_logging.DEBUG, _logging.INFO, _logging.WARNING, _logging.ERROR, _logging.FATAL)
_log = _logging.getLogger("tensorflow")
info, warning, warn, error, debug = _log.info, _log.warning, _log.warning, _log.error, _log.debug


def set_verbosity(level: Any) -> Any:
    """Messages of this level and above are shown."""
    _log.setLevel(level)
