# SPDX-License-Identifier: Apache-2.0
"""Training: compile, fit, evaluate, predict and what belongs to them, for Model."""
from __future__ import annotations

import inspect
import sys
from typing import Any, Mapping, Sequence

from pando.core.hints import ArrayLike, Function, Identifier, Path, Samples
from pando.core.messages import tell_once
from pando.core.structure import pack
from pando.keras import losses, metrics, optimizers
from pando.keras.arguments import tell_of
from pando.keras.callbacks import History, callback_list, called_around, native_callbacks
from pando.keras.data import class_weights, samples_of
from pando.keras.model_files import ModelFiles
from pando.keras.stages import Stages
from pando.core.nearest import unknown_argument

_COMPILE_WITHOUT_EFFECT = ("run_eagerly", "jit_compile", "auto_scale_loss", "distribute",
                           "sample_weight_mode", "experimental_run_tf_function")
_FIT_WITHOUT_EFFECT = ("prefetch_depth", "replication_factor")


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
            raise unknown_argument(who, name, [*names, *inspect.signature(getattr(Training, who)).parameters])
        if value:
            tell_once(f"{who}: {name} has no effect in Pando")


class Training(Stages, ModelFiles):
    """The methods of Model that run programs."""

    def compile(self, optimizer: Identifier | Any = "rmsprop", loss: Any = None, metrics: Any = None,
                loss_weights: Any = None, weighted_metrics: Any = None, run_eagerly: bool | None = None,
                steps_per_execution: int | None = 1, *, jit_compile: bool | None = None, precision: str = "float32",
                reduction: str | None = "sum", **kwargs: Any) -> None:
        """Says how to train.

        optimizer: a name such as "adam", or an object of ``keras.optimizers``.
        loss: a name such as "mse", an object of ``keras.losses``, or a function of (y_true, y_pred); for several outputs, a
            list, or a dict by their names.
        metrics: a list of names, objects and functions.
        loss_weights: what the loss of each output is multiplied by.
        steps_per_execution: the number of batches that run without Python; 100 is faster than 1 for small models.
        precision: "float32", or "mixed_bfloat16" for faster products.
        reduction: whether micro-batches and replicas add ("sum") or average ("mean") their gradients.
        """
        _refuse_own_steps(type(self))
        _accept("compile", {**kwargs, "run_eagerly": run_eagerly, "jit_compile": jit_compile}, _COMPILE_WITHOUT_EFFECT)
        if weighted_metrics:
            raise NotImplementedError("compile: weighted_metrics are not in Pando, where weights of samples do not count in "
                                      "metrics; give them as metrics, or the loss as the number to look at")
        if isinstance(loss_weights, dict):
            loss_weights = [float(loss_weights.get(name, 1.0)) for name in self._output_names()]
        if reduction not in ("sum", "mean"):
            raise ValueError(f"compile: reduction is {reduction!r} but must be 'sum' or 'mean'")
        chosen = optimizers.get(optimizer)
        compiled = {
            "optimizer": chosen._native, "loss": _mapped(loss, lambda one: losses.get(one)._trained()),
            "metrics": _native_metrics(metrics), "loss_weights": [float(one) for one in loss_weights or []],
            "steps_per_execution": int(steps_per_execution or 1), "precision": precision,
            "sums_gradients": reduction == "sum"}
        self._compile_now(compiled)
        # Now that nothing was refused: until here the model is as it was compiled before.
        self.__dict__.update(_optimizer=chosen, _compiled=compiled, loss=loss)

    def _compile_now(self, compiled=None):
        compiled = compiled or self.__dict__.get("_compiled")
        if self._layer is not None and compiled is not None:
            self._layer.compile(dict(compiled))
            for set_up in self.__dict__.get("_pending", []):
                set_up(self._layer)
            self.__dict__.pop("_pending", None)

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
            validation_steps: int | None = None, validation_batch_size: int | None = None, validation_freq: int = 1,
            max_queue_size: int = 10, workers: int = 1, use_multiprocessing: bool = False, *, profile: Path = "",
            checkpoint_directory: Path = "", checkpoint_every: int = 0, checkpoint_keep: int = 3, resume: bool = False,
            **kwargs: Any) -> History:
        """Trains the model and returns the History of losses and metrics.

        x: an array or tensor, a list or dict of them for several inputs, a Dataset, a generator, or a
            ``keras.utils.Sequence``.
        y: the targets, likewise; a Dataset or generator has them with x.
        batch_size: the samples of a micro-batch, 32 if it is not given; a Dataset has its own.
        verbose: 1 or "auto" shows a bar, 2 a line for each epoch, 0 nothing.
        callbacks: objects of ``keras.callbacks``, or of your own class derived from ``Callback``.
        validation_split: the part of the arrays, from their end, that is not trained with but evaluated.
        validation_data: (x, y), or a Dataset, to evaluate after each epoch.
        class_weight, sample_weight: what the loss of a class, or of a sample, is multiplied by; metrics are not.
        steps_per_epoch, validation_steps: the number of batches, for data that does not end.
        profile: writes a page about the run, such as "run.html".
        checkpoint_directory, checkpoint_every, checkpoint_keep, resume: writes a checkpoint after every ``checkpoint_every``
            executions, keeps the newest ``checkpoint_keep``, and goes on where the newest ended.

        >>> import numpy as np
        >>> from pando import keras
        >>> model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
        >>> model.compile("sgd", "mse")
        >>> history = model.fit(np.ones((8, 3)), np.zeros((8, 1)), epochs=2, verbose=0)
        >>> len(history.history["loss"])
        2
        """
        _accept("fit", kwargs, _FIT_WITHOUT_EFFECT)
        if validation_freq != 1:
            raise NotImplementedError(f"fit: validation_freq={validation_freq!r} is not in Pando, which validates after each "
                                      "epoch; call fit() with initial_epoch for some epochs at a time")
        if validation_batch_size not in (None, batch_size or 32):
            raise NotImplementedError("fit: validation_batch_size is not in Pando: validation has the batch size of training; "
                                      "give a Dataset with batches of another size as validation_data")
        samples = self._samples(x, y, sample_weight)
        arguments = {
            "batch_size": int(batch_size or 32), "epochs": int(epochs), "verbose": _verbose(verbose),
            "shuffle": bool(shuffle), "validation_split": float(validation_split or 0.0),
            "validation_data": self._validation(validation_data), "initial_epoch": int(initial_epoch),
            "steps_per_epoch": int(steps_per_epoch or 0), "validation_steps": int(validation_steps or 0),
            "sample_weight": samples.sample_weight, "profile": profile,
            "class_weight": class_weights("fit", class_weight),
            "checkpoint_directory": checkpoint_directory, "checkpoint_every": int(checkpoint_every),
            "checkpoint_keep": int(checkpoint_keep), "checkpoint_resume": bool(resume)}
        params = {"verbose": arguments["verbose"], "epochs": arguments["epochs"], "steps": steps_per_epoch or None}
        if samples.dataset is None:
            trained = len(samples.x[0]) - int(len(samples.x[0]) * arguments["validation_split"])
            steps = -(-trained // arguments["batch_size"])
            params["steps"] = min(steps, steps_per_epoch or steps)
        self.__dict__["_stopping"] = False
        given = callback_list("fit", callbacks)
        history = History()
        self.__dict__["history"] = history
        validates = validation_data is not None or arguments["validation_split"] > 0
        arguments["callbacks"] = native_callbacks(given, self, params, validates)
        native = self._layer.fit(samples.first, samples.y, arguments)
        history.__init__(native)
        history.set_model(self)
        history.set_params(params)
        return history

    def _samples(self, x, y=None, sample_weight=None, targets=True):
        if self._layer is None:
            self.__dict__["_input_structure"] = sorted(x) if isinstance(x, dict) else None
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
        if isinstance(data, (tuple, list)) and len(data) in (2, 3):
            samples = samples_of(self, data[0], data[1], data[2] if len(data) > 2 else None)
            return [samples.x, samples.y, samples.sample_weight]
        found = None if isinstance(data, (tuple, list)) else samples_of(self, data).dataset
        if found is None:
            raise ValueError("fit: validation_data has no targets: give (x, y), (x, y, sample_weight), or a Dataset or "
                             "generator of such batches")
        return found

    def evaluate(self, x: Samples = None, y: Samples = None, batch_size: int | None = None, verbose: int | str = "auto",
                 sample_weight: ArrayLike = None, steps: int | None = None, callbacks: Sequence[Any] | None = None,
                 max_queue_size: int = 10, workers: int = 1, use_multiprocessing: bool = False,
                 return_dict: bool = False, **kwargs: Any) -> Any:
        """The loss of these samples, or a list of it and the metrics; a dict by their names with ``return_dict``.

        The arguments are those of ``fit``; ``steps`` is the number of batches, for data that does not end.
        """
        _accept("evaluate", kwargs, _FIT_WITHOUT_EFFECT)
        samples = self._samples(x, y, sample_weight)
        with called_around("test", callbacks, self) as logs:
            logs.update(self._layer.evaluate(samples.first, samples.y, {
                "batch_size": int(batch_size or 32), "steps": int(steps or 0), "verbose": _verbose(verbose),
                "sample_weight": samples.sample_weight}))
        return _results(logs, return_dict)

    def predict(self, x: Samples, batch_size: int | None = None, verbose: int | str = 0, steps: int | None = None,
                callbacks: Sequence[Any] | None = None, max_queue_size: int = 10, workers: int = 1,
                use_multiprocessing: bool = False, **kwargs: Any) -> Any:
        """What the model says about these samples, as an array, or as arrays in the structure of the outputs.

        The arguments are those of ``fit``; targets in a Dataset are not used.
        """
        _accept("predict", kwargs, _FIT_WITHOUT_EFFECT)
        samples = self._samples(x, targets=False)
        with called_around("predict", callbacks, self):
            outputs = self._layer.predict(samples.first, int(batch_size or 32), int(steps or 0), _verbose(verbose, 0))
        structure = self.__dict__.get("_output_structure")
        if structure is not None and isinstance(structure, (list, tuple, dict)):
            return pack(structure, outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def train_on_batch(self, x: Samples, y: Samples = None, sample_weight: ArrayLike = None,
                       class_weight: Mapping[int, float] | None = None, reset_metrics: bool = True,
                       return_dict: bool = False) -> Any:
        """Makes one update from all samples at once.

        reset_metrics: False if losses and metrics go on with the means over the calls for single batches before this one.
        """
        samples = self._samples(x, y, sample_weight)
        logs = self._layer.train_on_batch(samples.x, samples.y or [], {
            "sample_weight": samples.sample_weight, "reset_metrics": bool(reset_metrics),
            "class_weight": {int(key): float(value) for key, value in (class_weight or {}).items()}})
        return _results(logs, return_dict)

    def test_on_batch(self, x: Samples, y: Samples = None, sample_weight: ArrayLike = None, reset_metrics: bool = True,
                      return_dict: bool = False) -> Any:
        """The losses and metrics of one batch; ``reset_metrics`` as for ``train_on_batch``."""
        samples = self._samples(x, y, sample_weight)
        logs = self._layer.test_on_batch(samples.x, samples.y or [], {
            "sample_weight": samples.sample_weight, "reset_metrics": bool(reset_metrics)})
        return _results(logs, return_dict)

    def reset_metrics(self) -> None:
        """Lets the next call for a single batch begin its means afresh."""
        if self._layer is not None:
            self._layer.reset_metrics()

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
        """The names of what ``evaluate`` returns, in order; none before the model is compiled and built."""
        return self._layer.metrics_names() if self._layer is not None else []

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
        tell_of("summary", line_length=line_length, positions=positions, expand_nested=expand_nested,
                show_trainable=show_trainable, layer_range=layer_range)
        text = self._built("summary").summary_text()
        if print_fn is not None:
            for line in text.rstrip("\n").split("\n"):
                print_fn(line)
        else:
            sys.stdout.write(text)


def _refuse_own_steps(cls):
    """A class with a step of its own would train in another way than it says."""
    for name in ("train_step", "test_step", "predict_step", "compute_loss", "compute_metrics", "make_train_function",
                 "make_test_function", "make_predict_function"):
        if hasattr(cls, name):
            raise NotImplementedError(
                f"{cls.__name__}.{name} would not be called: Pando compiles the whole step. Give the loss to compile(), as a "
                "function of (y_true, y_pred) if need be, add other terms by add_loss() in the call() of a layer, and "
                f"remove {name}; pando.torch.compile_step trains modules of PyTorch with losses of any form")


def _verbose(verbose, auto=1):
    return auto if verbose == "auto" else int(verbose)


def _results(logs, return_dict):
    if return_dict:
        return dict(logs)
    values = [float(value) for value in logs.values()]
    return values[0] if len(values) == 1 else values
