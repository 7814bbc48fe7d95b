# SPDX-License-Identifier: Apache-2.0
"""poptorch.Options: how a model runs on virtual IPUs. Options of real IPUs that mean nothing here are accepted, with one
notice each."""
from __future__ import annotations

from typing import Any

from pando import _core
from pando.core.hints import DTypeLike
from pando.core.messages import notice_once
from pando.core.nearest import missing_attribute
from pando.poptorch.blocks import Stage

_poptorch = _core.poptorch
OutputMode = AnchorMode = _poptorch.OutputMode
ReductionType = _poptorch.ReductionType


class _Part:
    """A part of the options, whose methods return the options, so that calls can be chained."""
    # Accepted without effect.
    _without_effect = ()
    _title = ""

    def __init__(self, options: Options | None) -> None:
        self._options = options

    def __getattr__(self, name):
        if name in self._without_effect:
            def accept(*_, **__):
                notice_once("poptorch", f"poptorch.Options{self._title}.{name} has no effect on virtual IPUs")
                return self
            return accept
        raise missing_attribute(f"poptorch.Options{self._title}", name, [*dir(type(self)), *self._without_effect])


class _Training(_Part):
    _title = ".Training"
    _without_effect = ("setAutomaticLossScaling", "setConvolutionDithering", "setMeanAccumulationAndReplicationReductionStrategy")

    def gradientAccumulation(self, gradient_accumulation: int) -> _Training:  # noqa: N802
        """The number of micro-batches of an update, for each replica."""
        self._options._core.gradient_accumulation(gradient_accumulation)
        self._options._values["gradient_accumulation"] = gradient_accumulation
        return self

    @property
    def gradient_accumulation(self) -> Any:
        return self._options._values["gradient_accumulation"]

    def accumulationAndReplicationReductionType(self, reduction_type: ReductionType) -> _Training:  # noqa: N802
        self._options._core.reduction(reduction_type)
        return self


class _Precision(_Part):
    _title = ".Precision"
    _without_effect = ("autocastEnabled", "autocastPolicy", "halfFloatCasting", "runningStatisticsAlwaysFloat")

    def enableFloatingPointExceptions(self, enabled: bool) -> Any:  # noqa: N802
        """Stop with an error that names the module when a value becomes NaN or infinite."""
        self._options._core.floating_point_exceptions(enabled)
        return self

    def enableStochasticRounding(self, enabled: bool) -> Any:  # noqa: N802
        self._options._core.stochastic_rounding(enabled)
        return self

    def setPartialsType(self, dtype: DTypeLike) -> Any:  # noqa: N802
        self._options._core.partials_type(str(dtype).removeprefix("torch."))
        return self


class _TensorLocations(_Part):
    _title = ".TensorLocations"
    _without_effect = ("setActivationLocation", "setWeightLocation", "setOptimizerLocation", "setAccumulatorLocation",
                       "numIOTiles", "setOptimizerStateLocation")


class _Jit(_Part):
    _title = ".Jit"
    _without_effect = ("traceModel",)


class _Distributed(_Part):
    _title = ".Distributed"
    _without_effect = ("disable", "IPUoFConfigFiles")

    def configureProcessId(self, process_id, num_processes):  # noqa: N802
        """Trains with the other processes that mpirun started. Every process is given all samples; each computes its share."""
        self._options._core.configure_process_id(process_id, num_processes)
        self._options._values.update(process_id=process_id, num_processes=num_processes)
        return self

    @property
    def processId(self):  # noqa: N802
        return self._options._values["process_id"]

    @property
    def numProcesses(self):  # noqa: N802
        return self._options._values["num_processes"]


class _Popart(_Part):
    _title = "._Popart"
    _without_effect = ("set", "setPatterns", "setEngineOptions")


class _StageOf:
    def __init__(self, strategy: PipelinedExecution, block: Any) -> None:
        self._strategy, self._block = strategy, block

    def ipu(self, number: int) -> Any:
        self._strategy.ipus[self._block] = number
        return self


class PipelinedExecution:
    """Blocks on several IPUs run at the same time, each on another micro-batch."""

    def __init__(self, *args: Any, schedule: str = "grouped", stages: int = 0) -> None:
        self.schedule, self.stages, self.ipus = schedule, stages, {}
        for position, stage in enumerate(args):
            stage = stage if isinstance(stage, Stage) else Stage(stage)
            for block in stage.blocks:
                self.ipus[block] = position if stage._ipu is None else stage._ipu

    def stage(self, block: Any) -> Any:
        """The stage of a block, so that its IPU can be chosen."""
        return _StageOf(self, block)

    def _apply(self, core):
        core.pipelined(self.schedule, self.stages)


class ShardedExecution(PipelinedExecution):
    """Blocks on several IPUs run one after the other."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)

    def _apply(self, core):
        core.sharded()


class Options(_Part):
    """How a model runs. Methods return the options, so that calls can be chained.

    >>> from pando import poptorch
    >>> options = poptorch.Options().deviceIterations(50).replicationFactor(2)
    >>> _ = options.Training.gradientAccumulation(4)
    >>> options.samples_factor()
    400
    """
    _without_effect = ("autoRoundNumIPUs", "broadcastBuffers", "connectionType", "defaultOutputMode", "disableModuleNamescope",
                       "enableProfiling", "enableStableNorm", "enableSyntheticData", "logDir", "maxRepeatLogs", "modelName",
                       "setAvailableMemoryProportion", "setExecutableCaching", "enableExecutableCaching", "showCompilationProgressBar",
                       "sourceLocationExcludes", "syncPattern", "updatableNamedBuffers", "useIpuId", "useIpuModel",
                       "useOfflineIpuTarget", "appendToLocationExcludes", "setOptimizerAttrs", "logCycleCount",
                       "relaxOptimizerAttributesChecks", "anchorTensor")

    def __init__(self, _like: Any = None) -> None:
        super().__init__(self)
        self._core = _poptorch.Options() if _like is None else _like._core.clone()
        self._values = {"device_iterations": 1, "replication_factor": 1, "gradient_accumulation": 1,
                        "output_mode": OutputMode.Default, "random_seed": None, "ipus": {}, "process_id": 0, "num_processes": 1}
        if _like is not None:
            self._values.update(_like._values)
        self.Training, self.Precision = _Training(self), _Precision(self)
        self.TensorLocations, self.Jit = _TensorLocations(self), _Jit(self)
        self.Distributed, self._Popart = _Distributed(self), _Popart(self)

    def _take(self, name, value):
        self._values[name] = value
        return self

    def deviceIterations(self, device_iterations: int) -> Options:  # noqa: N802
        """The number of updates in a call; for inference, of micro-batches for each replica."""
        self._core.device_iterations(device_iterations)
        return self._take("device_iterations", device_iterations)

    def replicationFactor(self, replication_factor: int) -> Options:  # noqa: N802
        """The number of copies of the model that train together, each on its own IPUs."""
        self._core.replication_factor(replication_factor)
        return self._take("replication_factor", replication_factor)

    def outputMode(self, output_mode: OutputMode, output_return_period: int = 1) -> Options:  # noqa: N802
        """Which batches' outputs a call returns."""
        self._core.output_mode(output_mode, output_return_period)
        return self._take("output_mode", output_mode)

    def anchorMode(self, anchor_mode: OutputMode, anchor_return_period: int = 1) -> Options:  # noqa: N802
        """The older name of ``outputMode``."""
        return self.outputMode(anchor_mode, anchor_return_period)

    def randomSeed(self, random_seed: int) -> Options:  # noqa: N802
        """The seed of drop-out and other random numbers of the model."""
        self._core.random_seed(random_seed)
        return self._take("random_seed", random_seed)

    def setExecutionStrategy(self, strategy: PipelinedExecution) -> Options:  # noqa: N802
        """How blocks share the IPUs: ``PipelinedExecution()`` or ``ShardedExecution()``."""
        if not hasattr(strategy, "_apply"):
            raise TypeError(f"setExecutionStrategy: {strategy!r} is not a strategy; use poptorch.PipelinedExecution() or "
                            "poptorch.ShardedExecution()")
        strategy._apply(self._core)
        return self._take("ipus", strategy.ipus)

    def clone(self) -> Options:
        """New options with the same values, which may be changed."""
        return Options(self)

    @property
    def device_iterations(self) -> int:
        """The number that ``deviceIterations`` set."""
        return self._values["device_iterations"]

    @property
    def replication_factor(self) -> int:
        """The number that ``replicationFactor`` set."""
        return self._values["replication_factor"]

    @property
    def output_mode(self) -> Any:
        """The mode that ``outputMode`` set."""
        return self._values["output_mode"]

    def samples_factor(self) -> int:
        """How many micro-batches a call of a training model has."""
        return (self.device_iterations * self.replication_factor * self._values["gradient_accumulation"] *
                self._values["num_processes"])
