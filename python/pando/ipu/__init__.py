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

from pando.core.nearest import missing_attribute as _missing

_MODULES = {"config": "config", "ipu_strategy": "strategy", "keras": "keras", "utils": "utils", "scopes": "scopes",
            "ipu_compiler": "compiler", "loops": "loops", "ipu_infeed_queue": "queues", "ipu_outfeed_queue": "queues",
            "ops": "ops", "pipelining_ops": "pipelining_ops", "ipu_estimator": "estimator",
            "ipu_run_config": "estimator", "estimator": "estimator", "queues": "queues", "optimizers": "optimizers",
            "gradient_accumulation": "optimizers"}
_LATER = {"nn_ops", "rnn_ops", "normalization_ops", "horovod", "serving", "embedding_ops"}


def __getattr__(name):
    if name in _MODULES:
        return _importlib.import_module(f"pando.ipu.{_MODULES[name]}")
    if name == "outlined_function":
        from pando.ipu.compiler import outlined_function
        return outlined_function
    raise _missing("tensorflow.python.ipu" if name in _LATER else __name__, name, list(_MODULES))


def __dir__():
    return sorted(_MODULES)
