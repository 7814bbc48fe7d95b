# SPDX-License-Identifier: Apache-2.0
"""PopTorch over PyTorch: modules compiled for virtual IPUs, and the data that they are fed."""
import copy
import gc
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn, optim  # noqa: E402

from pando import poptorch  # noqa: E402


class WithLoss(nn.Module):
    def __init__(self, model, loss=None):
        super().__init__()
        self.model = model
        self.loss = loss or nn.CrossEntropyLoss()

    def forward(self, args, loss_inputs=None):
        output = self.model(args)
        if loss_inputs is None:
            return output
        return output, self.loss(output, loss_inputs)


def data(count=64):
    draw = np.random.default_rng(1)
    x = draw.normal(size=(count, 4)).astype(np.float32)
    return torch.from_numpy(x), torch.from_numpy((x[:, 0] > 0).astype(np.int64))


def two_layers():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def weights_of(module):
    return [value.detach().numpy().copy() for value in module.state_dict().values()]


def eager_steps(network, batches, loss=None, lr=0.1):
    """The weights after a step of plain PyTorch with each batch."""
    model = WithLoss(copy.deepcopy(network), loss).train()
    optimizer = optim.SGD(model.parameters(), lr=lr, momentum=0.5)
    for x, y in batches:
        optimizer.zero_grad()
        model(x, y)[1].backward()
        optimizer.step()
    return weights_of(model.model)


def compiled_steps(network, calls, options=None, loss=None, lr=0.1):
    """The same for a call of a training model with each batch."""
    network = copy.deepcopy(network)
    model = poptorch.trainingModel(WithLoss(network, loss), options,
                                   optim.SGD(network.parameters(), lr=lr, momentum=0.5))
    for x, y in calls:
        model(x, y)
    return weights_of(network)


def assert_equal_weights(found, wanted):
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_training_and_inference_share_weights():
    network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
    options = poptorch.Options().deviceIterations(4).anchorMode(poptorch.AnchorMode.All)
    training = poptorch.trainingModel(WithLoss(network), options, optimizer=optim.SGD(network.parameters(), lr=0.3))
    x, y = data()
    for _ in range(30):
        output, losses = training(x, y)
    assert output.shape == (64, 2) and losses.shape == (4,) and losses.mean().item() < 0.3
    training.detachFromDevice()
    found = poptorch.inferenceModel(network)(x)
    assert (found.argmax(1) == y).float().mean().item() > 0.9
    network.eval()
    np.testing.assert_allclose(found.numpy(), network(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_training_makes_the_steps_of_pytorch():
    x, y = data(16)
    wanted = eager_steps(two_layers(), [(x[:8], y[:8]), (x[8:], y[8:])])
    assert_equal_weights(compiled_steps(two_layers(), [(x[:8], y[:8]), (x[8:], y[8:])]), wanted)
    assert_equal_weights(compiled_steps(two_layers(), [(x, y)], poptorch.Options().deviceIterations(2)), wanted)


@pytest.mark.parametrize("make", [
    lambda p: optim.Adam(p, lr=0.01, amsgrad=True), lambda p: optim.AdamW([{"params": [p[0]], "lr": 0.1}, {"params": p[1:]}]),
    lambda p: optim.RMSprop(p, momentum=0.5, maximize=True), lambda p: optim.NAdam(p, foreach=True), lambda p: poptorch.optim.SGD(
        p, lr=0.1, momentum=0.9, weight_decay=0.1, loss_scaling=2.0)],
    ids=["adam", "adamw", "rmsprop", "nadam", "sgd"])
def test_optimizers_are_those_of_pytorch(make):
    x, y = data(8)
    found, wanted = two_layers(), WithLoss(two_layers())
    model = poptorch.trainingModel(WithLoss(found), None, make(list(found.parameters())))
    optimizer = make(list(wanted.parameters()))
    for _ in range(3):
        model(x, y)
        optimizer.zero_grad()
        wanted(x, y)[1].backward()
        optimizer.step()
    assert_equal_weights(weights_of(found), weights_of(wanted))


@pytest.mark.parametrize("divided", ["accumulation", "replicas", "stages", "balanced"])
def test_a_step_that_is_divided_is_that_of_the_whole_batch(divided):
    options = poptorch.Options()
    if divided == "replicas":
        options.replicationFactor(2)
    else:
        options.Training.gradientAccumulation(4)
    if divided == "balanced":
        options.setExecutionStrategy(poptorch.PipelinedExecution(stages=2))
    network = two_layers()
    if divided == "stages":
        poptorch.BeginBlock(network[2], ipu_id=1)
    x, y = data(16)
    assert_equal_weights(compiled_steps(network, [(x, y)], options), eager_steps(two_layers(), [(x, y)]))


@pytest.mark.parametrize("loss", [
    nn.CrossEntropyLoss(), nn.CrossEntropyLoss(weight=torch.tensor([0.25, 2.0])), nn.CrossEntropyLoss(reduction="sum"),
    nn.CrossEntropyLoss(label_smoothing=0.1)], ids=["mean", "weights", "sum", "smoothed"])
def test_samples_that_fill_up_a_micro_batch_do_not_count(loss):
    options = poptorch.Options()
    options.Training.gradientAccumulation(4)
    if loss.reduction == "sum":
        options.Training.accumulationAndReplicationReductionType(poptorch.ReductionType.Sum)
    x, y = data(16)
    if loss.weight is not None:    # the mean of the micro-batches, each by its number of samples
        options = poptorch.Options()
    lr = 0.01
    calls = [(x[:8], y[:8]), (x[:6], y[:6])] if loss.weight is not None else [(x, y), (x[:14], y[:14])]
    assert_equal_weights(compiled_steps(two_layers(), calls, options, loss, lr), eager_steps(two_layers(), calls, loss, lr))


def test_batch_norm_keeps_the_statistics_of_real_samples():
    torch.manual_seed(3)
    network = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    x, y = data(16)
    calls = [(x[:8], y[:8]), (x[8:13], y[8:13])]
    found, wanted = compiled_steps(network, calls), eager_steps(network, calls)
    assert_equal_weights(found, wanted)
    assert [value for value in found if value.dtype == np.int64] == [2]


def test_gradients_are_those_of_pytorch():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 1.0

        @staticmethod
        def backward(context, gradient):
            return gradient * 2

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 3), nn.Linear(3, 2)

        def forward(self, x):
            with torch.no_grad():
                scale = self.first(x).mean()
            x = Doubled.apply(self.first(x))
            x.register_hook(lambda gradient: gradient * 0.5)
            return self.second(x * scale)
    x, y = data(8)
    torch.manual_seed(5)
    network = Net()
    assert_equal_weights(compiled_steps(network, [(x, y)]), eager_steps(network, [(x, y)]))


def test_a_default_argument_and_the_structure_of_results():
    class Named(nn.Module):
        def forward(self, x, scale=2.0, other=None):
            return {"a": x * scale, "b": (x + 1, other), "c": x.argmax(1)}
    model = poptorch.inferenceModel(Named())
    found = model(torch.ones(2, 3))
    assert found["a"].sum().item() == 12 and found["b"][0].shape == (2, 3) and found["b"][1] is None
    assert found["c"].dtype == torch.int64
    assert model(torch.ones(2, 3), scale=3.0)["a"].sum().item() == 18


def test_a_parameter_of_a_users_module_is_trained():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.zeros(1))
            self.register_buffer("offset", torch.ones(1))
            self.loss = nn.MSELoss()

        def forward(self, x, y):
            return self.loss(x * self.scale + self.offset, y)
    module = Scaled()
    model = poptorch.trainingModel(module, optimizer=optim.SGD(module.parameters(), lr=0.1))
    for _ in range(60):
        model(torch.ones(8, 1), torch.full((8, 1), 3.0))
    assert module.scale.item() == pytest.approx(2.0, abs=1e-3) and module.offset.item() == 1.0


CHANGES = {
    "data": lambda network: network.weight.data.mul_(2),
    "load_state_dict": lambda network: network.load_state_dict({name: value + 1 for name, value in network.state_dict().items()}),
    "another memory": lambda network: setattr(network.weight, "data", torch.ones(2, 4))}


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("change", CHANGES)
def test_weights_that_pytorch_changes_are_used_from_the_next_call(change, replicas):
    torch.manual_seed(4)
    network = nn.Linear(4, 2)
    wanted, optimizers = copy.deepcopy(network), []
    for one in (network, wanted):
        optimizers.append(optim.SGD(one.parameters(), lr=0.1, momentum=0.5))
    training = poptorch.trainingModel(WithLoss(network), poptorch.Options().replicationFactor(replicas), optimizers[0])
    inference = poptorch.inferenceModel(network)
    x, y = data(8)
    for i in range(4):
        if i:
            CHANGES[change](network)
            CHANGES[change](wanted)
        training(x, y)
        optimizers[1].zero_grad()
        nn.functional.cross_entropy(wanted(x), y).backward()
        optimizers[1].step()
        np.testing.assert_allclose(network.weight.detach().numpy(), wanted.weight.detach().numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(inference(x).numpy(), wanted(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_model_that_was_saved_goes_on(tmp_path):
    x, y = data(8)
    runs = []
    for is_resumed in (False, True):
        network = two_layers()
        model = poptorch.trainingModel(WithLoss(network), None, optim.SGD(network.parameters(), lr=0.1, momentum=0.9))
        model(x, y)
        if is_resumed:
            model.save(tmp_path / "model.npz")
            with torch.no_grad():
                network[0].weight.zero_()
            model(x, y)
            model.load(tmp_path / "model.npz")
        model(x, y)
        runs.append(weights_of(network))
    assert_equal_weights(*runs)


def test_blocks_make_a_pipeline():
    network = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    poptorch.BeginBlock(network[1], ipu_id=1)
    options = poptorch.Options()
    options.Training.gradientAccumulation(4)
    model = poptorch.trainingModel(WithLoss(network), options, optimizer=optim.SGD(network.parameters(), lr=0.1))
    model(*data())
    assert "model.1 .. loss" in model.explain()


def test_a_strategy_gives_blocks_their_ipus():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

        def forward(self, x):
            with poptorch.Block("B1"):
                x = self.first(x)
            with poptorch.Block("B2"):
                return self.second(x)
    network = Named()
    options = poptorch.Options().setExecutionStrategy(
        poptorch.PipelinedExecution(poptorch.Stage("B1").ipu(0), poptorch.Stage("B2").ipu(1)))
    options.Training.gradientAccumulation(2)
    model = poptorch.trainingModel(WithLoss(network), options, optimizer=optim.SGD(network.parameters(), lr=0.1))
    model(*data())
    assert "second" in model.explain()


def test_a_block_that_needs_a_later_one_is_refused():
    network = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    poptorch.BeginBlock(network[0], ipu_id=1)
    poptorch.BeginBlock(network[1], ipu_id=0)
    with pytest.raises(poptorch.Error, match="the block on IPU 0 needs what '.*' makes on IPU 1"):
        poptorch.inferenceModel(network)(data()[0])


def test_a_model_is_compiled_where_there_are_no_gradients():
    network, x, y = two_layers(), *data(8)
    with torch.no_grad():
        found = compiled_steps(network, [(x, y)])
    assert_equal_weights(found, eager_steps(network, [(x, y)]))
    with torch.inference_mode():
        predicted = poptorch.inferenceModel(network)(x)
    np.testing.assert_allclose(predicted.numpy(), network(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_new_rate_is_used_from_the_next_call():
    network = nn.Linear(4, 2)
    optimizer = optim.SGD(network.parameters(), lr=0.0)
    model = poptorch.trainingModel(WithLoss(network), optimizer=optimizer)
    x, y = data()
    before = network.weight.detach().numpy().copy()
    model(x, y)
    np.testing.assert_array_equal(network.weight.detach().numpy(), before)
    optimizer.param_groups[0]["lr"] = 0.5
    model.setOptimizer(optimizer)
    model(x, y)
    assert (network.weight.detach().numpy() != before).any()


def test_messages():
    model = poptorch.trainingModel(nn.Linear(4, 2), optimizer=optim.SGD(nn.Linear(4, 2).parameters(), lr=0.1))
    with pytest.raises(poptorch.Error, match="computes no loss"):
        model(data()[0])
    with pytest.raises(TypeError, match="must be a torch.nn.Module"):
        poptorch.inferenceModel(3)
    with pytest.raises(NotImplementedError, match="'weight': programs compute in float32 and not in torch.float64"):
        poptorch.inferenceModel(nn.Linear(4, 2).double())(data()[0].double())
    with pytest.raises(AttributeError, match="the nearest is deviceIterations"):
        poptorch.Options().deviceIteration(3)
    with pytest.raises(RuntimeError, match="deviceIterations"):
        poptorch.Options().deviceIterations(0)
    network = nn.Linear(4, 2)
    for wrong, text in ((optim.Adamax, "Adamax is not in Pando: Pando has SGD"),
                        (lambda p: optim.Adam(p, capturable=True), "make it with capturable=False")):
        with pytest.raises(NotImplementedError, match=text):
            poptorch.trainingModel(WithLoss(network), optimizer=wrong(network.parameters()))
    with pytest.raises(NotImplementedError, match="rebatched_size is not in Pando; give the loader another batch_size"):
        poptorch.AsynchronousDataAccessor([], rebatched_size=2)
    with pytest.raises(NotImplementedError, match="max_grad_norm"):
        poptorch.optim.SGD(network.parameters(), lr=0.1, max_grad_norm=1.0)

    class Looks(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    with pytest.raises(NotImplementedError, match=r"use torch\.where in place of if"):
        poptorch.inferenceModel(Looks())(torch.ones(2, 2))


def test_a_value_that_is_not_a_number_is_found_by_its_module():
    class Roots(nn.Module):
        def forward(self, x):
            return torch.sqrt(x)
    options = poptorch.Options()
    options.Precision.enableFloatingPointExceptions(True)
    model = poptorch.inferenceModel(nn.Sequential(nn.Identity(), Roots()), options)
    assert model(torch.ones(1, 2)).sum() == 2
    with pytest.raises(poptorch.Error, match="1.*sqrt|sqrt.*1"):
        model(-torch.ones(1, 2))


def test_dropout_draws_the_same_masks_from_the_same_seed():
    def drawn(seed, pytorch_seed=0):
        torch.manual_seed(pytorch_seed)
        network = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5), nn.Linear(64, 2))
        options = poptorch.Options() if seed is None else poptorch.Options().randomSeed(seed)
        model = poptorch.trainingModel(WithLoss(network), options, optim.SGD(network.parameters(), lr=0.0))
        return [model(torch.ones(1, 4), torch.zeros(1, dtype=torch.int64))[0].tolist() for _ in range(2)]
    first = drawn(1)
    assert first[0] != first[1] and first == drawn(1) != drawn(2)
    assert drawn(None) == drawn(None)


def test_a_loss_that_mixes_samples_is_refused_where_some_are_not_real():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x):
            return poptorch.identity_loss((self.layer(x) ** 2).mean(), "none")
    network = Net()
    options = poptorch.Options()
    options.Training.gradientAccumulation(2)
    model = poptorch.trainingModel(network, options, optim.SGD(network.parameters(), lr=0.1))
    x, _ = data(8)
    model(x)
    with pytest.raises(poptorch.Error, match="do not fill the last micro-batch"):
        model(x[:7])


def test_models_are_dropped():
    network = nn.Linear(4, 2)
    model = poptorch.trainingModel(WithLoss(network), optimizer=optim.SGD(network.parameters(), lr=0.1))
    model(*data())
    dropped = weakref.ref(model)
    del model
    gc.collect()
    assert dropped() is None


def test_a_loader_of_whole_calls():
    options = poptorch.Options().deviceIterations(4)
    for workers in (0, 2):
        loader = poptorch.DataLoader(options, torch.utils.data.TensorDataset(*data()), batch_size=8, shuffle=True,
                                     num_workers=workers, mode=poptorch.DataLoaderMode.Async)
        assert len(loader) == 2 and next(iter(loader))[0].shape == (32, 4) and loader.combinedBatchSize == 32


def test_processes_must_shuffle_alike():
    options = poptorch.Options()
    options._values.update(num_processes=2)
    with pytest.raises(ValueError, match="shuffle=True with several processes needs Options.randomSeed"):
        poptorch.DataLoader(options, [1, 2, 3, 4], shuffle=True)
    orders = [list(poptorch.DataLoader(options.randomSeed(3), list(range(20)), shuffle=True)) for _ in range(2)]
    assert [x.tolist() for x in orders[0]] == [x.tolist() for x in orders[1]]
