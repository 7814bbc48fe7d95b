# SPDX-License-Identifier: Apache-2.0
"""tf.logging: the logger "tensorflow"."""
import logging as _logging

DEBUG, INFO, WARN, ERROR, FATAL = (_logging.DEBUG, _logging.INFO, _logging.WARNING, _logging.ERROR, _logging.FATAL)
_log = _logging.getLogger("tensorflow")
info, warning, warn, error, debug = _log.info, _log.warning, _log.warning, _log.error, _log.debug


def set_verbosity(level):
    """Messages of this level and above are shown."""
    _log.setLevel(level)
