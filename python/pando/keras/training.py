# SPDX-License-Identifier: Apache-2.0
"""Training: compile, fit, evaluate, predict and what belongs to them, for Model."""
from __future__ import annotations

import sys
from typing import Any, Mapping, Sequence

from pando import _core
from pando.core.hints import ArrayLike, Function, Identifier, Path, Samples
from pando.core.structure import pack
from pando.keras import losses, metrics, optimizers
from pando.keras.arguments import tell_once
from pando.keras.callbacks import History, native_callbacks
from pando.keras.data import samples_of
from pando.keras.stages import Stages
from pando.keras.weight_files import load_by_order
from pando.core.nearest import unknown_argument

_COMPILE_WITHOUT_EFFECT = ("run_eagerly", "jit_compile", "auto_scale_loss", "distribute",
                           "sample_weight_mode", "experimental_run_tf_function")
_FIT_WITHOUT_EFFECT = ("workers", "use_multiprocessing", "max_queue_size", "validation_freq", "validation_batch_size",
                       "prefetch_depth", "replication_factor")


def _mapped(given, get):
    """One, a list or a dict of losses or metrics, each as C++ takes it."""
    if given is None:
        return None
    if isinstance(given, dict):
        return {name: get(part) for name, part in given.items()}
    if isinstance(given, (list, tuple)):
        return [get(part) for part in given]
    return [get(given)]


def _metric(identifier):
    return metrics.get(identifier)._native()


def _native_metrics(given):
    """Metrics as C++ takes them: a list for all outputs, or a dict of lists."""
    if isinstance(given, dict):
        return {name: [_metric(m) for m in (part if isinstance(part, (list, tuple)) else [part])]
                for name, part in given.items()}
    if isinstance(given, (list, tuple)) and any(isinstance(part, (list, tuple)) for part in given):
        raise NotImplementedError("compile: metrics as a list of lists are not in Pando; give a dict by the names of "
                                  "the output layers")
    return _mapped(given, _metric)


def _accept(who, kwargs, names):
    for name, value in kwargs.items():
        if name not in names:
            raise unknown_argument(who, name, names)
        if value:
            tell_once(f"{who}: {name} has no effect in Pando")


class Training(Stages):
    """The methods of Model that run programs."""

    def compile(self, optimizer: Identifier | Any = "rmsprop", loss: Any = None, metrics: Any = None,
                loss_weights: Any = None, weighted_metrics: Any = None, run_eagerly: bool | None = None,
                steps_per_execution: int | None = 1, jit_compile: bool | None = None, precision: str = "float32",
                reduction: str | None = "sum", **kwargs: Any) -> None:
        """Says how to train: optimizer, losses, metrics, and how many batches an execution has."""
        _accept("compile", {**kwargs, "run_eagerly": run_eagerly, "jit_compile": jit_compile}, _COMPILE_WITHOUT_EFFECT)
        if weighted_metrics:
            raise NotImplementedError("compile: weighted_metrics are not in Pando; a weight of 0 counts in metrics")
        if isinstance(loss_weights, dict):
            loss_weights = [float(loss_weights.get(name, 1.0)) for name in self._output_names()]
        if reduction not in ("sum", "mean"):
            raise ValueError(f"compile: reduction is {reduction!r} but must be 'sum' or 'mean'")
        self.__dict__["_optimizer"] = optimizers.get(optimizer)
        self.__dict__["_compiled"] = {
            "optimizer": self._optimizer._native, "loss": _mapped(loss, lambda one: losses.get(one)._native()),
            "metrics": _native_metrics(metrics), "loss_weights": [float(one) for one in loss_weights or []],
            "steps_per_execution": int(steps_per_execution or 1), "precision": precision,
            "sums_gradients": reduction == "sum"}
        self.__dict__["loss"] = loss
        self._compile_now()

    def _compile_now(self):
        if self._layer is not None and "_compiled" in self.__dict__:
            self._layer.compile(dict(self._compiled))
            for set_up in self.__dict__.pop("_pending", []):
                set_up(self._layer)

    def _with_layer(self, set_up):
        """Sets something up now, or once the model is built."""
        if self._layer is None:
            self.__dict__.setdefault("_pending", []).append(set_up)
        else:
            set_up(self._layer)

    def fit(self, x: Samples = None, y: Samples = None, batch_size: int | None = None, epochs: int = 1,
            verbose: int | str = "auto", callbacks: Sequence[Any] | None = None, validation_split: float = 0.0,
            validation_data: Samples = None, shuffle: bool = True, class_weight: Mapping[int, float] | None = None,
            sample_weight: ArrayLike = None, initial_epoch: int = 0, steps_per_epoch: int | None = None,
            validation_steps: int | None = None, profile: Path = "", checkpoint_directory: Path = "",
            checkpoint_every: int = 0, checkpoint_keep: int = 3, resume: bool = False, **kwargs: Any) -> History:
        """Trains the model and returns the History of losses and metrics."""
        _accept("fit", kwargs, _FIT_WITHOUT_EFFECT)
        samples = self._samples(x, y, sample_weight)
        arguments = {
            "batch_size": int(batch_size or 32), "epochs": int(epochs), "verbose": _verbose(verbose),
            "shuffle": bool(shuffle), "validation_split": float(validation_split or 0.0),
            "validation_data": self._validation(validation_data), "initial_epoch": int(initial_epoch),
            "steps_per_epoch": int(steps_per_epoch or 0), "validation_steps": int(validation_steps or 0),
            "sample_weight": samples.sample_weight, "profile": profile,
            "class_weight": {int(key): float(value) for key, value in (class_weight or {}).items()},
            "checkpoint_directory": checkpoint_directory, "checkpoint_every": int(checkpoint_every),
            "checkpoint_keep": int(checkpoint_keep), "checkpoint_resume": bool(resume)}
        params = {"verbose": arguments["verbose"], "epochs": arguments["epochs"], "steps": steps_per_epoch or None}
        if samples.dataset is None:
            params["steps"] = -(-len(samples.x[0]) // arguments["batch_size"])
        self.__dict__["_stopping"] = False
        given = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks is not None else []
        history = History()
        self.__dict__["history"] = history
        arguments["callbacks"] = native_callbacks(given, self, params)
        native = self._layer.fit(samples.first, samples.y, arguments)
        history.__init__(native)
        history.set_model(self)
        history.set_params(params)
        return history

    def _samples(self, x, y=None, sample_weight=None, targets=True):
        samples = samples_of(self, x, y, sample_weight, targets)
        if self._layer is None:
            if samples.dataset is not None:
                first = samples.dataset.iterator().next()
                if first is None:
                    raise ValueError("the data set is empty")
                count = len(first) - 1 if targets and len(first) > 1 else len(first)
                self._ensure_built(first[:count])
            else:
                self._ensure_built(samples.x)
        return samples

    def _validation(self, data):
        if data is None:
            return None
        if isinstance(data, (tuple, list)):
            samples = samples_of(self, data[0], data[1], data[2] if len(data) > 2 else None)
            return [samples.x, samples.y, samples.sample_weight]
        return samples_of(self, data).dataset

    def evaluate(self, x: Samples = None, y: Samples = None, batch_size: int | None = None, verbose: int | str = "auto",
                 sample_weight: ArrayLike = None, steps: int | None = None, callbacks: Sequence[Any] | None = None,
                 return_dict: bool = False, **kwargs: Any) -> Any:
        """The loss, or a list of it and the metrics, of these samples."""
        _accept("evaluate", kwargs, _FIT_WITHOUT_EFFECT)
        samples = self._samples(x, y, sample_weight)
        logs = self._layer.evaluate(samples.first, samples.y, {
            "batch_size": int(batch_size or 32), "steps": int(steps or 0), "verbose": _verbose(verbose),
            "sample_weight": samples.sample_weight})
        return _results(logs, return_dict)

    def predict(self, x: Samples, batch_size: int | None = None, verbose: int | str = 0, steps: int | None = None,
                callbacks: Sequence[Any] | None = None, **kwargs: Any) -> Any:
        """What the model says about these samples, as an array, or as arrays in the structure of the outputs."""
        _accept("predict", kwargs, _FIT_WITHOUT_EFFECT)
        samples = self._samples(x, targets=False)
        outputs = self._layer.predict(samples.first, {
            "batch_size": int(batch_size or 32), "steps": int(steps or 0), "verbose": _verbose(verbose, 0)})
        structure = self.__dict__.get("_output_structure")
        if structure is not None and isinstance(structure, (list, tuple, dict)):
            return pack(structure, outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def train_on_batch(self, x: Samples, y: Samples = None, sample_weight: ArrayLike = None,
                       class_weight: Mapping[int, float] | None = None, reset_metrics: bool = True,
                       return_dict: bool = False) -> Any:
        """Makes one update from all samples at once."""
        samples = self._samples(x, y, sample_weight)
        logs = self._layer.train_on_batch(samples.x, samples.y or [], samples.sample_weight)
        return _results(logs, return_dict)

    def test_on_batch(self, x: Samples, y: Samples = None, sample_weight: ArrayLike = None, reset_metrics: bool = True,
                      return_dict: bool = False) -> Any:
        """The losses and metrics of one batch."""
        return self.evaluate(x, y, batch_size=max(1, len(x[0] if isinstance(x, (list, tuple)) else x)), verbose=0,
                             sample_weight=sample_weight, return_dict=return_dict)

    def predict_on_batch(self, x: Samples) -> Any:
        """The predictions of one batch."""
        return self.predict(x, batch_size=max(1, len(x[0] if isinstance(x, (list, tuple)) else x)))

    def fit_generator(self, generator: Samples, **kwargs: Any) -> History:
        """The older name of ``fit`` for generators."""
        return self.fit(generator, **kwargs)

    @property
    def optimizer(self) -> Any:
        """The optimizer that ``compile`` was given."""
        if "_optimizer" not in self.__dict__:
            raise AttributeError("the model is not compiled and has no optimizer")
        return self._optimizer

    @property
    def metrics_names(self) -> list[str]:
        """The names of what ``evaluate`` returns, in order."""
        native = self.__dict__.get("_compiled", {}).get("metrics") or []
        return ["loss"] + [metric.name for metric in native] if isinstance(native, list) else ["loss"]

    @property
    def stop_training(self) -> bool:
        """Set it to True, in a callback for instance, and training ends after the running execution."""
        return self.__dict__.get("_stopping", False)

    @stop_training.setter
    def stop_training(self, value):
        self.__dict__["_stopping"] = bool(value)
        if value:
            self._layer.stop_training()

    def summary(self, line_length: int | None = None, positions: Any = None, print_fn: Function | None = None,
                expand_nested: bool = False, show_trainable: bool = False, layer_range: Any = None) -> None:
        """Prints the layers with their shapes and parameters."""
        text = self._built("summary").summary_text()
        if print_fn is not None:
            for line in text.rstrip("\n").split("\n"):
                print_fn(line)
        else:
            sys.stdout.write(text)

    # Files -----------------------------------------------------------------------------------------------------------

    def save(self, filepath: Path, overwrite: bool = True, **kwargs: Any) -> None:
        """Writes a folder with the layers as JSON and the weights."""
        self._built("save").save(str(filepath))

    def save_weights(self, filepath: Path, overwrite: bool = True, **kwargs: Any) -> None:
        """Writes the weights: .safetensors if the path ends so, otherwise .npz."""
        self._built("save_weights").save_weights(_weights_path(filepath))

    def load_weights(self, filepath: Path, **kwargs: Any) -> None:
        """Reads the weights that ``save_weights`` wrote."""
        path = _weights_path(filepath)
        try:
            self._built("load_weights").load_weights(path)
        except _core.Error as error:
            if "needs" not in str(error) or not load_by_order(self._layer, path):
                raise

    def to_json(self, **kwargs: Any) -> str:
        """The layers and how they are connected."""
        return self._built("to_json").to_json()


def _verbose(verbose, auto=1):
    return auto if verbose == "auto" else int(verbose)


def _results(logs, return_dict):
    if return_dict:
        return dict(logs)
    values = [float(value) for value in logs.values()]
    return values[0] if len(values) == 1 else values


def _weights_path(path):
    path = str(path)
    for ending in (".weights.h5", ".h5", ".hdf5", ".keras", ".ckpt", ".tf"):
        if path.endswith(ending):
            tell_once(f"weights are in a .safetensors file in Pando, not {ending}")
            return path[:-len(ending)] + ".safetensors"
    return path if path.endswith((".npz", ".safetensors")) else path + ".npz"
