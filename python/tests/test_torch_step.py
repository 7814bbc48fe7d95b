# SPDX-License-Identifier: Apache-2.0
"""compile_step beside the same steps in PyTorch: losses, weights, buffers and the optimizer's state, in PyTorch's memory."""
import copy
import io
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: apt install python3-torch)")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

from pando.torch import compile_forward, compile_step  # noqa: E402


@pytest.fixture(autouse=True)
def _no_warning():
    """What stays eager is told by a warning, so nothing does here unless a test expects it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="compile_")
        yield


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 4))


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        # A bias before the norm would have gradients of rounding errors alone.
        self.conv, self.norm = nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.head = nn.Linear(4 * 3 * 3, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.head(x.flatten(1))


def batches(count=6, size=8, shape=(1, 8, 8), classes=4, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return [(torch.randn(size, *shape, generator=draw), torch.randint(0, classes, (size,), generator=draw))
            for _ in range(count)]


def flat(count=6, size=8, seed=0):
    return batches(count, size, (4, 4), seed=seed)


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=0.01)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def eager(model, optimizer, data, loss=F.cross_entropy, clip=None):
    losses = []
    for x, y in data:
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        losses.append(value.item())
    return losses


def twins(make, optimizer=adam):
    torch.manual_seed(1)
    first = make()
    second = copy.deepcopy(first)
    return first, optimizer(first), second, optimizer(second)


def assert_same(model, other, tolerance=2e-5):
    for (name, a), (_, b) in zip(model.state_dict().items(), other.state_dict().items()):
        assert a.dtype == b.dtype, name
        assert torch.allclose(a.double(), b.double(), tolerance, tolerance), name


@pytest.mark.parametrize("make, data", [(mlp, flat()), (ConvNet, batches())])
@pytest.mark.parametrize("optimizer", [adam, sgd])
def test_steps_are_those_of_eager(make, data, optimizer):
    model, update, wanted, other = twins(make, optimizer)
    step = compile_step(model, F.cross_entropy, update, strict=True)
    losses = [step(x, y).item() for x, y in data]
    assert losses == pytest.approx(eager(wanted, other, data), rel=1e-5, abs=1e-6)
    assert_same(model, wanted)


def test_the_loss_is_a_number_without_gradient():
    model, update, _, _ = twins(mlp)
    loss = compile_step(model, F.cross_entropy, update, strict=True)(*flat()[0])
    assert loss.shape == () and loss.dtype == torch.float32 and not loss.requires_grad


def test_weights_stay_where_they_are_and_have_no_gradient():
    model, update, _, _ = twins(mlp)
    places = [p.data_ptr() for p in model.parameters()]
    step = compile_step(model, F.cross_entropy, update, strict=True)
    for x, y in flat():
        step(x, y)
    assert [p.data_ptr() for p in model.parameters()] == places
    assert all(p.grad is None for p in model.parameters())


def test_eager_steps_and_compiled_steps_take_turns():
    model, update, wanted, other = twins(mlp)
    step, data = compile_step(model, F.cross_entropy, update, strict=True), flat()
    for i, batch in enumerate(data):
        if i % 2:
            eager(model, update, [batch])
        else:
            step(*batch)
    eager(wanted, other, data)
    assert_same(model, wanted)


def test_a_state_of_the_optimizer_is_saved_and_loaded():
    model, update, wanted, other = twins(mlp)
    step, data = compile_step(model, F.cross_entropy, update, strict=True), flat()
    for batch in data[:3]:
        step(*batch)
    saved = io.BytesIO()
    torch.save((model.state_dict(), update.state_dict()), saved)
    saved.seek(0)
    weights, states = torch.load(saved)
    for batch in data[3:]:
        step(*batch)
    # Back to the third batch, in the same objects and in new ones.
    model.load_state_dict(weights)
    update.load_state_dict(copy.deepcopy(states))    # PyTorch 2 keeps these very tensors
    for batch in data[3:]:
        step(*batch)
    eager(wanted, other, data)
    assert_same(model, wanted)
    resumed = mlp()
    resumed.load_state_dict(weights)
    optimizer = adam(resumed)
    optimizer.load_state_dict(states)
    eager(resumed, optimizer, data[3:])
    assert_same(resumed, wanted)


def test_what_is_written_to_a_weight_counts():
    model, update, wanted, other = twins(mlp)
    step, data = compile_step(model, F.cross_entropy, update, strict=True), flat()
    for i, batch in enumerate(data):
        for net in (model, wanted):
            with torch.no_grad():
                if i == 2:
                    net[1].weight.mul_(0.5)
                if i == 3:
                    net[1].weight.data = torch.full((12, 16), 0.1)
        step(*batch)
        eager(wanted, other, [batch])
    assert_same(model, wanted)


def test_a_weight_that_is_laid_out_anew_in_its_memory_is_noticed():
    def square():
        return nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 4))
    model, update, wanted, other = twins(square, sgd)
    data = [(x.flatten(1)[:, :6], y) for x, y in flat()]
    step = compile_step(model, F.cross_entropy, update)
    for batch in data[:2]:
        step(*batch)
    model[0].weight.data = model[0].weight.data.t()
    with pytest.warns(UserWarning, match="'0.weight' is not contiguous"):
        for batch in data[2:]:
            step(*batch)
    eager(wanted, other, data[:2])
    wanted[0].weight.data = wanted[0].weight.data.t()
    eager(wanted, other, data[2:])
    assert_same(model, wanted)


def test_a_copy_of_the_model_does_not_follow_it():
    model, update, _, _ = twins(mlp)
    step = compile_step(model, F.cross_entropy, update, strict=True)
    step(*flat()[0])
    kept = copy.deepcopy(model)
    before = kept[1].weight.clone()
    step(*flat()[1])
    assert torch.equal(kept[1].weight, before)
    assert not torch.equal(model[1].weight, before)


def test_a_schedule_sets_the_rate_of_the_next_step():
    model, update, wanted, other = twins(mlp)
    step = compile_step(model, F.cross_entropy, update, strict=True)
    schedules = [torch.optim.lr_scheduler.ExponentialLR(o, 0.5) for o in (update, other)]
    for batch in flat():
        step(*batch)
        eager(wanted, other, [batch])
        for schedule in schedules:
            schedule.step()
    assert_same(model, wanted)


def test_groups_have_their_own_options():
    def groups(model):
        return torch.optim.AdamW([{"params": [model[1].weight, model[3].weight], "weight_decay": 0.1},
                                  {"params": [model[1].bias, model[3].bias], "weight_decay": 0.0, "lr": 0.002}], lr=0.01)
    model, update, wanted, other = twins(mlp, groups)
    step = compile_step(model, F.cross_entropy, update, strict=True)
    for batch in flat():
        step(*batch)
    eager(wanted, other, flat())
    assert_same(model, wanted)


def test_an_option_that_changes_makes_another_program():
    model, update, wanted, other = twins(mlp)
    step = compile_step(model, F.cross_entropy, update, strict=True)
    for i, batch in enumerate(flat()):
        for optimizer in (update, other):
            optimizer.param_groups[0]["weight_decay"] = 0.1 if i > 2 else 0.0
        step(*batch)
        eager(wanted, other, [batch])
    assert_same(model, wanted)


def test_frozen_weights_stay_and_train_when_they_are_thawed():
    model, update, wanted, other = twins(mlp)
    for net in (model, wanted):
        net[1].requires_grad_(False)
    step, data = compile_step(model, F.cross_entropy, update, strict=True), flat(8)
    before = model[1].weight.clone()
    for batch in data[:4]:
        step(*batch)
    assert torch.equal(model[1].weight, before)
    eager(wanted, other, data[:4])
    for net in (model, wanted):
        net[1].requires_grad_(True)
    for batch in data[4:]:
        step(*batch)
    eager(wanted, other, data[4:])
    # The thawed layer has made fewer updates than the other one.
    assert_same(model, wanted)


def test_gradients_are_clipped():
    model, update, wanted, other = twins(mlp, sgd)
    step = compile_step(model, F.cross_entropy, update, clip_norm=0.1, strict=True)
    losses = [step(*batch).item() for batch in flat()]
    assert losses == pytest.approx(eager(wanted, other, flat(), clip=0.1), rel=1e-5)
    assert_same(model, wanted)


def test_accumulated_gradients_make_one_update():
    model, update, wanted, other = twins(mlp)
    data = flat(4)
    step = compile_step(model, F.cross_entropy, update, accumulate=2, strict=True)
    before = model[1].weight.clone()
    step(*data[0])
    assert torch.equal(model[1].weight, before)
    for batch in data[1:]:
        step(*batch)
    joined = [tuple(torch.cat(parts) for parts in zip(*data[i:i + 2])) for i in (0, 2)]
    eager(wanted, other, joined)
    assert_same(model, wanted)


def test_a_loop_over_a_loader_is_the_same_steps():
    model, update, wanted, other = twins(mlp)
    data = [*flat(7), *flat(1, size=3)]
    step = compile_step(model, F.cross_entropy, update)
    losses = [loss.item() for loss in step.run(data, steps_per_execution=3)]
    assert losses == pytest.approx(eager(wanted, other, data), rel=1e-5)
    assert_same(model, wanted)


def test_evaluation_uses_the_weights_of_the_moment():
    model, update, _, _ = twins(ConvNet)
    step, forward = compile_step(model, F.cross_entropy, update, strict=True), compile_forward(model, strict=True)
    for x, y in batches(3):
        step(x, y)
        model.eval()
        with torch.no_grad():
            assert torch.allclose(forward(x), model(x), 1e-5, 1e-5)
        model.train()


def test_a_shape_that_is_seen_once_runs_in_pytorch():
    model, update, wanted, other = twins(mlp)
    data = [*flat(3), *flat(1, size=3), *flat(2, seed=1), *flat(1, size=3, seed=2)]
    step = compile_step(model, F.cross_entropy, update, strict=True)
    for batch in data:
        step(*batch)
    eager(wanted, other, data)
    assert_same(model, wanted)
    assert "1 calls: its kind was seen once" in step.report()
    assert "program 2: 1 calls" in step.report()


def test_what_cannot_be_compiled_runs_in_pytorch_and_is_told():
    class Branch(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(16, 4)

        def forward(self, x):
            y = self.layer(x.flatten(1))
            return y * 2 if y.mean() > 0 else y
    model, update, wanted, other = twins(Branch)
    step = compile_step(model, F.cross_entropy, update)
    with pytest.warns(UserWarning, match="compile_step: .* runs in PyTorch and is not compiled"):
        losses = [step(*batch).item() for batch in flat()]
    assert losses == eager(wanted, other, flat())
    assert_same(model, wanted, 0)
    assert "in PyTorch: 6 calls" in step.report()


def test_dropout_follows_the_seed():
    def losses(seed):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.Dropout(0.5), nn.Linear(12, 4))
        step = compile_step(model, F.cross_entropy, sgd(model), strict=True)
        torch.manual_seed(seed)
        return [step(*batch).item() for batch in flat(3)]
    assert losses(5) == losses(5)
    assert losses(5) != losses(6)


def test_a_failed_call_leaves_nothing_behind():
    model, update, wanted, other = twins(mlp)
    step = compile_step(model, F.cross_entropy, update, strict=True)
    data = flat()
    with pytest.raises(Exception, match="shapes|same reduction dim"):
        step(torch.randn(8, 5), data[0][1])
    for batch in data:
        step(*batch)
    eager(wanted, other, data)
    assert_same(model, wanted)


def test_an_index_out_of_range_is_an_error():
    model = nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(8, 4))
    step = compile_step(model, F.cross_entropy, sgd(model), strict=True)
    x, y = torch.randint(0, 5, (8, 2)), torch.randint(0, 4, (8,))
    step(x, y)
    before = model[0].weight.clone()
    x[3, 1] = 7
    with pytest.raises(Exception, match="7.*5"):
        step(x, y)
    assert torch.equal(model[0].weight, before)


def test_an_error_in_a_loop_keeps_the_steps_before_it():
    def make():
        return nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(8, 4))
    model, update, wanted, other = twins(make)
    draw = torch.Generator().manual_seed(0)
    data = [(torch.randint(0, 5, (8, 2), generator=draw), torch.randint(0, 4, (8,), generator=draw)) for _ in range(5)]
    step = compile_step(model, F.cross_entropy, update, strict=True)
    broken = [*data[:3], (data[3][0] + 9, data[3][1]), data[4]]
    with pytest.raises(Exception, match="out of range"):
        list(step.run(broken, steps_per_execution=5))
    eager(wanted, other, data[:3])
    assert_same(model, wanted)
    step(*data[4])
    eager(wanted, other, data[4:])
    assert_same(model, wanted)


def test_wrong_calls_say_what_is_wrong():
    model = mlp()
    with pytest.raises(TypeError, match="model is a function but must be a torch.nn.Module"):
        compile_step(mlp, F.cross_entropy, sgd(model))
    with pytest.raises(ValueError, match="accumulate is 0 but must be at least 1"):
        compile_step(model, F.cross_entropy, sgd(model), accumulate=0)
    with pytest.raises(ValueError, match="check is 'sometimes' but must be 'first' or 'never'"):
        compile_step(model, F.cross_entropy, sgd(model), check="sometimes")
    step = compile_step(model, lambda out, y: out, sgd(model))
    with pytest.raises(TypeError, match="the loss is a tensor of shape .* but must be a tensor of one number"):
        step(*flat()[0])
