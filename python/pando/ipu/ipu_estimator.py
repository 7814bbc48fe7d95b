# SPDX-License-Identifier: Apache-2.0
"""ipu.ipu_estimator: a model function trained, evaluated and asked in loops on IPUs.

The model function is called once for each of train, evaluate and predict, while a computation is traced. The layers that
it makes are new each time, as upstream; they take their weights from the last training, in the order in which they are
made. With ``model_dir``, the weights are kept there between programs.
"""
from __future__ import annotations

import inspect
import os
import typing as _typing
from typing import Any

import numpy as np

from pando.core.hints import Function, Path
from pando.core.keywords import accepts as _accepts
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.structure import is_nested, pack
from pando.ipu import config as _config
from pando.ipu import ipu_compiler, loops, scopes
from pando.ipu.queues import IPUInfeedQueue, IPUOutfeedQueue
from pando.keras.layers.calls import watch_layers
from pando.tf.compat.v1.estimator import EstimatorSpec, ModeKeys


class IPURunConfig:
    """Which IPUs are used, and how many steps a loop has."""

    @_accepts("autosharding", "compile_summary", "prefetch_depth")
    def __init__(self, iterations_per_loop: int = 1, ipu_options: Any = None, num_replicas: int = 1,
                 num_shards: int = 1, ordinal: int = 0) -> None:
        self.iterations_per_loop, self.ipu_options = int(iterations_per_loop), ipu_options
        self.num_replicas, self.ordinal = int(num_replicas), int(ordinal)


class RunConfig:
    """Where weights are kept, and how the IPUs are used."""

    @_accepts("master", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs", "session_config",
              "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "train_distribute", "device_fn", "protocol",
              "eval_distribute", "experimental_distribute", "experimental_max_worker_delay_secs",
              "session_creation_timeout_secs", "checkpoint_save_graph_def")
    def __init__(self, ipu_run_config: Any = None, model_dir: Path | None = None, log_step_count_steps: int = 100,
                 tf_random_seed: Any = None) -> None:
        self.ipu_run_config = ipu_run_config or IPURunConfig()
        self.model_dir, self.log_step_count_steps = model_dir, log_step_count_steps


class IPUEstimator:
    """Trains, evaluates and asks the model that a function describes."""

    def __init__(self, model_fn: Function, model_dir: Path | None = None, config: Any = None, params: Any = None,
                 warm_start_from: Any = None) -> None:
        self.config = config or RunConfig()
        self.model_dir = model_dir or self.config.model_dir
        self.params = dict(params or {})
        self._model_fn = model_fn
        self._weights = self._load()
        options = self.config.ipu_run_config.ipu_options
        if options is None:
            options = _config.IPUConfig()
            options.auto_select_ipus = max(1, self.config.ipu_run_config.num_replicas)
        options.configure_ipu_system()

    def train(self, input_fn: Function, steps: int | None = None, max_steps: int | None = None, hooks: Any = None,
              saving_listeners: Any = None) -> Any:
        """Runs this many training steps, in loops of ``iterations_per_loop``."""
        steps = int(steps or max_steps or 0)
        if steps < 1:
            raise ValueError("train: give the number of steps, at least 1")

        def results(spec):
            if spec.train_op is None:
                raise ValueError("train: the EstimatorSpec of the model function has no train_op")
            return {"loss": spec.loss}, spec.train_op
        per_loop = min(max(1, self.config.ipu_run_config.iterations_per_loop), steps)
        if steps % per_loop:
            raise ValueError(f"train: {steps} steps are not a multiple of iterations_per_loop, {per_loop}")
        layers, _ = self._run(input_fn, ModeKeys.TRAIN, results, per_loop, steps // per_loop)
        self._weights = [layer.get_weights() for layer in layers]
        self._save()
        return self

    def evaluate(self, input_fn: Function, steps: int | None = None, hooks: Any = None, checkpoint_path: Any = None,
                 name: str | None = None) -> Any:
        """The means of the loss and of the metrics over the steps."""
        def results(spec):
            values = {key: value[0] if isinstance(value, (tuple, list)) else value
                      for key, value in (spec.eval_metric_ops or {}).items()}
            return {"loss": spec.loss, **values}, None
        _, outputs = self._run(input_fn, ModeKeys.EVAL, results, self._steps(input_fn, steps), 1)
        return {key: float(np.mean(value)) for key, value in outputs.items()}

    def predict(self, input_fn: Function, predict_keys: Any = None, hooks: Any = None, checkpoint_path: Any = None,
                yield_single_examples: bool = True, num_predictions: Any = None) -> Any:
        """What the model says about each sample, one after the other."""
        def results(spec):
            predictions = spec.predictions
            return predictions if isinstance(predictions, dict) else {"predictions": predictions}, None
        _, outputs = self._run(input_fn, ModeKeys.PREDICT, results, self._steps(input_fn, None), 1)
        columns = {key: np.concatenate(list(value)) for key, value in outputs.items()}
        for index in range(_count(columns, num_predictions)):
            yield {key: value[index] for key, value in columns.items()}

    def _steps(self, input_fn, steps):
        count = int(steps) if steps else input_fn()._dataset.cardinality()
        if count < 1:
            raise ValueError("the data set has no end or no known length: give steps, or take() a part of it")
        return count

    def _run(self, input_fn, mode, results, steps, times):
        """Compiles a loop over the data and runs it; returns the layers of the model and what the steps kept."""
        from pando.tf.compat.v1 import Session, global_variables_initializer
        dataset = input_fn()
        infeed, outfeed = IPUInfeedQueue(dataset), IPUOutfeedQueue()
        infeed._names = None

        def body(*columns):
            values, train_op = results(self._spec(columns, dataset._structure, mode))
            kept = outfeed.enqueue(values)
            return kept if train_op is None else (kept, train_op)
        with watch_layers() as layers, scopes.ipu_scope(f"/device:IPU:{self.config.ipu_run_config.ordinal}"):
            run = ipu_compiler.compile(lambda: loops.repeat(steps, body, [], infeed), inputs=[])
        with Session() as session:
            session.run(global_variables_initializer())
            self._give_weights(layers)
            session.run(infeed.initializer)
            for _ in range(times):
                session.run(run)
            return layers, session.run(outfeed.dequeue())

    def _spec(self, columns, structure, mode):
        element = pack(structure, list(columns)) if is_nested(structure) else columns[0]
        features, labels = element if isinstance(element, tuple) else (element, None)
        names = inspect.signature(self._model_fn).parameters
        arguments = {"labels": labels, "mode": mode, "params": self.params, "config": self.config}
        spec = self._model_fn(features, **{key: value for key, value in arguments.items() if key in names})
        if not isinstance(spec, EstimatorSpec):
            raise TypeError(f"the model function must return an EstimatorSpec, not {type(spec).__name__}")
        return spec

    def _give_weights(self, layers):
        if self._weights is None:
            return
        shapes = [[weight.shape for weight in weights] for weights in self._weights]
        if shapes != [[weight.shape for weight in layer.get_weights()] for layer in layers]:
            raise ValueError("the model function made other layers than when the model was trained")
        for layer, weights in zip(layers, self._weights):
            layer.set_weights(weights)

    def _path(self):
        return os.path.join(self.model_dir, "weights.npz") if self.model_dir else None

    def _save(self):
        if self.model_dir:
            os.makedirs(self.model_dir, exist_ok=True)
            arrays = {f"{i:04d}/{j:04d}": value for i, weights in enumerate(self._weights)
                      for j, value in enumerate(weights)}
            partial = self._path() + ".part.npz"
            np.savez(partial, counts=[len(weights) for weights in self._weights], **arrays)
            os.replace(partial, self._path())

    def _load(self):
        if not self.model_dir or not os.path.exists(self._path()):
            return None
        with np.load(self._path()) as file:
            return [[file[f"{i:04d}/{j:04d}"] for j in range(count)] for i, count in enumerate(file["counts"])]


def _count(columns, most):
    count = min(len(value) for value in columns.values())
    return count if most is None else min(count, most)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
