# SPDX-License-Identifier: Apache-2.0
"""The rules of torch.optim's optimizers against PyTorch's own steps, in its own memory."""
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: apt install python3-torch, or pip install torch")

from optimizer_programs import (IS_OLD, NADAM, Program, assert_same_states, parameters, plainly, set_gradients,  # noqa: E402
                                trained)
from pando import _core  # noqa: E402
from pando.torch.optimizer_states import States  # noqa: E402
from pando.torch.optimizers import Rules, clip_norm, clip_value, guard  # noqa: E402
from pando.torch.unsupported import Unsupported  # noqa: E402

OPTIMIZERS = {
    "SGD": ({"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}, {"lr": 0.1, "momentum": 0.8, "dampening": 0.4, "weight_decay": 0.2},
            {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {"lr": 0.1, "maximize": True},
            {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}, {"lr": 0.1, "weight_decay": 0.2}),
    "Adam": ({}, {"lr": 0.05, "betas": (0.8, 0.9), "eps": 0.01}, {"lr": 0.05, "weight_decay": 0.2, "maximize": True},
             {"lr": 0.05, "amsgrad": True}, {"lr": 0.05, "amsgrad": True, "weight_decay": 0.2, "maximize": True}),
    "AdamW": ({}, {"lr": 0.05, "betas": (0.8, 0.9), "eps": 0.01, "weight_decay": 0.2}, {"lr": 0.05, "maximize": True},
              {"lr": 0.05, "amsgrad": True, "betas": (0.8, 0.7)}, {"lr": 0.05, "weight_decay": 0.0}),
    "RMSprop": ({}, {"lr": 0.01, "alpha": 0.8, "eps": 0.01, "weight_decay": 0.2}, {"lr": 0.005, "momentum": 0.5},
                {"lr": 0.005, "eps": 1e-4, "centered": True}, {"momentum": 0.5, "centered": True, "maximize": True, "eps": 1e-3}),
    "Adagrad": ({"lr": 0.1}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}, {"initial_accumulator_value": 0.5, "eps": 1e-3},
                {"lr": 0.1, "maximize": True}),
    "Adadelta": ({}, {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1}, {"maximize": True}),
    "NAdam": (NADAM, {"lr": 0.05, "betas": (0.8, 0.9), "eps": 0.01, **NADAM},
              {"momentum_decay": 0.1, "weight_decay": 0.2, **NADAM}),
    "RAdam": ({}, {"lr": 0.05, "betas": (0.8, 0.9), "eps": 0.01}, {"lr": 0.05, "betas": (0.9, 0.6), "weight_decay": 0.2}),
}
if not IS_OLD:
    for name in ("NAdam", "RAdam"):
        OPTIMIZERS[name] += ({"lr": 0.05, "weight_decay": 0.2, "decoupled_weight_decay": True}, {"maximize": True})
    OPTIMIZERS["Adam"] += ({"lr": 0.05, "weight_decay": 0.2, "decoupled_weight_decay": True}, {"fused": True})
    OPTIMIZERS["SGD"] += ({"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "fused": True},)
CASES = [pytest.param(name, options, id=f"{name}-{'-'.join(map(str, options))}")
         for name, several in OPTIMIZERS.items() for options in several]


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name, options", CASES)
def test_updates_are_those_of_pytorch(name, options, foreach):
    if "fused" in options or IS_OLD and name in ("NAdam", "RAdam"):
        foreach = options.get("foreach", False)
    options = {**options, "foreach": foreach}

    def make(values):
        return getattr(torch.optim, name)(values, **options)
    # In float32 PyTorch keeps the product of NAdam's decays and, before 2.0, has Adagrad's rate with foreach.
    exact = not (name == "NAdam" or name == "Adagrad" and foreach and IS_OLD)
    for dtype, tolerance in ((torch.float64, 1e-12 if exact else 1e-6), (torch.float32, 2e-6)):
        values, optimizer = trained(make, Program, dtype)
        expected, referee = trained(make, plainly, dtype)
        for value, other in zip(values, expected):
            torch.testing.assert_close(value, other, rtol=tolerance, atol=tolerance)
        assert_same_states(optimizer.state_dict()["state"], referee.state_dict()["state"], tolerance)


def test_guards_change_with_everything_but_the_rate():
    values = parameters()
    optimizer = torch.optim.Adam(values)
    first = guard(optimizer)
    optimizer.param_groups[0]["lr"] = 0.5
    optimizer.param_groups[0]["note"] = "a user's"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        States(Rules(optimizer), values).advance()
        # It would say that the optimizer has made no step.
        scheduler.step()
    assert guard(optimizer) == first and hash(first) == hash(guard(optimizer))
    seen = {first}
    for change in (lambda group: group.update(betas=[0.5, 0.6]), lambda group: group.update(eps=0.1),
                   lambda group: group.update(weight_decay=0.1), lambda group: group.update(amsgrad=True),
                   lambda group: group["params"].pop(), lambda group: group.update(lr=torch.tensor(0.1)),
                   lambda group: optimizer.add_param_group({"params": parameters()[:1]})):
        change(optimizer.param_groups[0])
        seen.add(guard(optimizer))
    assert len(seen) == 8


class Subclass(torch.optim.AdamW):
    """A class without a step() of its own."""


class OwnStep(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)


def test_a_class_without_a_step_of_its_own_is_what_it_derives_from():
    values, _ = trained(lambda values: Subclass(values, lr=0.1), Program)
    expected, _ = trained(lambda values: torch.optim.AdamW(values, lr=0.1), plainly)
    for value, other in zip(values, expected):
        torch.testing.assert_close(value, other, rtol=1e-6, atol=1e-6)


def replaced(values):
    optimizer = torch.optim.Adam(values)
    optimizer.step = lambda: None
    return optimizer


REFUSED = [
    (lambda p: torch.optim.LBFGS(p), "LBFGS stays eager: Pando has SGD, Adam, AdamW, RMSprop, Adagrad, Adadelta, NAdam, RAdam"),
    (lambda p: OwnStep(p, lr=0.1), "OwnStep stays eager: its step() is not that of torch.optim.SGD"),
    (replaced, "Adam stays eager: its step() was replaced or has hooks, which a program would not call"),
    (lambda p: torch.optim.Adam(p, capturable=True), "Adam stays eager: it is capturable; make it with capturable=False"),
    (lambda p: torch.optim.SGD(p, lr=0.1, differentiable=True),
     "SGD stays eager: it is differentiable; make it with differentiable=False"),
    (lambda p: torch.optim.Adam(p, lr=torch.tensor(0.1)), "Adam stays eager: its lr is a tensor; use a number"),
    (lambda p: torch.optim.RMSprop(p, alpha=1.5), "RMSprop stays eager: RMSprop: alpha is 1.5 but must be in [0, 1)"),
]
if IS_OLD:
    REFUSED += [(torch.optim.NAdam,
                 "NAdam stays eager: without foreach, PyTorch before 2.0 takes one decay twice; make it with foreach=True"),
                (lambda p: torch.optim.RAdam(p, foreach=True),
                 "RAdam stays eager: with foreach, PyTorch before 2.0 leaves eps out; make it with foreach=False")]


@pytest.mark.parametrize("make, text", REFUSED)
def test_what_stays_eager_is_named(make, text):
    with pytest.raises(Unsupported) as error:
        Rules(make(parameters()))
    assert str(error.value) == text


@pytest.mark.skipif(IS_OLD, reason="PyTorch before 2.0 has no hooks of step()")
def test_hooks_are_noticed():
    optimizer = torch.optim.Adam(parameters())
    before = guard(optimizer)
    optimizer.register_step_post_hook(lambda *_: None)
    assert guard(optimizer) != before
    with pytest.raises(Unsupported, match="has hooks"):
        Rules(optimizer)


def test_an_option_that_no_rule_has_is_named():
    with pytest.raises(TypeError, match="adam has no argument 'nesterov'"):
        _core.steps.update_states("adam", {"nesterov": True})
    assert _core.steps.update_states("nadam", {}) == [("exp_avg", 0.0, False), ("exp_avg_sq", 0.0, False),
                                                       ("mu_product", 1.0, True)]


@pytest.mark.parametrize("scale", [0.01, 10.0, float("nan")])
@pytest.mark.parametrize("how, referee", [
    (lambda x: clip_norm(x, 0.5)[0], lambda p: torch.nn.utils.clip_grad_norm_(p, 0.5)),
    (lambda x: clip_norm(x, 0.5, float("inf"))[0], lambda p: torch.nn.utils.clip_grad_norm_(p, 0.5, float("inf"))),
    (lambda x: clip_value(x, 0.5), lambda p: torch.nn.utils.clip_grad_value_(p, 0.5))], ids=["norm", "largest", "value"])
def test_gradients_are_clipped_as_by_pytorch(how, referee, scale):
    values = parameters()
    set_gradients(values, 0, scale)
    found = _core.TensorProgram("clip", how)([p.grad.numpy() for p in values])
    referee(values)
    for array, value in zip(found, values):
        np.testing.assert_allclose(array, value.grad.numpy(), rtol=1e-6)


def test_clipping_tells_the_norm():
    values = parameters()
    set_gradients(values, 0)
    found = _core.TensorProgram("norm", lambda x: [clip_norm(x, 0.5)[1]])([p.grad.numpy() for p in values])
    np.testing.assert_allclose(found[0], torch.nn.utils.clip_grad_norm_(values, 0.5).numpy(), rtol=1e-6)
    with pytest.raises(Unsupported, match="gradients are clipped by the norm 2 or inf, and not by 1"):
        _core.TensorProgram("norm", lambda x: clip_norm(x, 0.5, 1)[0])([p.grad.numpy() for p in values])
