# SPDX-License-Identifier: Apache-2.0
"""Models that people train, compiled whole, beside PyTorch: test_torch_zoo.py has more of them."""
import copy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: apt install python3-torch)")

import referee  # noqa: E402, it imports torch
import torch_models as models  # noqa: E402
from pando.torch import compile_step  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

STEPS = 10


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=1e-3)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)


def sequences(words=30, size=4, length=12):
    drawn = [torch.randint(0, words, (size, length + 1)) for _ in range(STEPS)]
    return [(x[:, :-1].contiguous(), x[:, 1:].contiguous()) for x in drawn]


def test_unet():
    batches = [(torch.randn(2, 1, 16, 16), torch.randint(0, 2, (2, 16, 16))) for _ in range(STEPS)]
    referee.assert_trains_as_eager(models.UNet(), F.cross_entropy, sgd, batches)


def test_vae():
    batches = [(torch.rand(8, 1, 8, 8), torch.randn(8, 6)) for _ in range(STEPS)]
    referee.assert_trains_as_eager(models.VAE(), None, adam, batches)


def test_vae_that_draws_its_noise():
    batches = [(torch.rand(8, 1, 8, 8),)] * 50

    def losses():
        torch.manual_seed(3)
        model = models.VAE()
        step = compile_step(model, None, adam(model), strict=True)
        return [step(*batch).item() for batch in batches]
    found = losses()
    assert found == losses()
    assert len(set(found)) == len(found) and sum(found[-5:]) < 0.99 * sum(found[:5])


def test_language_model_of_lstm():
    referee.assert_trains_as_eager(models.LanguageModel(), models.words_loss, adam, sequences())


@pytest.mark.parametrize("is_fused", [False, True])
def test_gpt(is_fused):
    if is_fused and not hasattr(F, "scaled_dot_product_attention"):
        pytest.skip("PyTorch before 2.0 has no function for attention")
    batches = sequences()
    for _, targets in batches:
        targets[:, :3] = -1
    referee.assert_trains_as_eager(models.Trained(models.GPT(is_fused=is_fused)), None, adam, batches)


def test_discriminator_and_generator_take_turns():
    batches = [(torch.rand(4, 1, 16, 16), torch.randn(4, 8, 1, 1)) for _ in range(STEPS)]
    generator, discriminator = models.generator(), models.discriminator()

    def trained(pair, kind):
        judging, fooling = models.Judging(*pair), models.Fooling(*pair)
        optimizers = [torch.optim.Adam(part.parameters(), lr=2e-4, betas=(0.5, 0.999)) for part in (pair[1], pair[0])]
        losses = []
        if kind is not None:
            judge, fool = (compile_step(model, None, optimizer, strict=True)
                           for model, optimizer in zip((judging, fooling), optimizers))
            losses = [(judge(*batch).item(), fool(batch[1]).item()) for batch in batches]
        else:
            for images, noise in batches:
                images, noise = (x.to(next(pair[0].parameters()).dtype) for x in (images, noise))
                made = []
                for model, optimizer, batch in zip((judging, fooling), optimizers, ((images, noise), (noise,))):
                    optimizer.zero_grad()
                    loss = model(*batch)
                    loss.backward()
                    optimizer.step()
                    made.append(loss.item())
                losses.append(made)
        return torch.tensor(losses, dtype=torch.float64), torch.cat(
            [x.double().reshape(-1) for part in pair for x in part.state_dict().values()])
    first = torch.nn.ModuleList([generator, discriminator])
    single, double = copy.deepcopy(first), copy.deepcopy(first).double()
    found, plain, exact = trained(first, "compiled"), trained(single, None), trained(double, None)
    referee.assert_near("losses", found[0], plain[0], exact[0])
    referee.assert_near("weights and statistics", found[1], plain[1], exact[1])
