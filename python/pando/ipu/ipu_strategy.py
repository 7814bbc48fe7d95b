# SPDX-License-Identifier: Apache-2.0
"""IPUStrategy: models made in its scope run on the IPUs of a device."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.devices import CoreScope, ensure_configured
from pando.core.nearest import attributes_of as _attributes_of


class IPUStrategy:
    """Where models run: on the IPUs that the device has when the scope is entered."""
    _core_strategy = _core.IPUStrategy

    def __init__(self, ipu_device: str = "/device:IPU:0", cpu_device: str = "/device:CPU:0",
                 enable_dataset_iterators: bool = True, enable_keras_extensions: bool = True) -> None:
        ensure_configured()
        self._strategy = self._core_strategy(ipu_device)

    def scope(self) -> CoreScope:
        """Models made in it run on the IPUs."""
        return CoreScope(self._strategy.scope(), self)

    @property
    def num_ipus(self) -> int:
        """The number of virtual IPUs that the configured system has."""
        return self._strategy.num_ipus

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of copies of a model that train together."""
        return self._strategy.num_ipus

    def run(self, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Calls a function of models; their steps run on the IPUs."""
        with self.scope():
            return fn(*args, **(kwargs or {}))

    experimental_run_v2 = run


IPUStrategyV1 = IPUStrategy

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
