# SPDX-License-Identifier: Apache-2.0
"""Sessions: run what was built, feed it, fetch its values."""
from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from pando import _core
from pando.core.keywords import accepts
from pando.core.messages import notice_once
from pando.core.promotion import fitted
from pando.core.structure import flatten, is_nested, pack
from pando.tensors.tensor import sessions
from pando.tf.compat.v1.graph import Variable, name_of_placeholder, tensor_named


class ConfigProto:
    """Accepted: Pando has no options for sessions."""

    @accepts("allow_soft_placement", "cluster_def", "device_count", "device_filters", "experimental", "gpu_options",
             "graph_options", "inter_op_parallelism_threads", "intra_op_parallelism_threads", "isolate_session_state",
             "log_device_placement", "operation_timeout_in_ms", "placement_period", "rpc_options",
             "share_cluster_devices_in_session", "use_per_session_threads")
    def __init__(self) -> None:
        self.graph_options = self.gpu_options = self


class Session:
    """Runs fetches: tensors, variables, operations, compiled computations, and lists, tuples or dicts of them."""

    def __init__(self, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if target:
            raise NotImplementedError(f"Session: target={target!r} is not in Pando, whose sessions run in this process")
        self._native = _core.Session()
        # The last fetch as C++ takes it: loops run the same one again and again.
        self._last = (None, None)
        self.graph = graph

    def __enter__(self):
        sessions.append(self)
        return self

    def __exit__(self, *arguments):
        sessions.remove(self)

    def close(self) -> None:
        """Ends the session; its variables stay as they are."""

    def as_default(self) -> Any:
        """Makes it the session of ``eval`` and ``run`` in the ``with`` block."""
        return self

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None, options: Any = None,
            run_metadata: Any = None) -> Any:
        """The values of the fetches, in their structure; None for an operation."""
        for name, value in (("options", options), ("run_metadata", run_metadata)):
            if value is not None:
                notice_once("tf", f"Session.run: {name} has no effect in Pando")
        last, prepared = self._last
        if last is not fetches:
            prepared = _Prepared(fetches)
            # A list may be another one when it comes again.
            if not is_nested(fetches):
                self._last = (fetches, prepared)
        return prepared.pack(self._native.run(prepared.natives, _feeds(feed_dict) if feed_dict else []))


class InteractiveSession(Session):
    """A session that is the default from the beginning."""

    def __init__(self, target: Any = "", graph: Any = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        sessions.append(self)

    def close(self) -> Any:
        """Ends the session; another one, if there is one, is the default again."""
        if self in sessions:
            sessions.remove(self)


class _Prepared:
    """Fetches as a flat list for C++, and the way back."""

    def __init__(self, fetches: Any) -> None:
        self._structure = fetches if is_nested(fetches) else None
        leaves = flatten(fetches) if is_nested(fetches) else [fetches]
        self._finish = [getattr(leaf, "_results", _only) for leaf in leaves]
        self.natives = _core.Fetches([(_fetch(leaf), _are_operations(leaf)) for leaf in leaves])

    def pack(self, results: Any) -> Any:
        if self._structure is None:
            return self._finish[0](results[0])
        return pack(self._structure, [finish(values) for finish, values in zip(self._finish, results)])


def _fetch(leaf):
    if isinstance(leaf, str):
        leaf = tensor_named(leaf)
    if isinstance(leaf, Variable):
        return _core.fetch(leaf._variable)
    native = getattr(leaf, "_native", None)
    if native is None:
        native = getattr(leaf, "_value", leaf)
    if not isinstance(native, (_core.Symbol, _core.Operation, _core.Compiled, _core.Fetch)):
        raise TypeError(f"run: {leaf!r} cannot be fetched: give tensors, operations, variables, or what "
                        "ipu_compiler.compile returned")
    return _core.fetch(native)


def _only(values):
    return values[0]


def _are_operations(leaf):
    """Which of its results are of operations, which have no value; empty for all that it has."""
    if isinstance(leaf, _core.Operation):
        return [True]
    return getattr(leaf, "_are_operations", [])


def _feeds(feed_dict):
    feeds = []
    for key, value in feed_dict.items():
        tensor = tensor_named(key) if isinstance(key, str) else key
        symbol = tensor._value
        array = np.asarray(getattr(value, "_value", value))
        wider = {"float32": "float64", "int32": "int64"}.get(symbol.dtype)
        if array.dtype.name != symbol.dtype and (not isinstance(value, np.ndarray) or array.dtype.name == wider):
            array = fitted(f"feed_dict of {name_of_placeholder(symbol)}", array, symbol.dtype)
        feeds.append((symbol, array))
    return feeds


def get_default_session() -> Any:
    """The innermost session that was entered, or None."""
    return sessions[-1] if sessions else None
