# SPDX-License-Identifier: Apache-2.0
"""Arguments, loops, threads and gradients of a compiled step."""
import threading
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: apt install python3-torch)")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812
from torch_twins import Scaled, assert_equal_to_eager, batches, eager_step, mlp, sgd, twins  # noqa: E402

from pando import Error  # noqa: E402
from pando.torch import compile_step  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


# ---- arguments
def test_equal_numbers_of_other_types_are_other_arguments():
    class Choosing(Scaled):
        def forward(self, x, kind):
            return super().forward(x) * (2.0 if kind is True else 5.0 if isinstance(kind, int) else 9.0)
    model, wanted = twins(Choosing())
    step, other = compile_step(model, F.cross_entropy, sgd(model)), sgd(wanted)
    for i, (x, y) in enumerate(batches(9)):
        kind = (True, 1, 1.0)[i % 3]
        eager = eager_step(lambda x, kind=kind: wanted(x, kind), other)
        assert step(x, y, kind=kind).item() == pytest.approx(eager(x, y), rel=1e-5)
    assert "program 3" in step.report()


def test_arguments_that_a_program_cannot_be_made_for_run_in_pytorch():
    class Ignoring(Scaled):
        def forward(self, x, names):
            return super().forward(x)
    model = Ignoring()
    step = compile_step(model, F.cross_entropy, sgd(model))
    step(*batches(1)[0], names={"a"})
    assert "an argument has a set; programs take tensors, numbers and strings" in step.report()


FACTOR = 1.0


def test_a_number_around_the_loss_or_the_model():
    class Doubling(Scaled):
        def forward(self, x):
            return super().forward(x) * FACTOR
    power = 1

    def change(model, _, i):
        nonlocal power
        global FACTOR
        power, FACTOR = 1 + i // 3, 1.0 + i // 6
    _, _, step = assert_equal_to_eager(Doubling, change, lambda out, y: F.cross_entropy(out, y) ** power, batches(9))
    assert "program 3" in step.report()


def test_options_that_change_at_every_call_are_told():
    model = mlp()
    optimizer = sgd(model)
    step = compile_step(model, F.cross_entropy, optimizer)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for i, batch in enumerate(batches(36)):
            optimizer.param_groups[0]["momentum"] = 0.5 + 0.01 * i
            step(*batch)
    assert sum("32 kinds of calls were seen once" in str(warning.message) for warning in told) == 1


# ---- loops and threads
@pytest.mark.parametrize("buffers", [1, 2, 3, 5])
def test_a_loader_may_fill_its_buffers_again(buffers):
    models = twins(mlp())
    step, eager = compile_step(models[0], F.cross_entropy, sgd(models[0])), eager_step(models[1], sgd(models[1]))

    def loader():
        memory = [tuple(map(torch.empty_like, batches(1)[0])) for _ in range(buffers)]
        for i, batch in enumerate(batches(20)):
            for kept, tensor in zip(memory[i % buffers], batch):
                kept.copy_(tensor)
            yield memory[i % buffers]
    found = [loss.item() for loss in step.run(loader(), steps_per_execution=6)]
    assert found == pytest.approx([eager(*batch) for batch in batches(20)], rel=1e-4)


def test_a_loader_that_fails_leaves_the_steps_before_it():
    models = twins(mlp())
    step, eager = compile_step(models[0], F.cross_entropy, sgd(models[0])), eager_step(models[1], sgd(models[1]))

    def loader():
        yield from batches(8)
        raise OSError("no more data")
    losses = []
    with pytest.raises(OSError, match="no more data"):
        losses.extend(step.run(loader(), steps_per_execution=4))
    for batch in batches(8)[:len(losses)]:
        eager(*batch)
    assert len(losses) >= 4 and torch.allclose(models[0][1].weight, models[1][1].weight, 1e-5, 1e-6)


def test_models_train_in_threads():
    pairs, losses = [twins(mlp()) for _ in range(3)], [None] * 3

    def train(i):
        model, wanted = pairs[i]
        step, eager = compile_step(model, F.cross_entropy, sgd(model), strict=True), eager_step(wanted, sgd(wanted))
        losses[i] = [(step(*batch).item(), eager(*batch)) for batch in batches(10)]
    threads = [threading.Thread(target=train, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for found in losses:
        assert [a for a, _ in found] == pytest.approx([b for _, b in found], rel=1e-5)


def test_a_program_is_run_by_one_thread_at_a_time():
    model = mlp()
    step = compile_step(model, F.cross_entropy, torch.optim.SGD(model.parameters(), lr=0.0), strict=True)
    wanted, found = step(*batches(1)[0]).item(), []

    def train():
        for _ in range(100):
            try:
                found.append(step(*batches(1)[0]).item())
            except Error as error:
                assert "another thread is running this program" in str(error)
    threads = [threading.Thread(target=train) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {wanted}


# ---- gradients
def test_gradients_from_elsewhere_are_not_accumulated():
    model, wanted = twins(mlp())
    step, other = compile_step(model, F.cross_entropy, sgd(model), accumulate=2, strict=True), sgd(wanted)
    for i, (x, y) in enumerate(batches(8)):
        if i % 4 == 0:
            F.cross_entropy(model(x), y).backward()
        step(x, y)
        (F.cross_entropy(wanted(x), y) / 2).backward()
        if i % 2:
            other.step()
            other.zero_grad()
    assert torch.allclose(model[1].weight, wanted[1].weight, 1e-5, 1e-6)


def test_each_call_of_an_update_drops_out_others():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, 4))
    step = compile_step(model, F.cross_entropy, sgd(model), accumulate=5, strict=True)
    losses = [step(*batches(1)[0]).item() for _ in range(4)]
    assert len(set(losses)) == 4


@pytest.mark.skipif(torch.__version__ < "2", reason="PyTorch before 2.0 cannot be told")
def test_a_backward_pass_does_not_use_what_a_step_has_changed():
    model = mlp()
    step = compile_step(model, F.cross_entropy, sgd(model), strict=True)
    (x, y), = batches(1)
    loss = F.cross_entropy(model(x), y)
    step(x, y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
