# SPDX-License-Identifier: Apache-2.0
"""PopTorch and torchvision: models compiled for virtual IPUs, and the data that they are fed."""
import gc
import weakref

import numpy as np
import pytest

import pando.torch as torch
from pando import poptorch, torchvision
from pando.torch import nn, optim


class WithLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.loss = nn.CrossEntropyLoss()

    def forward(self, args, loss_inputs=None):
        output = self.model(args)
        if loss_inputs is None:
            return output
        return output, self.loss(output, loss_inputs)


def data(count=64):
    draw = np.random.default_rng(1)
    x = draw.normal(size=(count, 4)).astype(np.float32)
    return torch.from_numpy(x), torch.from_numpy((x[:, 0] > 0).astype(np.int64))


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


def test_a_default_argument_and_the_structure_of_results():
    class Named(nn.Module):
        def forward(self, x, scale=2.0, other=None):
            return {"a": x * scale, "b": (x + 1, other)}
    model = poptorch.inferenceModel(Named())
    found = model(torch.ones(2, 3))
    assert found["a"].sum().item() == 12 and found["b"][0].shape == (2, 3) and found["b"][1] is None
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


def test_blocks_make_a_pipeline():
    network = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    poptorch.BeginBlock(network[1], ipu_id=1)
    options = poptorch.Options()
    options.Training.gradientAccumulation(4)
    model = poptorch.trainingModel(WithLoss(network), options, optimizer=optim.SGD(network.parameters(), lr=0.1))
    model(*data())
    assert "IPU" in model.explain()


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
    with pytest.raises(AttributeError, match="the nearest is deviceIterations"):
        poptorch.Options().deviceIteration(3)
    with pytest.raises(RuntimeError, match="deviceIterations"):
        poptorch.Options().deviceIterations(0)

    class Looks(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    with pytest.raises(TypeError, match="where"):
        poptorch.inferenceModel(Looks())(torch.ones(2, 2))


def test_models_are_dropped():
    network = nn.Linear(4, 2)
    model = poptorch.trainingModel(WithLoss(network), optimizer=optim.SGD(network.parameters(), lr=0.1))
    model(*data())
    dropped = weakref.ref(model)
    del model
    gc.collect()
    assert dropped() is None


def test_images_are_transformed_alike_in_cpp_and_in_python():
    transforms = torchvision.transforms
    plain = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.25,))])
    mixed = transforms.Compose([*plain.transforms, transforms.Lambda(lambda x: x)])
    assert repr(plain) == "Compose(\n    ToTensor()\n    Normalize(mean=(0.5,), std=(0.25,))\n)"
    made = [torchvision.datasets.FakeData(8, (1, 6, 6), transform=transform) for transform in (plain, mixed)]
    batches = [next(iter(torch.utils.data.DataLoader(dataset, batch_size=8))) for dataset in made]
    np.testing.assert_allclose(batches[0][0].numpy(), batches[1][0].numpy(), rtol=1e-5)
    assert batches[0][1].dtype == torch.int64 and batches[0][1].tolist() == batches[1][1].tolist()


def test_a_data_set_that_is_not_there(tmp_path):
    with pytest.raises(RuntimeError, match="You can use download=True"):
        torchvision.datasets.MNIST(str(tmp_path), train=True)


def test_a_loader_of_whole_calls():
    options = poptorch.Options().deviceIterations(4)
    loader = poptorch.DataLoader(options, torch.utils.data.TensorDataset(*data()), batch_size=8, shuffle=True)
    assert len(loader) == 2 and next(iter(loader))[0].shape == (32, 4)
