# SPDX-License-Identifier: Apache-2.0
"""What changes between the calls of a compiled step counts, or the call runs in PyTorch: never yesterday's program."""
import copy
import random
import types

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: apt install python3-torch)")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812
from torch_twins import Scaled, assert_equal_to_eager, batches, eager_step, mlp, sgd, twins  # noqa: E402

from pando.torch import compile_step  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


# ---- the model in Python
def test_an_attribute_of_a_module():
    def change(model, _, i):
        model.scale = 1.0 if i < 3 else 0.3
    _, _, step = assert_equal_to_eager(Scaled, change)
    assert "program 2" in step.report()


def test_options_of_layers():
    def change(model, _, i):
        model[1].p, model[2].momentum, model[3].negative_slope = (0.0, 0.1, 0.01) if i < 3 else (1.0, 0.9, 0.5)
    assert_equal_to_eager(lambda: nn.Sequential(nn.Flatten(), nn.Dropout(0.0), nn.BatchNorm1d(16), nn.LeakyReLU(),
                                                nn.Linear(16, 4)), change)


def test_a_method_that_is_replaced():
    def change(model, _, i):
        if i == 3:
            model[2].forward = types.MethodType(lambda self, x: x * 0.3, model[2])
    assert_equal_to_eager(change=change)


def test_a_counter_in_forward_runs_in_pytorch():
    class Counting(Scaled):
        def forward(self, x):
            self.calls += 1
            return super().forward(x) * (1 + 0.1 * self.calls)
    model, wanted, step = assert_equal_to_eager(Counting)
    assert model.calls == wanted.calls == 6
    assert "forward() changes 'calls' of a Counting, on which the next call depends" in step.report()


def test_a_state_that_forward_keeps_as_an_attribute_runs_in_pytorch():
    class Remembering(Scaled):
        before = None

        def forward(self, x):
            made = self.layer(x.flatten(1))
            made, self.before = (made if self.before is None else made + 0.5 * self.before), made.detach()
            return made
    _, _, step = assert_equal_to_eager(Remembering)
    assert "program" not in step.report()


def test_lists_that_grow_in_forward_run_in_pytorch():
    class Collecting(Scaled):
        def __init__(self):
            super().__init__()
            self.found = []

        def forward(self, x):
            self.found.append(self.layer(x.flatten(1)))
            return self.found[-1]
    model, _, step = assert_equal_to_eager(Collecting)
    assert len(model.found) == 6 and all(type(x) is torch.Tensor for x in model.found)
    assert "forward() changes 'found' of a Collecting, whose parts a program does not change" in step.report()


def test_tensors_that_forward_leaves_in_attributes_are_those_of_the_call():
    class Measuring(Scaled):
        def forward(self, x):
            made = self.layer(x.flatten(1))
            self.parts, self.mean, self.width = [made.pow(2).mean()], made.mean(), made.shape[1]
            return made
    model, wanted, step = assert_equal_to_eager(Measuring)
    assert "program 1: 6 calls" in step.report()
    assert torch.allclose(model.mean, wanted.mean, 1e-4) and torch.allclose(model.parts[0], wanted.parts[0], 1e-4)
    assert model.width == 4


def test_a_loss_reads_what_forward_left():
    class Penalized(Scaled):
        def forward(self, x):
            made = self.layer(x.flatten(1))
            self.penalty = made.pow(2).mean()
            return made
    models = twins(Penalized())
    losses = [lambda out, y, model=model: F.cross_entropy(out, y) + 0.1 * model.penalty for model in models]
    step = compile_step(models[0], losses[0], sgd(models[0]), strict=True)
    eager = eager_step(models[1], sgd(models[1]), losses[1])
    for batch in batches():
        assert step(*batch).item() == pytest.approx(eager(*batch), rel=1e-5)


def test_numbers_that_are_drawn_outside_of_pytorch():
    class Drawing(Scaled):
        def forward(self, x):
            return super().forward(x) * random.random()
    model = Drawing()
    step = compile_step(model, F.cross_entropy, sgd(model))
    random.seed(3)
    step(*batches(1)[0])
    found = random.random()
    random.seed(3)
    random.random()
    assert found == random.random()
    assert "the model draws numbers outside of PyTorch" in step.report()


# ---- hooks
@pytest.mark.parametrize("add", [
    lambda m: m[1].register_forward_hook(lambda module, inputs, out: out * 0.5),
    lambda m: m[1].register_forward_pre_hook(lambda module, inputs: (inputs[0] * 0.5,)),
    lambda m: m[3].register_full_backward_hook(lambda module, inner, outer: (inner[0] * 0.5,)),
    lambda m: m[1].weight.register_hook(lambda gradient: gradient.clamp(-1e-3, 1e-3))])
def test_hooks_come_and_go(add):
    handles = {}

    def change(model, _, i):
        if i == 2:
            handles[id(model)] = add(model)
        if i == 5:
            handles[id(model)].remove()
    _, _, step = assert_equal_to_eager(change=change, data=batches(8))
    assert "program 2" in step.report()


def test_hooks_of_all_modules():
    handles = []

    def change(model, _, i):
        if i == 3 and not handles:
            handles.append(nn.modules.module.register_module_forward_hook(
                lambda module, inputs, out: out * 0.5 if isinstance(module, nn.Tanh) else None))
    try:
        assert_equal_to_eager(change=change)
    finally:
        handles[0].remove()


def test_hooks_see_the_share_of_an_accumulated_gradient():
    model = mlp()
    wanted = copy.deepcopy(model)
    for net in (model, wanted):
        net[1].weight.register_hook(lambda gradient: gradient.clamp(-5e-3, 5e-3))
    step, other = compile_step(model, F.cross_entropy, sgd(model), accumulate=2, strict=True), sgd(wanted)
    for i, (x, y) in enumerate(batches(6)):
        step(x, y)
        (F.cross_entropy(wanted(x), y) / 2).backward()
        if i % 2:
            other.step()
            other.zero_grad()
    assert torch.allclose(model[1].weight, wanted[1].weight, 1e-5, 1e-6)


# ---- tensors
def test_a_buffer_that_forward_assigns():
    class Averaging(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(16, 4)
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x):
            made = self.layer(x.flatten(1))
            self.mean = 0.9 * self.mean + 0.1 * made.detach().mean(0)
            return made - self.mean
    _, _, step = assert_equal_to_eager(Averaging)
    assert "program 1: 6 calls" in step.report()


def test_data_that_is_set_in_forward_runs_in_pytorch():
    class Clipped(Scaled):
        def forward(self, x):
            self.layer.weight.data = self.layer.weight.data.clamp(-0.1, 0.1)
            return super().forward(x)
    _, _, step = assert_equal_to_eager(Clipped)
    assert "the model sets the data of a parameter or buffer" in step.report()


def test_data_that_is_no_longer_contiguous_runs_in_pytorch():
    def change(model, _, i):
        if i == 3:
            model[1].weight.data = model[1].weight.data.t().contiguous().t()
    _, _, step = assert_equal_to_eager(change=change)
    assert "'1.weight' is not contiguous" in step.report()


def test_weights_of_another_type_are_not_written_to():
    model = mlp()
    step = compile_step(model, F.cross_entropy, sgd(model))
    step(*batches(1)[0])
    model.double()
    before = model[1].weight.clone()
    with pytest.raises(RuntimeError, match="dtype|type"):
        step(*batches(1)[0])
    assert torch.equal(model[1].weight, before)


def test_weights_of_classes_are_buffers_of_the_loss():
    loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0, 4.0]))

    def change(model, optimizer, i):
        loss.weight[i % 4] += 0.5
    _, _, step = assert_equal_to_eager(loss=loss, change=change)
    assert "program 1: 6 calls" in step.report()


def test_a_tensor_of_a_closure_is_not_part_of_the_program():
    scale = torch.ones(4)

    def change(model, optimizer, i):
        scale.mul_(1.1)
    _, _, step = assert_equal_to_eager(loss=lambda out, y: F.cross_entropy(out * scale, y), change=change)
    assert "the model computes with a tensor that it keeps elsewhere" in step.report()


def test_an_argument_that_requires_a_gradient_gets_it():
    encoder, model = nn.Linear(16, 16), nn.Linear(16, 4)
    step = compile_step(model, F.cross_entropy, sgd(model))
    x, y = batches(1)[0]
    step(encoder(x.flatten(1)), y)
    assert encoder.weight.grad is not None
    assert "an argument requires a gradient" in step.report()


@pytest.mark.parametrize("form", [lambda x: x.transpose(1, 2), lambda x: x[:1].expand(8, 4, 4),
                                  lambda x: torch.cat([x, x], 2)[:, :, ::2]])
def test_arguments_in_any_layout(form):
    _, _, step = assert_equal_to_eager(data=[(form(x), y) for x, y in batches()])
    assert "program 1: 6 calls" in step.report()


def test_an_argument_in_the_memory_of_a_weight():
    models = twins(nn.Linear(4, 4, bias=False))
    step, eager = compile_step(models[0], F.mse_loss, sgd(models[0]), strict=True), eager_step(
        models[1], sgd(models[1]), F.mse_loss)
    for _ in range(4):
        found = step(models[0].weight.data, models[0].weight.data.t())
        assert found.item() == pytest.approx(eager(models[1].weight.data, models[1].weight.data.t()), rel=1e-5)
    assert torch.allclose(models[0].weight, models[1].weight, 1e-5)


@pytest.mark.parametrize("norm, dim", [(nn.utils.weight_norm, 0), (nn.utils.weight_norm, 1), (nn.utils.weight_norm, None),
                                       (nn.utils.spectral_norm, 0), (nn.utils.parametrizations.spectral_norm, 0)])
def test_weights_that_are_computed_from_others(norm, dim):
    _, _, step = assert_equal_to_eager(lambda: nn.Sequential(nn.Flatten(), norm(nn.Linear(16, 12), dim=dim), nn.Tanh(),
                                                             nn.Linear(12, 4)))
    assert "program 1: 6 calls" in step.report()


def test_a_parametrization_that_is_added():
    class Halved(nn.Module):
        def forward(self, x):
            return x * 0.5

    def change(model, _, i):
        if i == 3:
            nn.utils.parametrize.register_parametrization(model[1], "weight", Halved())
    assert_equal_to_eager(change=change)
