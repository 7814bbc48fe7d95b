# SPDX-License-Identifier: Apache-2.0
"""Which layer is being traced on this thread, and what C++ offers to it meanwhile."""
from __future__ import annotations

import contextlib
import threading
from typing import Any

_calls = threading.local()


def current_call() -> Any:
    """The innermost layer that is being traced on this thread and what C++ offers to it; None outside of one."""
    stack = getattr(_calls, "stack", None)
    return stack[-1] if stack else None


@contextlib.contextmanager
def call_of(layer: Any, caller: Any) -> Any:
    """Meanwhile the layer is traced; the caller is what C++ offers to it."""
    stack = _calls.__dict__.setdefault("stack", [])
    stack.append((layer, caller))
    try:
        yield
    finally:
        stack.pop()


def caller_of(layer: Any) -> Any:
    """What C++ offers to this layer if it is being traced; otherwise None."""
    for known, caller in reversed(getattr(_calls, "stack", [])):
        if known is layer:
            return caller
    return None
