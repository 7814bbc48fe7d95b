# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.ipu on virtual IPUs: configuration, strategies, pipelines, and computations of sessions.

>>> from pando import ipu
>>> config = ipu.config.IPUConfig()
>>> config.auto_select_ipus = 1
>>> config.configure_ipu_system()
>>> with ipu.ipu_strategy.IPUStrategy().scope():
...     pass  # models made here run on the IPU
"""
import importlib as _importlib
import typing as _typing

from pando.core.nearest import missing_attribute as _missing

_MODULES = ("config", "distributed", "gradient_accumulation", "ipu_compiler", "ipu_estimator", "ipu_infeed_queue",
            "ipu_multi_worker_strategy", "ipu_outfeed_queue", "ipu_run_config", "ipu_strategy", "keras", "loops", "ops",
            "optimizers", "pipelining_ops", "scopes", "utils")


if _typing.TYPE_CHECKING:
    from pando.ipu import (config, distributed, ipu_compiler, ipu_estimator, ipu_infeed_queue,
                           ipu_multi_worker_strategy, ipu_outfeed_queue, ipu_run_config, ipu_strategy, keras, loops,
                           ops, optimizers, pipelining_ops, scopes, utils)
    from pando.ipu import optimizers as gradient_accumulation
    from pando.ipu.ipu_compiler import outlined_function
else:
    def __getattr__(name):
        if name == "gradient_accumulation":
            return _importlib.import_module("pando.ipu.optimizers")
        if name == "outlined_function":
            return _importlib.import_module("pando.ipu.ipu_compiler").outlined_function
        if name in _MODULES:
            return _importlib.import_module(f"pando.ipu.{name}")
        raise _missing(__name__, name, _MODULES)


def __dir__():
    return sorted(_MODULES)
