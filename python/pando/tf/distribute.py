# SPDX-License-Identifier: Apache-2.0
"""tf.distribute: strategies of the host, which change nothing; IPUs are chosen by ipu.ipu_strategy.IPUStrategy."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core.nearest import attributes_of as _attributes_of



class Strategy:
    """A strategy whose scope changes nothing: models made in it run on the host."""

    num_replicas_in_sync = 1

    def __init__(self, extended: Any = None) -> None:
        pass

    def scope(self) -> Any:
        """Makes models in the ``with`` block run as the strategy says."""
        return _Scope(self)


class _Scope:
    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy

    def __enter__(self):
        return self._strategy

    def __exit__(self, *arguments):
        return None


class OneDeviceStrategy(Strategy):
    """As ``Strategy``: the host is the one device."""

    def __init__(self, device: Any) -> None:
        super().__init__()


class MirroredStrategy(Strategy):
    """As ``Strategy``: there is one host to mirror."""

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        super().__init__()


def get_strategy() -> Any:
    """The strategy without a scope."""
    return Strategy()

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
