# SPDX-License-Identifier: Apache-2.0
"""torch: tensors, modules, and training outside of PopTorch, which is recorded and compiled."""
import copy
import io

import numpy as np
import pytest

import pando.torch as torch
import pando.torch.nn.functional as F
from pando.torch import lazy, nn, optim
from pando.torch.utils.data import (DataLoader, Dataset, IterableDataset, Subset, TensorDataset, random_split)


def test_tensors_print_as_in_pytorch():
    assert repr(torch.tensor([1, 2, 3])) == "tensor([1, 2, 3])"
    assert repr(torch.tensor([[1.0, 2.5], [3.0, -4.0]])) == "tensor([[ 1.0000,  2.5000],\n        [ 3.0000, -4.0000]])"
    assert repr(torch.zeros(2)) == "tensor([0., 0.])"
    assert repr(torch.tensor(True)) == "tensor(True)"
    assert repr(torch.zeros(2, dtype=torch.float64)) == "tensor([0., 0.], dtype=torch.float64)"
    assert str(torch.zeros(2, 3).shape) == "torch.Size([2, 3])"


def test_functions_of_document_004():
    predictions = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
    labels = torch.tensor([5, 1, 1, 1])
    _, ind = torch.max(predictions, 1)
    labels = labels[-predictions.size()[0]:]
    assert torch.sum(torch.eq(ind, labels)).item() / labels.size()[0] == 2 / 3
    assert ind.dtype == torch.int64 and "{:05.2F}".format(12.5) == "12.50"


def test_methods():
    x = torch.arange(6).float().view(2, 3)
    assert x.t().shape == (3, 2) and x.unsqueeze(0).squeeze().shape == (2, 3)
    assert x.std().item() == pytest.approx(np.arange(6).std(ddof=1), rel=1e-5)
    assert torch.cat([x, x], 1).shape == (2, 6) and [p.shape[0] for p in torch.split(torch.zeros(5), 2)] == [2, 2, 1]
    assert x.topk(2, 1).indices.tolist() == [[2, 1], [2, 1]]
    x[0, 0] = 9
    assert x[0, 0].item() == 9 and x.clamp(2, 4).max().item() == 4
    assert x.mul_(2)[0, 0].item() == 18 and (x.argmax().item(), x.argmax(dim=1).tolist()) == (0, [0, 2])
    with pytest.raises(RuntimeError, match="floating point"):
        torch.tensor([1, 2]).mean()
    with pytest.raises(AttributeError, match="the nearest is zeros"):
        torch.zeross  # noqa: B018


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, kernel_size=3)
        self.pool = nn.MaxPool2d(kernel_size=2)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.pool(self.conv(x)))


def test_a_tree_prints_as_in_pytorch():
    assert repr(nn.Sequential(Block(), nn.Flatten(), nn.Dropout(0.5))) == """Sequential(
  (0): Block(
    (conv): Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1))
    (pool): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
    (relu): ReLU()
  )
  (1): Flatten(start_dim=1, end_dim=-1)
  (2): Dropout(p=0.5, inplace=False)
)"""


def test_modules_register_replace_and_remove():
    block = Block()
    assert [name for name, _ in block.named_parameters()] == ["conv.weight", "conv.bias"]
    block.conv = nn.Conv2d(1, 2, 5, bias=False)
    assert [tuple(p.shape) for p in block.parameters()] == [(2, 1, 5, 5)] and list(block._modules)[0] == "conv"
    del block.relu
    with pytest.raises(AttributeError, match="Block has no 'relu'"):
        block.relu  # noqa: B018
    with pytest.raises(TypeError, match="cannot assign 'int' as child module 'pool'"):
        block.pool = 3
    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        type("Early", (nn.Module,), {"__init__": lambda self: setattr(self, "a", nn.ReLU())})()
    twin = copy.deepcopy(block)
    twin.conv.weight.data.zero_()
    assert block.conv.weight.abs().sum().item() > 0


def test_a_list_takes_the_elements_of_a_tensor():
    found = []
    found += torch.tensor([1, 2])
    assert [int(x) for x in found] == [1, 2]


def test_states_go_to_another_model_and_to_a_file():
    first, second = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(torch.load(file))
    x = torch.randn(5, 3)
    first.eval(), second.eval()
    assert torch.equal(first(x).detach(), second(x).detach())
    with pytest.raises(RuntimeError, match='Missing key'):
        second.load_state_dict({"0.weight": torch.zeros(2, 3)})
    with pytest.raises(RuntimeError, match="size mismatch for 0.weight"):
        second.load_state_dict({"0.weight": torch.zeros(3, 3)}, strict=False)


def test_gradients():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x * 2 + x.detach() * x).sum().backward()
    assert x.grad.tolist() == [5.0, 10.0, 15.0]
    x.sum().backward()
    assert x.grad.tolist() == [6.0, 11.0, 16.0]
    with torch.no_grad():
        assert not (x * 2).requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1).backward()
    with pytest.raises(RuntimeError, match="scalar outputs"):
        (x * 2).backward()


def train(model, steps, look=lambda loss: None):
    torch.manual_seed(3)
    x, y = torch.randn(16, 4), torch.arange(16) % 3
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        look(loss)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_step_is_compiled_once_and_found_again():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
    train(model, 2)
    before = len(lazy._programs)
    assert train(model, 20)[-1] < 0.9
    # Another optimizer, and a first step while no tensor of a step before it is alive.
    assert len(lazy._programs) - before <= 2


def test_looking_at_values_does_not_change_training():
    results = []
    for look in (lambda loss: None, lambda loss: loss.item()):
        torch.manual_seed(0)
        torch.nn.functional._dropouts = iter(range(1, 100))
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
        results.append((train(model, 5, look), model[1].running_mean.tolist()))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-5)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-5)


def test_training_follows_numpy():
    model = nn.Linear(2, 1)
    weight, bias = model.weight.detach().numpy().copy(), model.bias.detach().numpy().copy()
    x, y = np.array([[1, 2], [3, 4]], np.float32), np.array([[1], [0]], np.float32)
    optimizer = optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(torch.from_numpy(x)), torch.from_numpy(y)).backward()
        optimizer.step()
        error = (x @ weight.T + bias - y) * 2 / len(x)
        weight, bias = weight - 0.05 * error.T @ x, bias - 0.05 * error.sum(0)
    np.testing.assert_allclose(model.weight.detach().numpy(), weight, rtol=1e-4)
    np.testing.assert_allclose(model.bias.detach().numpy(), bias, rtol=1e-4)


def test_gradients_can_be_clipped_accumulated_and_looked_at_before_a_step():
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.0)
    model(torch.ones(1, 2)).sum().backward()
    model(torch.ones(1, 2)).sum().backward()
    assert model.weight.grad.tolist() == [[2.0, 2.0]]
    total = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    assert total.item() == pytest.approx(np.sqrt(12))
    optimizer.step()
    optimizer.zero_grad()
    assert model.weight.grad is None
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert model.weight.grad.tolist() == [[1.0, 1.0]]


def test_two_optimizers_take_turns():
    first, second = nn.Linear(2, 2), nn.Linear(2, 1)
    one, two = optim.Adam(first.parameters()), optim.Adam(second.parameters())
    before = [p.detach().numpy().copy() for p in (*first.parameters(), *second.parameters())]
    made = first(torch.ones(3, 2))
    two.zero_grad()
    second(made.detach()).mean().backward()
    two.step()
    one.zero_grad()
    second(made).mean().backward()
    one.step()
    after = [p.detach().numpy() for p in (*first.parameters(), *second.parameters())]
    assert all((a != b).any() for a, b in zip(before, after))


def test_a_weight_can_be_shared_and_a_layer_called_twice():
    embedding, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    head.weight = embedding.weight
    assert len(list(nn.ModuleList([embedding, head]).parameters())) == 1
    head(embedding(torch.tensor([1, 2]))).sum().backward()
    assert embedding.weight.grad.shape == (5, 3)
    linear = nn.Linear(2, 2)
    linear(linear(torch.ones(1, 2))).sum().backward()
    assert linear.weight.grad.shape == (2, 2)


def test_schedulers():
    optimizer = optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    rates = []
    for _ in range(4):
        rates.append(scheduler.get_last_lr()[0])
        scheduler.step()
    assert rates == [1.0, 1.0, 0.5, 0.5]


class Squares(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.tensor([float(index)]), index * index


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(5))


def test_loaders():
    x = torch.arange(10).float().view(10, 1)
    for dataset in (TensorDataset(x, torch.arange(10) ** 2), Squares()):
        batches = list(DataLoader(dataset, batch_size=4))
        assert [len(b[0]) for b in batches] == [4, 4, 2] and batches[1][1].tolist() == [16, 25, 36, 49]
        loader = DataLoader(dataset, batch_size=4, shuffle=True, drop_last=True)
        assert len(loader) == 2 and sorted(int(v) for b in loader for v in b[0])[0] >= 0
        first, second = random_split(dataset, [7, 3])
        assert sorted(int(v) for part in (first, second) for b in DataLoader(part, 2) for v in b[0]) == list(range(10))
    assert [b.tolist() for b in DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert len(Subset(Squares(), [1, 2])) == 2
    with pytest.raises(ValueError, match="batch_size"):
        DataLoader(Squares(), batch_size=0)


def test_an_error_names_the_layer_and_the_shapes():
    with pytest.raises(RuntimeError, match=r"Linear.*cannot take \[2, 4\]"):
        nn.Linear(3, 1)(torch.ones(2, 4))
    with pytest.raises(TypeError, match="parameters of modules"):
        optim.SGD([torch.ones(2)], lr=0.1)
    with pytest.raises(ValueError, match="empty parameter list"):
        optim.SGD([], lr=0.1)


def reference(name, parameter, gradients):
    """What PyTorch's documentation says of an optimizer."""
    first, second = np.zeros(2), np.zeros(2)
    for step, g in enumerate(gradients):
        if name == "Adadelta":
            first = 0.9 * first + 0.1 * g * g
            change = np.sqrt(second + 1e-6) / np.sqrt(first + 1e-6) * g
            second = 0.9 * second + 0.1 * change * change
            parameter = parameter - 0.5 * change
        else:
            first = first + g * g
            parameter = parameter - 0.5 / (1 + 0.1 * step) * g / (np.sqrt(first) + 1e-10)
    return parameter


@pytest.mark.parametrize("name", ["Adadelta", "Adagrad"])
def test_optimizers(name):
    weight = nn.Parameter(torch.tensor([1.0, -2.0]))
    options = {"lr_decay": 0.1} if name == "Adagrad" else {}
    optimizer = getattr(optim, name)([weight], lr=0.5, **options)
    gradients = [np.array([0.5, 2.0]), np.array([-1.0, 0.25]), np.array([0.5, 0.5])]
    for g in gradients:
        optimizer.zero_grad()
        (weight * torch.from_numpy(g.astype(np.float32))).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(weight.detach().numpy(), reference(name, np.array([1.0, -2.0]), gradients), rtol=1e-4)


def test_recurrent_layers_unroll():
    lstm = nn.LSTM(3, 4, num_layers=2, batch_first=True)
    x = torch.randn(2, 5, 3)
    output, (h, c) = lstm(x)
    assert output.shape == (2, 5, 4) and h.shape == c.shape == (2, 2, 4)
    np.testing.assert_allclose(output[:, -1].detach().numpy(), h[1].detach().numpy(), rtol=1e-5)
    cell = nn.LSTMCell(3, 4)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, name).data.copy_(getattr(lstm, name + "_l0").detach())
    state = None
    for i in range(5):
        state = cell(x[:, i], state)
    np.testing.assert_allclose(state[0].detach().numpy(), h[0].detach().numpy(), rtol=1e-5)
    output.sum().backward()
    assert lstm.weight_hh_l0.grad.shape == (16, 4)
    assert nn.GRU(3, 4)(torch.randn(5, 2, 3))[1].shape == (1, 2, 4)


def test_group_norm_follows_its_definition():
    x = torch.randn(2, 4, 3, 3)
    groups = x.numpy().reshape(2, 2, -1)
    expected = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.GroupNorm(2, 4)(x).detach().numpy(), expected.reshape(2, 4, 3, 3), rtol=1e-3, atol=1e-5)


def test_dropped_models_leave_nothing_alive():
    import gc
    import weakref
    model = nn.Linear(4, 3)
    train(model, 3)
    dropped = weakref.ref(model)
    del model
    gc.collect()
    assert dropped() is None
    assert not [t for t in (*lazy.alive, *lazy.gradients_alive) if isinstance(t._value, lazy.Node) and t._value.value is None]


def test_a_number_that_changes_does_not_compile_again():
    weight = nn.Parameter(torch.ones(2))
    for i in range(12):
        (weight * (0.1 * i)).sum().item()
    before = len(lazy._programs)
    for i in range(12, 30):
        assert (weight * (0.1 * i)).sum().item() == pytest.approx(0.2 * i, rel=1e-5)
    assert len(lazy._programs) <= before + 1


def test_threads_record_side_by_side():
    from concurrent.futures import ThreadPoolExecutor
    models = [nn.Linear(4, 3) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for losses in pool.map(lambda model: train(model, 10), models):
            assert losses[-1] < losses[0]


def test_grids_of_images():
    from pando import torchvision
    assert torchvision.utils.make_grid(torch.zeros(3, 1, 4, 4), nrow=2).shape == (3, 14, 14)
    assert torchvision.utils.make_grid(torch.zeros(1, 4, 4)).shape == (3, 8, 8)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_gradients_of_recurrent_layers_are_slopes(kind):
    torch.manual_seed(4)
    layer, x = getattr(nn, kind)(2, 3), torch.randn(4, 1, 2)
    weight = layer.weight_hh_l0

    def loss():
        return (layer(x)[0] ** 2).sum()
    loss().backward()
    found, before = weight.grad.numpy()[1, 2], weight.detach().numpy().copy()
    values = []
    for change in (1e-2, -1e-2):
        moved = before.copy()
        moved[1, 2] += change
        weight.data.copy_(torch.from_numpy(moved))
        values.append(loss().item())
    assert found == pytest.approx((values[0] - values[1]) / 2e-2, rel=2e-2, abs=1e-4)
