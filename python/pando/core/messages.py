# SPDX-License-Identifier: Apache-2.0
"""Text and messages: what the library shows goes to sys.stdout and sys.stderr as they are at that moment, and its
messages go to logging, under the names and in the words that scripts written for other frameworks expect."""
import logging
import os
import re
import sys

from pando import _core

_LOGGERS = {"keras": "tensorflow", "ipu": "tensorflow", "tf": "tensorflow", "poptorch": "poptorch", "torch": "poptorch"}

# Messages that upstream has too: its words, and as a warning.
_UPSTREAM = (
    (re.compile(r"the IPU system was configured before.*"),
     r"Resetting existing IPU configuration before applying new configuration"),
    (re.compile(r"(The model '.*' has been configured with only 1) step (per execution\. .*)", re.DOTALL),
     r"\1 steps \2"),
)

# Wide enough for a bar with many metrics in one line: the cursor of a notebook cannot go up to a second one.
_NOTEBOOK_COLUMNS = 200

_told = set()


class _Handler(logging.Handler):
    """Writes to the current sys.stderr, unless the program has configured logging itself."""

    def emit(self, record):
        if logging.getLogger().handlers:
            return
        try:
            text = self.format(record)
            if record.levelno >= logging.WARNING:
                text = f"{record.levelname}:{record.name}:{text}"
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        except Exception:  # as logging does: a message is not worth the run
            self.handleError(record)


def logger(topic):
    """The logger for messages about a part of Pando."""
    found = logging.getLogger(_LOGGERS.get(topic, "pando"))
    if not any(isinstance(handler, _Handler) for handler in found.handlers):
        found.addHandler(_Handler())
        if found.level == logging.NOTSET:
            found.setLevel(logging.INFO)
    return found


def warn(topic, text):
    """Tells of something that the user may not want."""
    logger(topic).warning("%s", text)


def notice(topic, text):
    """Tells what is done."""
    logger(topic).info("%s", text)


def notice_once(topic, text):
    """The same, once in a process: for options that have no effect."""
    if text not in _told:
        _told.add(text)
        notice(topic, text)


def tell_once(text):
    """Says, once in a process, that an argument of Keras or of programs for IPUs has no effect."""
    notice_once("keras", text)


def _receive(kind, topic, text, below_bar):
    for pattern, words in _UPSTREAM:
        match = pattern.fullmatch(text)
        if match:
            kind, text = "warning", match.expand(words)
    if below_bar and _columns("stderr"):
        sys.stderr.write("\n")
    (warn if kind == "warning" else notice)(topic, text)


def _in_notebook():
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell is not None else None
    return getattr(shell, "kernel", None) is not None


def _columns(stream):
    """The width of the terminal; a notebook goes back to the beginning of a line, but never up; 0 for anything else."""
    target = getattr(sys, stream)
    try:
        if not target.isatty():
            return _NOTEBOOK_COLUMNS if _in_notebook() and type(target).__module__.startswith("ipykernel") else 0
        if os.environ.get("TERM") == "dumb":
            return 0
        return os.get_terminal_size(target.fileno()).columns or 80
    except (AttributeError, OSError, ValueError):
        return 0


def _writer(stream):
    def write(text):
        target = getattr(sys, stream)
        if target is not None:
            target.write(text)
            target.flush()
    return write


def _is_unicode(target):
    return (getattr(target, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def install():
    """Takes the output and the messages of the library over."""
    for stream in ("stdout", "stderr"):
        target = getattr(sys, stream)
        _core.set_output(stream, _writer(stream), lambda stream=stream: _columns(stream),
                         color=not _in_notebook(), unicode=_is_unicode(target))
    _core.set_message_handler(_receive)
