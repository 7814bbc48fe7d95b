# SPDX-License-Identifier: Apache-2.0
"""Training steps three times: compiled, by PyTorch in float32, and by PyTorch in float64, which says how far float32 may be."""
import copy

import torch
from torch import nn

from pando.torch import compile_step

# Where PyTorch in float32 happens to be exact, another order of additions may still round.
RELATIVE, TIMES = 2e-6, 3


def without_chance(model):
    """The model, with dropout and stochastic depth set to 0: masks of PyTorch and Pando differ."""
    for module in model.modules():
        for name, value in vars(module).items():
            if ("drop" in name or isinstance(module, nn.Dropout) and name == "p") and isinstance(value, float):
                setattr(module, name, 0.0)
        if type(module).__name__ == "StochasticDepth":
            module.p = 0.0
    return model


def doubled(batch):
    return [x.double() if x.is_floating_point() else x for x in batch]


def eager_losses(model, loss, optimizer, batches, targets=1):
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        split = len(batch) - targets if loss else len(batch)
        value = model(*batch[:split]) if loss is None else loss(model(*batch[:split]), *batch[split:])
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return torch.tensor(losses, dtype=torch.float64)


def assert_trains_as_eager(model, loss, make_optimizer, batches):
    """Compiled whole, it has PyTorch's first loss; its losses and weights are no further from float64 than PyTorch's."""
    single, double = copy.deepcopy(model), copy.deepcopy(model).double()
    step = compile_step(model, loss, make_optimizer(model), strict=True)
    found = torch.tensor([step(*batch).item() for batch in batches], dtype=torch.float64)
    plain = eager_losses(single, loss, make_optimizer(single), batches)
    exact = eager_losses(double, loss, make_optimizer(double), [doubled(batch) for batch in batches])
    assert abs(found[0] - plain[0]) <= 1e-5 * abs(plain[0]), (found[0], plain[0])
    assert_near("losses", found, plain, exact)
    states = [{name: value.double() for name, value in m.state_dict().items()} for m in (model, single, double)]
    for kind in ("weights", "statistics"):
        buffers = dict(model.named_buffers())
        chosen = [name for name in states[0] if (name in buffers) == (kind == "statistics")]
        if chosen:
            assert_near(kind, *(torch.cat([state[name].reshape(-1) for name in chosen]) for state in states))
    return step


def assert_near(what, found, plain, exact):
    distance, allowed = (found - exact).norm(), TIMES * (plain - exact).norm() + RELATIVE * exact.norm()
    assert distance <= allowed, f"{what}: {distance:.3g} from float64, and {(plain - exact).norm():.3g} in PyTorch"
