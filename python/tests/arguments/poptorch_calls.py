# SPDX-License-Identifier: Apache-2.0
"""Calls of PopTorch that need more than arguments: a module that trains, options, and blocks of its forward()."""
import numpy as np
import torch

from arguments.results import VECTORS, without_numbers
from pando import poptorch


class Net(torch.nn.Module):
    """Two layers and their loss; with `blocks`, what is done before each of them."""

    def __init__(self, before=None, dropout=0.0):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
        self.before, self.dropout = before, torch.nn.Dropout(dropout)

    def forward(self, x, y=None):
        x = self.dropout(self.first(x))
        if self.before is not None:
            with self.before():
                x = self.second(x)
        else:
            x = self.second(x)
        return x if y is None else (x, poptorch.identity_loss(((x - y) ** 2).mean(), "mean"))


X, Y = np.tile(VECTORS, (4, 1)), np.ones((16, 2), "float32")


def trained(net=None, options=None, optimizer=None, count=None):
    """What two calls of a training model return, and its weights."""
    net = net or Net()
    options = options or poptorch.Options()
    model = poptorch.trainingModel(net, options, optimizer or torch.optim.SGD(net.parameters(), lr=0.1))
    count = count or options.samples_factor()
    for _ in range(2):
        out, loss = model(torch.tensor(X[:count]), torch.tensor(Y[:count]))
        yield "returned", tuple(out.shape), tuple(loss.shape), out.numpy().tobytes(), loss.numpy().tobytes()
    yield "weights", [value.detach().numpy().tobytes() for value in net.parameters()]
    yield "explained", without_numbers(model.explain())


def _with_options(subject, arguments):
    options = poptorch.Options()
    *_, part, name = subject.name.split(".")
    changed = getattr(options if part == "Options" else getattr(options, part), name)(**arguments)
    assert isinstance(changed, (poptorch.Options, type(getattr(options, part, None))))
    count = options.samples_factor() * 2
    if name == "configureProcessId":
        return options.Distributed.processId, options.Distributed.numProcesses
    return trained(Net(lambda: poptorch.Block("late", ipu_id=1), dropout=0.5), options, count=count)


def _block(subject, arguments):
    options = poptorch.Options().setExecutionStrategy(poptorch.PipelinedExecution(
        poptorch.Stage("late").ipu(0), poptorch.Stage("other").ipu(1)))
    options.Training.gradientAccumulation(4)
    if subject.name.endswith("Block") and not subject.name.endswith("BeginBlock"):
        return trained(Net(lambda: subject.function(**arguments)), options)
    net = Net()
    layer = arguments.pop("layer_to_call", "second")
    if subject.name.endswith("BeginBlock"):
        poptorch.BeginBlock(net.first, "late")
        subject.function(getattr(net, layer), **arguments)
    else:
        forward = net.second.forward
        net.second.forward = subject.function(**arguments)(forward)
    return trained(net, options)


def _strategy(subject, arguments):
    stages = arguments.pop("stages", 0)
    options = poptorch.Options().setExecutionStrategy(subject.function(poptorch.Stage("late").ipu(1), stages=stages, **arguments))
    options.Training.gradientAccumulation(4)
    return trained(Net(lambda: poptorch.Block("late", ipu_id=0)), options)


def _stage(subject, arguments):
    if subject.name.endswith("stage"):
        strategy = poptorch.PipelinedExecution()
        strategy.stage(**arguments).ipu(1)
    else:
        strategy = poptorch.PipelinedExecution(poptorch.Stage("late").ipu(**arguments))
    options = poptorch.Options().setExecutionStrategy(strategy)
    options.Training.gradientAccumulation(4)
    return trained(Net(lambda: poptorch.Block("late", ipu_id=0)), options)


def _optimizer(subject, arguments):
    def made(net):
        given = {"lr": 0.1, **arguments}
        given["params"] = list(net.parameters())[given.pop("params", 0):]
        return subject.function(**given)
    net = Net()
    return trained(net, None, made(net))


def _executor(kind):
    def called(subject, arguments):
        net = {"net": Net, "other": lambda: Net(lambda: poptorch.Block("late", ipu_id=1))}[arguments.pop("model", "net")]()
        if arguments.get("optimizer") is not None:
            arguments["optimizer"] = torch.optim.SGD(net.parameters(), lr=arguments["optimizer"])
        if arguments.get("options") is not None:
            arguments["options"] = poptorch.Options().deviceIterations(arguments["options"])
        model = subject.function(net, **arguments)
        given = [torch.tensor(X[:2])] + ([torch.tensor(Y[:2])] if model._training else [])
        yield "returned", repr(model(*given))
        yield "weights", [value.detach().numpy().tobytes() for value in net.parameters()]
        yield "explained", model.explain()
    return called


def _on_executor(subject, arguments):
    net = Net()
    name = subject.name.rpartition(".")[2]
    model = poptorch.trainingModel(net, None, torch.optim.SGD(net.parameters(), lr=0.1))
    given = torch.tensor(X[:1]), torch.tensor(Y[:1])
    if name == "compile":
        return model.compile(*given, **arguments)
    model(*given)
    for file in ("saved.npz", "other.npz"):
        if name == "load":
            model.save(file)
            model(*given)
    if name == "setOptimizer":
        arguments["optimizer"] = torch.optim.SGD(net.parameters(), lr=arguments["optimizer"])
    if name == "load_state_dict":
        state = net.state_dict()
        arguments["state_dict"] = {key: value * arguments["state_dict"] for key, value in state.items()}
        if "strict" in arguments:
            arguments["state_dict"].pop("second.bias")
    made = getattr(model, name)(**arguments)
    yield "made", type(made).__name__, net.training
    model(*given)
    yield "weights", [value.detach().numpy().tobytes() for value in net.parameters()]


def _loader(subject, arguments):
    options = poptorch.Options().deviceIterations(arguments.pop("options"))
    rows = torch.utils.data.TensorDataset(torch.tensor(X[:arguments["dataset"]]))
    if arguments.get("batch_sampler") is not None:
        arguments["batch_sampler"] = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(rows), 3, False)
    loader = subject.function(options, **{**arguments, "dataset": rows})
    for batch in loader:
        yield "batch", batch[0].numpy().tobytes()


def _log_level(subject, arguments):
    import logging
    logger = logging.getLogger("poptorch")
    before = logger.level
    try:
        subject.function(**arguments)
        return logger.level
    finally:
        logger.setLevel(before)


CALLS = {
    "poptorch.AsynchronousDataAccessor": lambda subject, arguments: list(subject.function(**arguments)),
    "poptorch.Options.*.*": _with_options, "poptorch.Options.*": _with_options, "poptorch.Block": _block,
    "poptorch.BeginBlock": _block, "poptorch.BlockFunction": _block, "poptorch.*Execution": _strategy,
    "poptorch.PipelinedExecution.stage": _stage, "poptorch.Stage.ipu": _stage, "poptorch.optim.*": _optimizer,
    "poptorch.PoplarExecutor": _executor("any"), "poptorch.trainingModel": _executor("any"),
    "poptorch.inferenceModel": _executor("any"), "poptorch.PoplarExecutor.*": _on_executor,
    "poptorch.DataLoader": _loader, "poptorch.setLogLevel": _log_level,
}
