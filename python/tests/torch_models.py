# SPDX-License-Identifier: Apache-2.0
"""Models of the tests, as their users write them, small."""
import math

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812


class UNet(nn.Module):
    """Segmentation: down, across and up again, with what each level keeps."""

    def __init__(self, channels=1, classes=2, width=4):
        super().__init__()
        self.first, self.second = convolutions(channels, width), convolutions(width, 2 * width)
        self.bottom = convolutions(2 * width, 4 * width)
        self.up, self.third = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2), convolutions(4 * width, 2 * width)
        self.last, self.head = convolutions(3 * width, width), nn.Conv2d(width, classes, 1)

    def forward(self, x):
        first = self.first(x)
        second = self.second(F.max_pool2d(first, 2))
        bottom = self.bottom(F.max_pool2d(second, 2))
        x = self.third(torch.cat([self.up(bottom), second], 1))
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.last(torch.cat([x, first], 1)))


def convolutions(inputs, outputs):
    layers = []
    for before in (inputs, outputs):
        layers += [nn.Conv2d(before, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


def generator(noise=8, width=8):
    """DCGAN's: from noise [n, noise, 1, 1] to images [n, 1, 16, 16]."""
    return nn.Sequential(
        nn.ConvTranspose2d(noise, 2 * width, 4, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(True),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
        nn.ConvTranspose2d(width, 1, 4, 2, 1, bias=False), nn.Tanh())


def discriminator(width=8):
    return nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(2 * width, 1, 4, bias=False), nn.Flatten(0))


class Judging(nn.Module):
    """The loss of the discriminator: it tells images from made ones."""

    def __init__(self, generator, discriminator):
        super().__init__()
        self.generator, self.discriminator = generator, discriminator

    def forward(self, images, noise):
        real, made = self.discriminator(images), self.discriminator(self.generator(noise).detach())
        return (F.binary_cross_entropy_with_logits(real, torch.ones_like(real)) +
                F.binary_cross_entropy_with_logits(made, torch.zeros_like(made)))


class Fooling(nn.Module):
    """The loss of the generator: the discriminator takes what it makes for an image."""

    def __init__(self, generator, discriminator):
        super().__init__()
        self.generator, self.discriminator = generator, discriminator

    def forward(self, noise):
        made = self.discriminator(self.generator(noise))
        return F.binary_cross_entropy_with_logits(made, torch.ones_like(made))


class VAE(nn.Module):
    """The noise is an argument where it has to be the same for all who compute."""

    def __init__(self, inputs=64, width=32, latent=6):
        super().__init__()
        self.hidden, self.mean, self.variance = nn.Linear(inputs, width), nn.Linear(width, latent), nn.Linear(width, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, inputs))

    def forward(self, x, noise=None):
        hidden = F.relu(self.hidden(x.flatten(1)))
        mean, variance = self.mean(hidden), self.variance(hidden)
        deviation = torch.exp(0.5 * variance)
        latent = mean + deviation * (torch.randn_like(deviation) if noise is None else noise)
        made = torch.sigmoid(self.decoder(latent))
        distance = F.binary_cross_entropy(made, x.flatten(1), reduction="sum")
        return distance - 0.5 * torch.sum(1 + variance - mean.pow(2) - variance.exp())


class LanguageModel(nn.Module):
    """Words through two layers of LSTM; the head has the table of the words."""

    def __init__(self, words=30, width=16):
        super().__init__()
        self.words, self.lstm = nn.Embedding(words, width), nn.LSTM(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, words)
        self.head.weight = self.words.weight

    def forward(self, x):
        return self.head(self.lstm(self.words(x))[0])


def words_loss(scores, targets):
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), targets.reshape(-1))


class Attention(nn.Module):
    """By PyTorch's own function, if it has it (2.0) and unless the mask is to be made here."""

    def __init__(self, width, heads, longest, is_fused):
        super().__init__()
        self.is_fused = is_fused and hasattr(F, "scaled_dot_product_attention")
        self.register_buffer("earlier", torch.tril(torch.ones(longest, longest)).view(1, 1, longest, longest))
        self.heads, self.all, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (part.view(n, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.all(x).split(width, dim=2))
        if self.is_fused:
            found = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
            found = F.softmax(scores.masked_fill(self.earlier[:, :, :length, :length] == 0, float("-inf")), -1) @ v
        return self.out(found.transpose(1, 2).contiguous().view(n, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, longest, is_fused):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, longest, is_fused)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.wide(self.second(x))


class GPT(nn.Module):
    """As nanoGPT's: the module returns the scores and, for targets, the loss, in which -1 leaves a place out."""

    def __init__(self, words=30, length=12, width=16, heads=2, blocks=2, is_fused=True):
        super().__init__()
        self.parts = nn.ModuleDict({
            "words": nn.Embedding(words, width), "places": nn.Embedding(length, width),
            "blocks": nn.ModuleList([Block(width, heads, length, is_fused) for _ in range(blocks)]), "norm": nn.LayerNorm(width)})
        self.head = nn.Linear(width, words, bias=False)
        self.parts.words.weight = self.head.weight

    def forward(self, x, targets=None):
        places = torch.arange(0, x.size(1), dtype=torch.long, device=x.device)
        values = self.parts.words(x) + self.parts.places(places)
        for block in self.parts.blocks:
            values = block(values)
        values = self.parts.norm(values)
        if targets is None:
            return self.head(values[:, [-1], :]), None
        scores = self.head(values)
        return scores, F.cross_entropy(scores.view(-1, scores.size(-1)), targets.view(-1), ignore_index=-1)


class Trained(nn.Module):
    """A model that returns its loss beside other values."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        found = self.model(*inputs)
        return found[1] if isinstance(found, tuple) else found.loss
