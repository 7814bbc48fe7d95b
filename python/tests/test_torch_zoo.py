# SPDX-License-Identifier: Apache-2.0
"""Public models, compiled whole, beside PyTorch: those of torchvision and of transformers, where they are installed."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: apt install python3-torch)")

import referee  # noqa: E402, it imports torch
from torch.nn import functional as F  # noqa: E402, N812

STEPS, CLASSES = 10, 10
# The side of the images, how many make a batch, and what the model is made with. Where a norm would see few numbers at the
# last layers, rounding decides; these models get larger images and batches.
IMAGES = {
    "resnet18": (32, 4, {}), "resnet50": (32, 4, {}), "mobilenet_v2": (64, 8, {}), "mobilenet_v3_small": (32, 4, {}),
    "efficientnet_b0": (64, 8, {}), "densenet121": (32, 4, {}),
    "googlenet": (32, 4, {"aux_logits": False, "init_weights": False}), "vgg11_bn": (64, 8, {}), "squeezenet1_1": (32, 4, {}),
    "shufflenet_v2_x0_5": (64, 8, {}), "mnasnet0_5": (64, 8, {}), "regnet_y_400mf": (64, 8, {}),
    "convnext_tiny": (32, 4, {}), "vit_b_16": (32, 4, {"image_size": 32}), "swin_t": (32, 4, {})}


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-4)


@pytest.mark.parametrize("name", IMAGES)
def test_model_of_torchvision(name):
    torchvision = pytest.importorskip("torchvision", reason="torchvision is not installed")
    torch.manual_seed(0)
    side, count, options = IMAGES[name]
    model = referee.without_chance(getattr(torchvision.models, name)(weights=None, num_classes=CLASSES, **options))
    batches = [(torch.randn(count, 3, side, side), torch.randint(0, CLASSES, (count,))) for _ in range(STEPS)]
    referee.assert_trains_as_eager(model, F.cross_entropy, sgd, batches)


def test_bert():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                                     intermediate_size=64, max_position_embeddings=32)
    model = referee.without_chance(transformers.BertForSequenceClassification(config))

    def batch():
        mask = (torch.arange(16) < torch.randint(4, 17, (4, 1))).long()
        return torch.randint(0, 60, (4, 16)), mask, torch.zeros(4, 16, dtype=torch.long), torch.randint(0, 2, (4,))
    referee.assert_trains_as_eager(Labelled(model), None, adamw, [batch() for _ in range(STEPS)])


def test_gpt2():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=60, n_positions=32, n_embd=32, n_layer=2, n_head=2)
    model = referee.without_chance(transformers.GPT2LMHeadModel(config))
    batches = [(torch.randint(0, 60, (4, 16)),) for _ in range(STEPS)]
    referee.assert_trains_as_eager(Predicted(model), None, adamw, batches)


class Labelled(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, words, mask, kinds, labels):
        return self.model(input_ids=words, attention_mask=mask, token_type_ids=kinds, labels=labels).loss


class Predicted(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, words):
        return self.model(input_ids=words, labels=words).loss
