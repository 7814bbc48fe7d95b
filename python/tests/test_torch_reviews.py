# SPDX-License-Identifier: Apache-2.0
"""Idioms of PyTorch that an imitation got wrong: through programs they give what PyTorch gives, or are refused by name."""
import copy
import math
import pickle

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: apt install python3-torch)")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812
from torch_twins import assert_equal_to_eager, batches, eager_step, mlp, sgd, twins  # noqa: E402

from pando.torch import Unsupported, compile_forward, compile_step  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
INF, NAN = math.inf, math.nan


class Function(nn.Module):
    """A loss of one parameter, or a function of the arguments."""

    def __init__(self, function, values=None):
        super().__init__()
        self.function = function
        if values is not None:
            self.weight = nn.Parameter(torch.tensor(values))

    def forward(self, *inputs):
        return self.function(self.weight, *inputs) if hasattr(self, "weight") else self.function(*inputs)


def without_gradient(w):
    with torch.no_grad():
        target = w * 2
    return ((w - target) ** 2).sum()


def power_iteration(w):
    ones = torch.ones(2, 1)
    with torch.no_grad():
        u = w @ ones
    return (u.t() @ (w @ ones)).sum()


def switched_off(w):
    a = w * 2
    with torch.set_grad_enabled(False):
        b = a * 5
    return (a * b).sum()


def gradient_penalty(w):
    x = torch.ones(1, 2).requires_grad_()
    gradient, = torch.autograd.grad((x * w).sum(), x, create_graph=True)
    return ((gradient.norm(2, dim=1) - 1) ** 2).mean()


def gradient_of_two(w):
    x = w * 1.0
    gradient, = torch.autograd.grad([(x ** 2).sum(), (x ** 3).sum()], x, create_graph=True)
    return (gradient * w).sum()


def written_views(w):
    a = torch.zeros(2, 2)
    a[0].fill_(1)
    a.view(-1)[3] = 5
    for row in a:
        row += 1
    a[:, 1].add_(w)
    a.detach()[1, 0] = 8
    return (a * a).sum()


# Losses of a parameter with the gradients that PyTorch has.
LOSSES = {
    "no_grad": (without_gradient, [3.0]), "power iteration": (power_iteration, [[1.0, 2.0], [3.0, 4.0]]),
    "set_grad_enabled": (switched_off, [3.0]), "detach": (lambda w: (w * (w * 2).detach()).sum(), [3.0]),
    "gradient penalty": (gradient_penalty, [[3.0, 4.0]]), "grad of two": (gradient_of_two, [2.0]),
    "written views": (written_views, [7.0, 3.0]),
    "topk": (lambda w: w.topk(2).values.sum(), [3.0, 1.0, 2.0]),
    "sort": (lambda w: (w.sort().values * torch.arange(3.0)).sum(), [3.0, 1.0, 2.0]),
    "median": (lambda w: w.median(), [3.0, 1.0, 2.0]),
    "padding_idx": (lambda w: F.embedding(torch.tensor([0, 1]), w, padding_idx=0).sum(), [[1.0, 1.0]] * 3),
    "mask of attention": (lambda w: (w + torch.triu(torch.full((2, 2), -INF), 1)).softmax(-1)[:, 0].sum(), [[1.0, 2.0]] * 2),
    "binary_cross_entropy at 0 and 1": (lambda w: F.binary_cross_entropy(w, torch.tensor([0.0, 1.0])), [1.0, 0.0]),
    "norm at 0": (lambda w: w.norm(), [0.0, 0.0]), "normalize at 0": (lambda w: F.normalize(w).sum(), [[0.0, 0.0]]),
    "cosine_similarity at 0": (lambda w: F.cosine_similarity(w, torch.ones(1, 2)).sum(), [[0.0, 0.0]]),
    "triplet of equal points": (lambda w: F.triplet_margin_loss(w, w * 1.0, w + 1), [[0.0, 0.0]]),
    "all targets ignored": (lambda w: F.cross_entropy(w, torch.full((2,), -100)), [[1.0, 1.0, 1.0]] * 2),
    "all targets ignored, as images": (lambda w: F.cross_entropy(w, torch.tensor([[-100, -100]])), [[[1.0, 1.0]] * 3]),
    "relu6 at 0 and 6": (lambda w: F.relu6(w).sum(), [0.0, 6.0]),
    "hardtanh at 1": (lambda w: F.hardtanh(w).sum(), [-1.0, 1.0]),
    "leaky_relu at 0": (lambda w: F.leaky_relu(w).sum(), [0.0]),
    "softplus(threshold)": (lambda w: F.softplus(w, 2, 3).sum(), [3.0]),
    "log1p of little": (lambda w: torch.log1p(w).sum(), [1e-8]), "expm1 of little": (lambda w: torch.expm1(w).sum(), [1e-8]),
    "var(False)": (lambda w: w.var(False), [[1.0, 2.0], [3.0, 5.0]]),
    "std(False)": (lambda w: w.std(False), [[1.0, 2.0], [3.0, 5.0]]),
    "interpolate by 1.5": (lambda w: F.interpolate(w, scale_factor=1.5).pow(2).sum(), [[[[1.0, 2.0], [3.0, 5.0]]]]),
    "gather of fewer rows": (lambda w: w.gather(1, torch.tensor([[1, 0]])).sum(), [[1.0, 2.0], [3.0, 5.0]])}


@pytest.mark.parametrize("factors", [[3.0, 1.0, 2.0], [3.0, 0.0, 2.0], [3.0, INF, 2.0]])
def test_the_gradient_of_a_product_is_left_to_pytorch(factors):
    model = Function(lambda w: w.prod(0), factors)
    wanted = copy.deepcopy(model)
    with pytest.raises(Unsupported, match="the gradient of a product"):
        compile_step(model, None, torch.optim.SGD(model.parameters(), lr=0.1), strict=True)()
    compile_step(model, None, torch.optim.SGD(model.parameters(), lr=0.1))()
    wanted().backward()
    torch.optim.SGD(wanted.parameters(), lr=0.1).step()
    assert torch.allclose(model.weight, wanted.weight, 0, 0, equal_nan=True)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_gradients(name):
    model, wanted = twins(Function(*LOSSES[name]))
    optimizers = [torch.optim.SGD(m.parameters(), lr=1.0) for m in (model, wanted)]
    found = compile_step(model, None, optimizers[0], strict=True)()
    loss = wanted()
    loss.backward()
    optimizers[1].step()
    assert torch.allclose(found, loss, 1e-5, 1e-7, equal_nan=True), (found, loss)
    assert torch.allclose(model.weight, wanted.weight, 1e-5, 1e-6, equal_nan=True), (model.weight, wanted.weight)


def integers(*values):
    return torch.tensor(values)


# Functions of integers and of numbers at limits: values and types.
VALUES = {
    "//": (lambda x: x // 10, integers(123456789, -7)), "%": (lambda x: x % 10, integers(123456789, -7)),
    "fmod": (lambda x: torch.fmod(x, 10), integers(123456789, -7)), "&": (lambda x: x & 3, integers(6)),
    "|": (lambda x: x | integers(3), integers(6)),
    "~": (lambda x: ~x, integers(6)), "times 3e9": (lambda x: x * 3000000000, integers(1)),
    "min of uint8": (lambda x: (x.min(), x.argmin(), x.amin(0)), torch.tensor([3, 0, 7], dtype=torch.uint8)),
    "sort of uint8": (lambda x: (x.sort(descending=True)[0], x.topk(2)[0]), torch.tensor([3, 0, 7], dtype=torch.uint8)),
    "sum of uint8": (lambda x: x.sum(), torch.tensor([200, 200], dtype=torch.uint8)),
    "sum of int32": (lambda x: x.sum(), torch.tensor([2**31 - 1, 5], dtype=torch.int32)),
    "any": (lambda x: x.any(), torch.tensor([0.5, 0.0])), "any of large": (lambda x: x.any(), integers(2**32)),
    "tril of bool": (lambda x: torch.tril(x > 0), torch.ones(2, 2)), "clone of bool": (lambda x: ~(x > 0).clone(), torch.ones(1)),
    "where": (lambda x: torch.where(x > 1, x, integers(1)), integers(3000000000, 0)),
    "argmax": (lambda x: x.argmax(0) * 3000000000, torch.tensor([0.0, 1.0])),
    "triu of -inf": (lambda x: torch.triu(x, 1), torch.full((2, 2), -INF)), "tril of inf": (torch.tril, torch.full((2, 2), INF)),
    "logsumexp of -inf": (lambda x: x.logsumexp(0), torch.full((2,), -INF)), "1 // 0.1": (lambda x: x // 0.1, torch.ones(1)),
    "1 % 0.1": (lambda x: x % 0.1, torch.ones(1)), "norm(-inf)": (lambda x: torch.norm(x, -INF), torch.tensor([1.0, 2.0])),
    "median with nan": (lambda x: x.median(), torch.tensor([1.0, NAN, 0.0])),
    "sort of nan": (lambda x: (x.sort()[0], x.sort(descending=True)[0]), torch.tensor([1.0, NAN, 0.0])),
    "round": (torch.round, torch.tensor([0.5, 1.5, -0.5])), "split": (lambda x: x.split([1, 2]), torch.arange(3.0)),
    "softmax without an axis": (nn.Softmax(), torch.arange(8.0).reshape(1, 2, 2, 2))}


@pytest.mark.parametrize("name", VALUES)
def test_values_and_types(name):
    function, x = VALUES[name]
    found, wanted = compile_forward(Function(function), strict=True)(x), function(x)
    for a, b in zip(*[(part,) if isinstance(part, torch.Tensor) else tuple(part) for part in (found, wanted)]):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert torch.equal(a, b) if not a.is_floating_point() else torch.allclose(a, b, 1e-6, 1e-7, equal_nan=True), (a, b)


def test_float64_is_refused_by_name():
    with pytest.raises(Unsupported, match="programs compute in float32 and not in torch.float64"):
        compile_forward(Function(lambda x: F.softmax(x, -1, dtype=torch.float64)), strict=True)(torch.ones(2))


@pytest.mark.parametrize("function", [
    lambda x, i: x.gather(1, i), lambda x, i: F.embedding(i, x), lambda x, i: x[i], lambda x, i: x.index_select(0, i[:, 0])])
def test_indices_out_of_range_are_errors(function):
    forward = compile_forward(Function(function), strict=True)
    x = torch.arange(4.0).reshape(2, 2)
    assert torch.equal(forward(x, integers([1], [0])), function(x, integers([1], [0])))
    with pytest.raises(Exception, match="7"):
        forward(x, integers([7], [0]))


@pytest.mark.parametrize("make", [lambda: nn.RNNCell(2, 2, nonlinearity="relu"), lambda: nn.LSTMCell(2, 3),
                                  lambda: nn.GRUCell(2, 3)])
@pytest.mark.parametrize("shape", [(2,), (4, 2)])
def test_cells_of_recurrent_networks(make, shape):
    cell, x = make(), torch.full(shape, 50.0)
    found, wanted = compile_forward(cell, strict=True)(x), cell(x)
    for a, b in zip(*[(part,) if isinstance(part, torch.Tensor) else part for part in (found, wanted)]):
        assert a.shape == b.shape and torch.allclose(a, b, 1e-5, 1e-5)


# ---- modules and optimizers
def test_an_encoder_under_no_grad_stays():
    class Frozen(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.head = nn.Linear(16, 8), nn.Linear(8, 4)

        def forward(self, x):
            with torch.no_grad():
                x = self.encoder(x.flatten(1))
            return self.head(x)
    before = []

    def change(model, _, i):
        before.append(model.encoder.weight.clone())
    assert_equal_to_eager(Frozen, change)
    assert all(torch.equal(weight, before[0]) for weight in before)


def test_new_optimizers_begin_anew():
    model = mlp()
    first = copy.deepcopy(model.state_dict())
    losses = []
    for _ in range(4):
        model.load_state_dict(first)
        step = compile_step(model, F.cross_entropy, sgd(model), strict=True)
        losses.append([step(*batch).item() for batch in batches(3)])
    assert losses == [losses[0]] * 4


def test_adam_counts_the_updates_of_each_parameter():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.ModuleList([nn.Linear(16, 4), nn.Linear(16, 4)])

        def forward(self, x, head):
            return self.heads[head](x.flatten(1))
    models = twins(Heads())
    optimizers = [torch.optim.Adam(model.parameters(), lr=0.1) for model in models]
    step = compile_step(models[0], F.cross_entropy, optimizers[0], strict=True)
    for i, (x, y) in enumerate(batches(12)):
        eager = eager_step(lambda x, head=i // 3 % 2: models[1](x, head), optimizers[1])
        assert step(x, y, head=i // 3 % 2).item() == pytest.approx(eager(x, y), rel=1e-5)


@pytest.mark.parametrize("call", [lambda norm, x: (norm(x) - norm(x * 2)).pow(2).mean(),
                                  lambda norm, x: (norm(x), (x * norm.weight).mean())[1]])
def test_statistics_of_two_calls_and_of_one_that_is_not_used(call):
    models = twins(nn.BatchNorm1d(6))
    model = Function(lambda x: call(model.norm, x))
    model.norm = models[0]
    step = compile_step(model, None, sgd(model), strict=True)
    other, x = sgd(models[1]), torch.randn(8, 6)
    for _ in range(3):
        step(x)
        other.zero_grad()
        call(models[1], x).backward()
        other.step()
    for name, value in models[0].state_dict().items():
        assert torch.allclose(value, models[1].state_dict()[name], 1e-5, 1e-6), name


def test_buffers_keep_their_types():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(16, 4)
            self.register_buffer("count", torch.tensor(16777217))
            self.register_buffer("mask", torch.tensor([True, False, True, True]))

        def forward(self, x):
            self.count += 1
            return self.layer(x.flatten(1)).masked_fill(~self.mask, 0.0) * (self.count - 16777217)
    model, _, step = assert_equal_to_eager(Masked)
    assert model.count.item() == 16777223 and "program 1: 6 calls" in step.report()


def test_outputs_do_not_follow_memory_that_is_filled_again():
    model, buffer = nn.Linear(1, 1, bias=False), torch.zeros(1, 1)
    forward, found = compile_forward(model, strict=True), []
    for i in range(3):
        buffer.numpy()[:] = i
        found.append(forward(buffer))
    assert [x.item() for x in found] == pytest.approx([model.weight.item() * i for i in range(3)])


def test_a_compiled_model_is_copied_and_pickled():
    model = mlp()
    model[1].weight.requires_grad_(False)
    step = compile_step(model, F.cross_entropy, sgd(model), strict=True)
    step(*batches(1)[0])
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert not other[1].weight.requires_grad
        wanted = copy.deepcopy(other)
        again, eager = compile_step(other, F.cross_entropy, sgd(other), strict=True), eager_step(wanted, sgd(wanted))
        assert [again(*b).item() for b in batches(3)] == pytest.approx([eager(*b) for b in batches(3)], rel=1e-5)
    with pytest.raises(TypeError, match="a step is neither copied nor saved; copy the model and the optimizer"):
        copy.deepcopy(step)
