# SPDX-License-Identifier: Apache-2.0
"""torch: gradients after a step, indices of traced and recorded tensors, and quotients, as in PyTorch."""
import numpy as np
import pytest

import pando.torch as torch
from pando import poptorch


def _step(model, optimizer):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 3)).pow(2).sum()
    loss.backward()
    optimizer.step()


def test_gradients_can_be_looked_at_after_each_step():
    model = torch.nn.Linear(3, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        before = model.weight.detach().numpy().copy()
        _step(model, optimizer)
        np.testing.assert_allclose(model.weight.grad.numpy(), np.full((1, 3), 4 * before.sum()), rtol=1e-5)
        np.testing.assert_allclose(model.weight.detach().numpy(), before - 0.01 * model.weight.grad.numpy(), rtol=1e-5)


def test_gradients_of_a_large_model_that_are_not_looked_at_are_not_kept():
    model = torch.nn.Linear(3, 30000, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    _step(model, optimizer)
    _step(model, optimizer)
    with pytest.raises(RuntimeError, match="has used this gradient, and it was not kept"):
        _ = model.weight.grad
    _step(model, optimizer)
    assert model.weight.grad is not None


INDICES = {
    "step": lambda x: x[:, ::2], "steps": lambda x: x[:, 1::2, ::3], "backwards": lambda x: x[:, ::-1],
    "rows": lambda x: x[::2], "backwards by two": lambda x: x[..., 4:0:-2],
    "mask of rows": lambda x: x[np.array([True, False, True, False])], "list of columns": lambda x: x[:, [0, 2, 4, 4]],
    "list at the end": lambda x: x[..., [1, -1]], "mask of elements": lambda x: x[np.arange(120).reshape(4, 5, 6) % 7 == 0]}


@pytest.mark.parametrize("name", INDICES)
def test_indices_choose_the_same_while_traced_and_while_recorded(name):
    class Chosen(torch.nn.Module):
        def forward(self, x):
            return INDICES[name](x)
    array = np.arange(120, dtype=np.float32).reshape(4, 5, 6)
    wanted = INDICES[name](array)
    np.testing.assert_array_equal(poptorch.inferenceModel(Chosen())(torch.from_numpy(array)).numpy(), wanted)
    recorded = INDICES[name](torch.nn.Parameter(torch.from_numpy(array)))
    np.testing.assert_array_equal(recorded.detach().numpy(), wanted)


def test_two_tensors_of_integers_choose_elements_while_traced():
    class Chosen(torch.nn.Module):
        def forward(self, x, labels):
            return x[torch.arange(4), labels]
    array, labels = np.arange(20, dtype=np.float32).reshape(4, 5), np.array([3, 0, 4, 1])
    chosen = poptorch.inferenceModel(Chosen())(torch.from_numpy(array), torch.from_numpy(labels))
    np.testing.assert_array_equal(chosen.numpy(), array[np.arange(4), labels])


def test_parts_are_set_while_traced():
    class Changed(torch.nn.Module):
        def forward(self, x):
            y = x * 1
            y[:, 1] = 7.0
            y[y > 15] = -1.0
            y[0, ::2] = x[1, ::2]
            return y
    array = np.arange(20, dtype=np.float32).reshape(4, 5)
    wanted = array.copy()
    wanted[:, 1] = 7.0
    wanted[wanted > 15] = -1.0
    wanted[0, ::2] = array[1, ::2]
    np.testing.assert_array_equal(poptorch.inferenceModel(Changed())(torch.from_numpy(array)).numpy(), wanted)


def test_a_mask_that_is_not_known_says_what_to_do():
    class Masked(torch.nn.Module):
        def forward(self, x):
            return x[x > 1]
    with pytest.raises(TypeError, match=r"use where\(mask, x, 0\)"):
        poptorch.inferenceModel(Masked())(torch.ones(2, 3))


def test_remainders_and_quotients_are_those_of_pytorch():
    x = torch.tensor([-5.0, 5.0, -7.5])
    assert torch.fmod(x, 3).tolist() == [-2.0, 2.0, -1.5]
    assert torch.remainder(x, 3).tolist() == [1.0, 2.0, 1.5]
    assert torch.div(x, 2, rounding_mode="trunc").tolist() == [-2.0, 2.0, -3.0]
    assert torch.div(x, 2, rounding_mode="floor").tolist() == [-3.0, 2.0, -4.0]
    with pytest.raises(RuntimeError, match="rounding_mode"):
        torch.div(x, 2, rounding_mode="up")


def test_a_leaf_is_changed_in_place_without_losing_its_gradient():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(2):
        (w**2).sum().backward()
        with torch.no_grad():
            w -= 0.25 * w.grad
            w.grad.zero_()
    assert w.requires_grad and w.is_leaf
    assert w.tolist() == [0.25, 0.5]
    w.data = torch.tensor([3.0, 4.0])
    (w**2).sum().backward()
    assert w.grad.tolist() == [6.0, 8.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        w += 1


def test_functions_that_programs_use_on_known_tensors():
    x = torch.arange(12).reshape(3, 4).float()
    assert torch.flip(x, [0])[0].tolist() == [8.0, 9.0, 10.0, 11.0]
    assert x.median().item() == 5.0 and x.prod(1).tolist() == [0.0, 840.0, 7920.0]
    values, indices = x.median(dim=1)
    assert values.tolist() == [1.0, 5.0, 9.0] and indices.tolist() == [1, 1, 1]
    assert x.new_zeros(2).dtype == torch.float32 and x.long().new_ones(1, 2).dtype == torch.int64
    values, inverse, counts = torch.unique(torch.tensor([3, 1, 3]), return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 3], [1, 0, 1], [1, 2])


@pytest.mark.parametrize("loss", [torch.nn.CrossEntropyLoss(), torch.nn.NLLLoss(), torch.nn.functional.cross_entropy])
def test_a_class_that_is_not_there_is_refused(loss):
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        loss(torch.zeros(2, 3), torch.tensor([0, 5]))
    assert loss(torch.zeros(2, 3), torch.tensor([0, -100])).item() == loss(torch.zeros(1, 3), torch.tensor([0])).item()


def test_distances_are_those_of_pytorch():
    functional = torch.nn.functional
    a, b, c = torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 4.0]]), torch.tensor([[0.0, 3.0]])
    assert functional.cosine_similarity(a, b).item() == pytest.approx(0.8)
    assert functional.pairwise_distance(a, b, eps=0.0).item() == pytest.approx(3.0)
    near, far, other = 3.0, np.sqrt(10.0), 1.0
    plain = functional.triplet_margin_loss(a, b, c, margin=1.0, eps=0.0).item()
    assert plain == pytest.approx(near - far + 1, abs=1e-5)
    swapped = functional.triplet_margin_loss(a, b, c, margin=1.0, eps=0.0, swap=True).item()
    assert swapped == pytest.approx(near - other + 1, abs=1e-5)


@pytest.mark.parametrize("look", [False, True])
def test_a_normalisation_that_is_called_twice_moves_its_statistics_in_the_order_of_the_calls(look):
    draw = np.random.default_rng(5)
    batches = [draw.normal(place, 2, (8, 3)).astype(np.float32) for place in (2, -1)]
    norm = torch.nn.BatchNorm1d(3)
    optimizer = torch.optim.SGD(norm.parameters(), lr=0.0)
    first = norm(torch.from_numpy(batches[0]))
    if look:
        first.sum().item()
    second = norm(torch.from_numpy(batches[1]))
    (first - second).pow(2).mean().backward()
    mean, variance = np.zeros(3), np.ones(3)
    for batch in batches:
        mean = 0.9 * mean + 0.1 * batch.astype(np.float64).mean(0)
        variance = 0.9 * variance + 0.1 * batch.astype(np.float64).var(0, ddof=1)
    optimizer.step()
    np.testing.assert_allclose(norm.running_mean.numpy(), mean, rtol=1e-5)
    np.testing.assert_allclose(norm.running_var.numpy(), variance, rtol=1e-5)
