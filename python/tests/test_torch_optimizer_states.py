# SPDX-License-Identifier: Apache-2.0
"""What torch.optim's optimizers keep, where programs and PyTorch take turns."""
import copy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: apt install python3-torch, or pip install torch")

from optimizer_programs import NADAM, Program, assert_same_states, parameters, plainly, set_gradients, trained  # noqa: E402
from pando.torch.optimizer_states import States  # noqa: E402
from pando.torch.optimizers import Rules  # noqa: E402
from pando.torch.unsupported import Unsupported  # noqa: E402


@pytest.mark.parametrize("name, options", [("Adam", {"amsgrad": True}), ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
                                           ("RMSprop", {"momentum": 0.5}), ("Adagrad", {"lr_decay": 0.1}), ("NAdam", NADAM)])
def test_steps_of_pytorch_and_of_programs_can_alternate(name, options):
    class Alternating:
        def __init__(self, optimizer):
            self.turns = [optimizer, Program(optimizer), Program(optimizer), optimizer]

        def step(self):
            self.turns.append(self.turns.pop(0))
            self.turns[-1].step()

    def make(values):
        return getattr(torch.optim, name)(values, **options)
    for turns in (Alternating, lambda optimizer: type("Reversed", (), {"step": Program(optimizer).step})):
        values, optimizer = trained(make, turns)
        expected, referee = trained(make, plainly)
        for value, other in zip(values, expected):
            torch.testing.assert_close(value, other, rtol=1e-6, atol=1e-6)
        assert_same_states(optimizer.state_dict()["state"], referee.state_dict()["state"], 1e-6)


@pytest.mark.parametrize("name, options", [
    ("Adam", {}), ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}), ("RMSprop", {})])
def test_a_stored_state_goes_on(name, options):
    def steps(stepping, values, numbers):
        for step in numbers:
            set_gradients(values, step)
            stepping.step()
    values = parameters()
    optimizer = getattr(torch.optim, name)(values, **options)
    program = Program(optimizer)
    steps(program, values, range(3))
    stored, then = copy.deepcopy(optimizer.state_dict()), [value.detach().clone() for value in values]
    steps(program, values, range(3, 6))
    after = [value.detach().clone() for value in values]
    optimizer.load_state_dict(stored)
    with torch.no_grad():
        for value, old in zip(values, then):
            value.copy_(old)
    assert not program.states.current()
    steps(program, values, range(3, 6))
    assert all(torch.equal(value, old) for value, old in zip(values, after))


def test_parameters_without_a_gradient_are_left_out():
    def run(by):
        values = parameters()
        optimizer = torch.optim.AdamW([{"params": values[:2], "lr": 0.1}, {"params": values[2:]}], lr=0.01, betas=(0.8, 0.7))
        stepping = by(optimizer)
        classes = []
        for step in range(6):
            set_gradients(values, step)
            if step in (1, 2):
                values[1].grad = None
            if step == 4:
                values[2].grad = None
            stepping.step()
            if by is Program:
                classes.append(stepping.states.numbers())
        return values, optimizer, classes
    values, optimizer, classes = run(Program)
    expected, referee, _ = run(plainly)
    assert classes == [((0, 0, 0), [1]), ((0, 0), [2]), ((0, 0), [3]), ((0, 1, 0), [4, 2]), ((0, 1), [5, 3]),
                       ((0, 1, 2), [6, 4, 5])]
    for value, other in zip(values, expected):
        torch.testing.assert_close(value, other, rtol=1e-6, atol=1e-6)
    assert_same_states(optimizer.state_dict()["state"], referee.state_dict()["state"], 1e-6)


def test_the_optimizer_changes_with_the_first_update_only():
    values = parameters()
    optimizer = torch.optim.SGD(values, lr=0.1, momentum=0.9, dampening=0.5)
    states = States(Rules(optimizer), values)
    assert not optimizer.state and states.numbers() == ((0, 0, 0), [0])
    states.advance()
    assert states.current() and states.numbers() == ((0, 0, 0), [1])
    assert [optimizer.state[p]["momentum_buffer"] is tensor for p, (tensor,) in zip(values, states.tensors)] == [True] * 3


@pytest.mark.parametrize("change", [lambda o, p: o.state.clear(), lambda o, p: o.state[p].update(exp_avg=torch.ones_like(p)),
                                    lambda o, p: o.state[p].pop("exp_avg"), lambda o, p: o.state.update({p: {}}),
                                    lambda o, p: o.state[p]["step"].share_memory_(),
                                    lambda o, p: setattr(o, "state", copy.deepcopy(o.state))])
def test_other_tensors_are_noticed(change):
    values = parameters()
    optimizer = torch.optim.Adam(values)
    states = States(Rules(optimizer), values)
    assert states.current()
    states.advance()
    assert states.current()
    change(optimizer, values[0])
    assert not states.current()


def test_several_updates_count():
    values = parameters()
    for name in ("Adam", "RMSprop"):
        optimizer = getattr(torch.optim, name)(values)
        states = States(Rules(optimizer), values)
        states.advance(50)
        states.advance(7)
        assert [float(optimizer.state[p]["step"]) for p in values] == [57] * 3


def test_states_that_do_not_fit_are_named():
    values = parameters()
    optimizer = torch.optim.Adam(values)
    set_gradients(values, 0)
    optimizer.step()
    optimizer.param_groups[0]["amsgrad"] = True
    with pytest.raises(Unsupported) as error:
        States(Rules(optimizer), values)
    assert str(error.value) == ("Adam stays eager: it keeps no max_exp_avg_sq for a parameter of shape [3, 4], whose other "
                                "states it has; make the optimizer with these options")
    optimizer.param_groups[0]["amsgrad"] = False
    optimizer.state[values[0]]["step"] = 1
    with pytest.raises(Unsupported) as error:
        States(Rules(optimizer), values)
    assert str(error.value) == ("Adam stays eager: it keeps a number of updates as 1, and not as a float on the CPU; make it "
                                "without fused")
