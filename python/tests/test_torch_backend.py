# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="pando") beside the same model in PyTorch."""
import copy
import gc
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: apt install python3-torch)")
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 4):
    pytest.skip(f"the backend needs PyTorch 2.4, and this is {torch.__version__}", allow_module_level=True)
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812
from torch.utils.checkpoint import checkpoint  # noqa: E402

from pando.torch import Unsupported, backend, crossing  # noqa: E402


@pytest.fixture(autouse=True)
def _fresh():
    """Each test compiles its own graphs, and expects that something is compiled."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="torch.compile")
        yield


class Inverse(nn.Module):
    """An op that programs have not, between ops that they have."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        x = torch.tanh(self.a(x))
        x = x @ torch.linalg.inv(3 * torch.eye(8) + x.T @ x / 8)
        return self.b(F.gelu(x))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 4))


def convnet():
    # A bias before the norm would have gradients of rounding errors alone.
    return nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                         nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(4, 4))


def transformer():
    return nn.Sequential(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), nn.Flatten(), nn.Linear(96, 4))


MODELS = {"mlp": (mlp, (4, 4)), "convnet": (convnet, (1, 10, 10)), "transformer": (transformer, (6, 16)),
          "inverse": (Inverse, (8,))}


def compiled(model, **options):
    return torch.compile(model, backend="pando", **options)


def trained(model, call, optimizer, batches):
    """The losses of a step with each batch."""
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(call(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def batches(shape, count=3, size=8):
    return [(torch.randn(size, *shape), torch.randint(0, 4, (size,))) for _ in range(count)]


def programs():
    """How many programs each graph has."""
    return [sum(not part.reason for part in record.parts) for record in backend.records()]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("optimizer", [lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
                                       lambda p: torch.optim.Adagrad(p, lr=0.1, initial_accumulator_value=1)], ids=["SGD", "Adagrad"])
def test_training_is_that_of_pytorch(name, optimizer):
    make, shape = MODELS[name]
    model, data = make(), batches(shape)
    beside = copy.deepcopy(model)
    wanted = trained(beside, beside, optimizer(beside.parameters()), data)
    found = trained(model, compiled(model), optimizer(model.parameters()), data)
    assert found == pytest.approx(wanted, abs=1e-5)
    for (key, a), b in zip(model.state_dict().items(), beside.state_dict().values()):
        assert a.dtype == b.dtype, key
        assert torch.allclose(a, b, atol=1e-5), key
    assert programs() == ([2, 1] if name == "inverse" else [1, 1])


@pytest.fixture
def _no_fast_path():
    """Without gradients PyTorch has one op for a whole layer of a transformer."""
    torch.backends.mha.set_fastpath_enabled(False)
    yield
    torch.backends.mha.set_fastpath_enabled(True)


@pytest.mark.usefixtures("_no_fast_path")
@pytest.mark.parametrize("name", MODELS)
def test_evaluation_is_that_of_pytorch(name):
    make, shape = MODELS[name]
    model, x = make().eval(), torch.randn(8, *shape)
    with torch.no_grad():
        assert torch.allclose(compiled(model)(x), model(x), atol=1e-5)
    assert [record.kind for record in backend.records()] == ["forward pass without gradients"]
    x.requires_grad_()
    wanted, = torch.autograd.grad(model(x).square().sum(), x)
    found, = torch.autograd.grad(compiled(model)(x).square().sum(), x)
    assert torch.allclose(found, wanted, atol=1e-5)


def test_gradient_is_that_of_the_mask():
    x = torch.ones(200, 100, requires_grad=True)
    y = compiled(lambda x: F.dropout(x, 0.3, True) * 2)(x)
    y.sum().backward()
    assert torch.equal(y, x.grad)
    assert x.grad.unique().tolist() == pytest.approx([0, 2 / 0.7])
    assert (x.grad == 0).float().mean().item() == pytest.approx(0.3, abs=0.02)
    assert programs() == [1, 1]


def test_masks_follow_the_seed_of_pytorch():
    call = compiled(lambda x: (F.dropout(x, 0.5, True) + 1, F.dropout(x, 0.5, True) + 1))
    masks = []
    for seed in (1, 2, 1):
        torch.manual_seed(seed)
        masks += [call(torch.ones(64, 64))]
    first, second, again = masks
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[0], second[0])
    assert not torch.equal(first[0], first[1])


def test_pytorch_makes_the_mask_of_a_program():
    """A part may stay in PyTorch in one pass, and be a program in the other."""
    x, key = torch.randn(30, 5), crossing.random_key(device=torch.device("cpu"))
    call = compiled(lambda x, key: torch.ops.pando.dropout_by_key(x, key, 0.4, 3) * 1.0)
    assert torch.allclose(call(x, key), crossing.dropout_by_key(x, key, 0.4, 3))
    assert programs() == [1]


@pytest.mark.parametrize("backward", [torch.ops.pando.max_pool2d_backward, torch.ops.pando.adaptive_max_pool2d_backward])
def test_gradient_of_pooling_needs_its_input_alone(backward):
    x, g = torch.randn(2, 3, 6, 6, requires_grad=True), torch.randn(2, 3, 3, 3)
    wanted, = torch.autograd.grad(F.max_pool2d(x, 2), x, g)
    geometry = [[3, 3]] if "adaptive" in str(backward) else [[2, 2], [2, 2], [0, 0], [1, 1], False]
    assert torch.equal(backward(g, x.detach(), *geometry), wanted)


def test_checkpoint_makes_the_same_mask_again():
    layer = nn.Linear(8, 8)

    def model(x):
        return checkpoint(lambda x: F.dropout(torch.tanh(layer(x)), 0.5, True), x, use_reentrant=False)
    x = torch.randn(64, 8, requires_grad=True)
    y = compiled(model)(x)
    y.sum().backward()
    wanted, = torch.autograd.grad((torch.tanh(layer(x)) * (y != 0) * 2).sum(), x)
    assert torch.allclose(x.grad, wanted, atol=1e-5)


def test_a_mask_that_is_seen_is_that_of_pytorch():
    x = torch.ones(40, 10)
    y, mask = compiled(lambda x: torch.native_dropout(x * 2 + 1, 0.5, True))(x)
    assert torch.equal(y != 0, mask)
    assert "random numbers are those of PyTorch's generator" in backend.report()


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def test_sizes_that_depend_on_values_stay_in_pytorch():
    def model(x):
        return torch.exp(x * 2 + 1) - 1, torch.exp(x[torch.nonzero(x > 0)[:, 0]]) * 2
    for x in (torch.tensor([1.0, -1.0, 2.0]), torch.tensor([-1.0, -1.0, 2.0])):
        for found, wanted in zip(compiled(model)(x), model(x)):
            assert torch.allclose(found, wanted)
    assert programs() == [1]
    assert "aten.index.Tensor: a size depends on the values of tensors" in backend.report()


def test_compiling_draws_no_number():
    def model(x):
        return torch.rand(3) + torch.exp(torch.tanh(x) * 2) + torch.rand(3)
    results = []
    for call in (model, compiled(model)):
        torch.manual_seed(5)
        results += [call(torch.ones(3)), torch.rand(2)]
    assert torch.allclose(results[0], results[2])
    assert torch.equal(results[1], results[3])


def test_a_graph_goes_with_its_model():
    call = compiled(mlp())
    call(torch.randn(3, 4, 4))
    assert len(backend.records()) >= 1
    torch._dynamo.reset_code_caches()
    del call
    gc.collect()
    assert not backend.records()


def test_numbers_are_those_of_pytorchs_generator():
    def model(x):
        return torch.exp(x + torch.rand(5) * torch.randn(5)) * torch.bernoulli(torch.full((5,), 0.5))
    torch.manual_seed(3)
    wanted = model(torch.zeros(5))
    torch.manual_seed(3)
    assert torch.allclose(compiled(model)(torch.zeros(5)), wanted)


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_sizes_are_compiled_apart(dynamic):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    call = compiled(model, dynamic=dynamic)
    for size in (3, 5, 3, 1, 7):
        x = torch.randn(size, 4)
        assert torch.allclose(call(x), model(x), atol=1e-5)
    forward = [record for record in backend.records() if record.kind == "forward pass"]
    assert [part.calls for record in forward for part in record.parts] == [2, 1, 1, 1]


def test_layouts_are_those_of_pytorch():
    def model(x, n):
        y = x * 2 + n
        strided = torch.as_strided(y.transpose(0, 2), (3, 2), (1, 4))
        return y, y.transpose(1, 2), y.permute(2, 0, 1) * n, y.reshape(-1, 2), strided
    x = torch.randn(2, 3, 4)
    for found, wanted in zip(compiled(model)(x, 2), model(x, 2)):
        assert found.stride() == wanted.stride()
        assert torch.allclose(found, wanted)


def test_a_graph_is_broken_where_python_looks():
    def model(x):
        y = torch.tanh(x) * 2
        return y.sum().exp() if y.sum() > 0 else torch.relu(y).mean()
    call = compiled(model)
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.allclose(call(x), model(x))
    assert programs() == [1, 1, 1]


def test_backward_twice():
    model = mlp()
    loss = compiled(model)(torch.randn(3, 4, 4)).sum()
    loss.backward(retain_graph=True)
    once = model[1].weight.grad.clone()
    loss.backward()
    assert torch.allclose(model[1].weight.grad, 2 * once)


def test_float64_stays_in_pytorch():
    model = mlp().double()
    x = torch.randn(3, 4, 4, dtype=torch.float64)
    call = compiled(model)
    with pytest.warns(UserWarning, match=r"runs all of the forward pass.* not in torch.float64; use model.float\(\)"):
        found = call(x)
    assert torch.equal(found, model(x))
    assert torch.equal(call(x + 1), model(x + 1))    # told once
    assert not any(programs())


def test_ops_of_other_libraries_are_not_mistaken():
    with torch.library._scoped_library("pando_test", "FRAGMENT") as library:
        library.define("relu(Tensor x) -> Tensor")
        library.impl("relu", lambda x: x + 100, "CompositeExplicitAutograd")
        x = torch.randn(4)
        found = compiled(lambda x: torch.exp(torch.ops.pando_test.relu(x * 2 + 1)) * 2 - 1)(x / 100 - 99)
        assert torch.allclose(found, torch.exp((x / 100 - 99) * 2 + 101) * 2 - 1)
    assert "pando_test.relu.default(float32[4]): Pando has no such op" in backend.report()


def test_the_report_names_lines():
    assert backend.report().startswith("no graph yet")
    call = compiled(Inverse())
    call(torch.randn(8, 8)).sum().backward()
    text = backend.report()
    assert text.startswith("forward pass of ")
    assert f"{__file__}, line " in text
    assert "in PyTorch: aten.linalg_inv_ex.default(float32[8, 8]): Pando has no such op" in text
    assert "\nbackward pass of " in text
    assert "  program 1: 1 calls with " in text


def test_a_part_that_pando_refuses_stays_in_pytorch(monkeypatch):
    def refuse(*_):
        raise Unsupported("not today")
    monkeypatch.setattr("pando.torch.parts.Program", refuse)
    model, x = mlp(), torch.randn(3, 4, 4)
    with pytest.warns(UserWarning, match="nothing is compiled: not today"):
        assert torch.allclose(compiled(model)(x), model(x), atol=1e-5)
    assert "in PyTorch: 1 calls: not today" in backend.report()


def test_weights_are_not_copied():
    """A program is fed the parameters where they are."""
    model, x = mlp(), torch.randn(3, 4, 4)
    call = compiled(model)
    call(x)
    part, = backend.records()[0].parts
    fed = []
    run = part._program._core.run
    part._program._core = type("Watched", (), {"run": lambda _, inputs, *rest: (fed.extend(inputs), run(inputs, *rest))})()
    call(x)
    assert {p.data_ptr() for p in model.parameters()} < set(fed)


def test_options():
    model, x = mlp(), torch.randn(3, 4, 4)
    assert torch.allclose(compiled(model, options={"precision": "mixed_bfloat16"})(x), model(x), atol=0.1)
    assert backend.records()[0].parts[0]._precision == "mixed_bfloat16"
    for options, text in (({"precision": "half"}, "must be one of float32"), ({"speed": 1}, "'speed'")):
        torch._dynamo.reset()
        with pytest.raises(Exception, match=text):
            compiled(model, options=options)(x)
