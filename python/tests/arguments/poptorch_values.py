# SPDX-License-Identifier: Apache-2.0
"""What single functions of PopTorch are given, where the names of their arguments do not say it."""
import torch

from arguments.fresh import Fresh
from pando import poptorch

NEEDED_BY = {
    "poptorch.Options.Training.gradientAccumulation.gradient_accumulation": 1,
    "poptorch.Options.Training.*.reduction_type": Fresh(lambda: poptorch.ReductionType.Mean),
    "poptorch.Options.Precision.*.enabled": False,
    "poptorch.Options.Precision.setPartialsType.dtype": Fresh(lambda: torch.float32),
    "poptorch.Options.Distributed.*.process_id": 0, "poptorch.Options.Distributed.*.num_processes": 2,
    "poptorch.AsynchronousDataAccessor.dataset": [1, 2], "poptorch.Block*.user_id": "late",
    "poptorch.BeginBlock.user_id": "late", "poptorch.DataLoader.options": 1, "poptorch.DataLoader.dataset": 9,
    "poptorch.DataLoader.batch_size": 2, "poptorch.Options.deviceIterations.device_iterations": 1,
    "poptorch.Options.replicationFactor.replication_factor": 1,
    "poptorch.Options.*.output_mode": Fresh(lambda: poptorch.OutputMode.All),
    "poptorch.Options.*.anchor_mode": Fresh(lambda: poptorch.OutputMode.All),
    "poptorch.Options.randomSeed.random_seed": 1,
    "poptorch.Options.setExecutionStrategy.strategy": Fresh(poptorch.PipelinedExecution),
    "poptorch.PipelinedExecution.stage.block": "late", "poptorch.Stage.ipu.number": 0, "poptorch.*Model.model": "net",
    "poptorch.PoplarExecutor.model": "net", "poptorch.PoplarExecutor.setOptimizer.optimizer": 0.1,
    "poptorch.PoplarExecutor.*.path": "saved.npz", "poptorch.PoplarExecutor.load_state_dict.state_dict": 3.0,
    "poptorch.identity_loss.x": Fresh(lambda: torch.tensor([1.0, 3.0])), "poptorch.setLogLevel.level": 20,
    "poptorch.optim.*.params": 0,
}
OTHERS_BY = {
    "poptorch.AsynchronousDataAccessor.*time_in_ms": [0.2],
    "poptorch.AsynchronousDataAccessor.sharing_strategy": ["one"],
    "poptorch.AsynchronousDataAccessor.rebatched_size": [2], "poptorch.PoplarExecutor.train.mode": [False],
    "poptorch.Options.Training.gradientAccumulation.gradient_accumulation": [2],
    "poptorch.Options.Training.*.reduction_type": [Fresh(lambda: poptorch.ReductionType.Sum)],
    "poptorch.Options.Precision.*.enabled": [True],
    "poptorch.Options.Precision.setPartialsType.dtype": [Fresh(lambda: torch.float16)],
    "poptorch.Options.Distributed.*.process_id": [1], "poptorch.Options.Distributed.*.num_processes": [3],
    "poptorch.AsynchronousDataAccessor.dataset": [[1, 3]], "poptorch.Block*.user_id": ["other"],
    "poptorch.*Block*.ipu_id": [1], "poptorch.BeginBlock.user_id": ["other"],
    "poptorch.BeginBlock.layer_to_call": ["dropout"], "poptorch.DataLoader.options": [2],
    "poptorch.DataLoader.dataset": [7], "poptorch.DataLoader.batch_size": [3], "poptorch.DataLoader.shuffle": [True],
    "poptorch.DataLoader.num_workers": [1], "poptorch.DataLoader.persistent_workers": [True],
    "poptorch.DataLoader.mode": [Fresh(lambda: poptorch.DataLoaderMode.Async)],
    "poptorch.DataLoader.async_options": [{"one": 1}], "poptorch.DataLoader.rebatched_worker_size": [2],
    "poptorch.DataLoader.batch_sampler": ["other"], "poptorch.Options.deviceIterations.device_iterations": [2],
    "poptorch.Options.replicationFactor.replication_factor": [2],
    "poptorch.Options.*.output_mode": [Fresh(lambda: poptorch.OutputMode.Sum)],
    "poptorch.Options.*.anchor_mode": [Fresh(lambda: poptorch.OutputMode.Sum)],
    "poptorch.Options.randomSeed.random_seed": [2],
    "poptorch.Options.setExecutionStrategy.strategy": [Fresh(poptorch.ShardedExecution)],
    "poptorch.PipelinedExecution.stage.block": ["other"], "poptorch.Stage.ipu.number": [1],
    "poptorch.*Execution.schedule": ["sequential"], "poptorch.*Model.model": ["other"],
    "poptorch.PoplarExecutor.model": ["other"], "poptorch.*Model.options": [2], "poptorch.PoplarExecutor.options": [2],
    "poptorch.*Model.optimizer": [0.5], "poptorch.PoplarExecutor.optimizer": [0.5],
    "poptorch.PoplarExecutor.setOptimizer.optimizer": [0.5], "poptorch.PoplarExecutor.*.path": ["other.npz"],
    "poptorch.PoplarExecutor.load_state_dict.state_dict": [2.0],
    "poptorch.identity_loss.x": [Fresh(lambda: torch.tensor([1.0, 4.0]))],
    "poptorch.identity_loss.reduction": ["sum", "mean"], "poptorch.setLogLevel.level": ["ERR"],
    "poptorch.optim.*.params": [2], "poptorch.ipuHardwareIsAvailable.num_ipus": [2],
}
COMPANIONS = {
    "poptorch.*Block*.ipu_id": {"user_id": "unknown", "ipu_id": 0},
    "poptorch.BeginBlock.layer_to_call": {"user_id": "other"},
    "poptorch.Options.outputMode.output_return_period": {"output_mode": Fresh(lambda: poptorch.OutputMode.EveryN)},
    "poptorch.Options.anchorMode.anchor_return_period": {"anchor_mode": Fresh(lambda: poptorch.OutputMode.EveryN)},
    "poptorch.PoplarExecutor.optimizer": {"training": True},
}
