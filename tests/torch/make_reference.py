#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Make tests/torch/data: what PyTorch's modules, losses and optimizers compute and print.

Usage:
    python3 make_reference.py tests/torch/data

Needs numpy and torch; the stored files were made with Debian 12's python3-numpy 1.24.2
and python3-torch 1.13.1 on aarch64, and running it again gives the same bytes.

Everything is computed in float64 and stored in float32.  Inputs and weights are not stored.
Element i of array number n is, with 32-bit unsigned arithmetic,
    h = i * 2654435761 + n * 40503 * 65537 + 271; h ^= h >> 15; h *= 2246822519;
    h ^= h >> 13; h *= 3266489917; h ^= h >> 16; u = (h >> 8) / 2^24; float32(2u - 1)
n is 0 for the input, 1 for what outputs are multiplied by, and 2, 3, ... for parameters and
then buffers, which are halved; running variances are moved up by 1.  Embedding takes
floor(6u), and losses take three times the numbers.

reference.npz:
  <layer>.forward     the output in evaluation
  <layer>.training    the output in training, where it differs
  <layer>.input, <layer>.<parameter>
                      the gradients of the sum of the output times array 1
  <layer>.<buffer>    after batches 50, 51, 52 and 53
  <loss>.value, <loss>.input
                      the loss and its gradient; of reduction "none", that of the sum
  <optimizer>.<parameter>
                      after 10 steps on the mean squared error
  <schedulers>.rates  of two groups in 12 epochs
  targets.<kind>
printed.txt: what print() shows of each module, after a line "# <name>".
"""
import math
import sys

import numpy as np
import torch
from torch import nn, optim

STEPS = 10
ARRAYS = {}
PRINTED = {}


def hashed(number, shape, scale=1.0, offset=0.0):
    mask = np.uint64(0xFFFFFFFF)
    h = np.arange(math.prod(shape), dtype=np.uint64) * np.uint64(2654435761)
    h = (h + np.uint64(number * 40503 * 65537 + 271)) & mask
    for shift, factor in (15, 2246822519), (13, 3266489917):
        h ^= h >> np.uint64(shift)
        h = (h * np.uint64(factor)) & mask
    h ^= h >> np.uint64(16)
    u = (h >> np.uint64(8)).astype(np.float64) / 2**24
    return torch.tensor(((2 * u - 1) * scale + offset).reshape(shape).astype(np.float32)).double()


def store(name, value):
    ARRAYS[name] = np.array(value.detach().numpy(), dtype=np.float32)


def store_gradient(name, gradient):
    assert gradient.norm() > 1e-2, f"{name} is {gradient.norm()} long and tests nothing"
    store(name, gradient)


def set_first_values(module):
    named = list(module.named_parameters()) + [b for b in module.named_buffers() if b[1].is_floating_point()]
    with torch.no_grad():
        for i, (name, value) in enumerate(named):
            value.copy_(hashed(2 + i, value.shape, 0.5, 1.0 if name.endswith("running_var") else 0.0))
    return module


IMAGE, WIDE, WORDS = (3, 2, 7, 6), (3, 4, 7, 6), (3, 4, 6)
LAYERS = {
    "conv2d": (lambda: nn.Conv2d(2, 3, (3, 2)), IMAGE),
    "conv2d_stride": (lambda: nn.Conv2d(2, 3, 3, stride=2), IMAGE),
    "conv2d_strides": (lambda: nn.Conv2d(2, 3, (2, 3), stride=(2, 1)), IMAGE),
    "conv2d_padding": (lambda: nn.Conv2d(2, 3, 3, padding=1), IMAGE),
    "conv2d_paddings": (lambda: nn.Conv2d(2, 3, (3, 5), stride=2, padding=(1, 2)), IMAGE),
    "conv2d_same": (lambda: nn.Conv2d(2, 3, 3, padding="same"), IMAGE),
    "conv2d_same_even": (lambda: nn.Conv2d(2, 3, (2, 4), padding="same"), IMAGE),
    "conv2d_same_dilation": (lambda: nn.Conv2d(2, 3, (2, 3), padding="same", dilation=(3, 2)), IMAGE),
    "conv2d_valid": (lambda: nn.Conv2d(2, 3, 3, padding="valid"), IMAGE),
    "conv2d_dilation": (lambda: nn.Conv2d(2, 3, (3, 2), padding=1, dilation=(2, 3)), IMAGE),
    "conv2d_groups": (lambda: nn.Conv2d(4, 6, 3, groups=2), WIDE),
    "conv2d_depthwise": (lambda: nn.Conv2d(4, 8, 3, padding=1, groups=4, bias=False), WIDE),
    "conv2d_pointwise": (lambda: nn.Conv2d(4, 3, 1), WIDE),
    "conv2d_no_bias": (lambda: nn.Conv2d(2, 3, 3, bias=False), IMAGE),
    "conv2d_everything": (
        lambda: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(2, 1), dilation=2, groups=2, bias=False), WIDE),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(2, 3, (3, 2)), IMAGE),
    "conv_transpose2d_stride": (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2), IMAGE),
    "conv_transpose2d_gaps": (lambda: nn.ConvTranspose2d(2, 3, (2, 1), stride=(3, 2)), IMAGE),
    "conv_transpose2d_padding": (lambda: nn.ConvTranspose2d(2, 3, (3, 4), stride=2, padding=(1, 2)), IMAGE),
    "conv_transpose2d_output_padding": (
        lambda: nn.ConvTranspose2d(2, 3, 3, stride=(2, 3), padding=1, output_padding=(1, 2)), IMAGE),
    "conv_transpose2d_groups": (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), WIDE),
    "conv_transpose2d_depthwise": (lambda: nn.ConvTranspose2d(4, 4, 2, stride=2, groups=4, bias=False), WIDE),
    "conv_transpose2d_dilation": (lambda: nn.ConvTranspose2d(2, 3, (3, 2), dilation=(2, 3)), IMAGE),
    "conv_transpose2d_output_padding_dilation": (
        lambda: nn.ConvTranspose2d(2, 3, 3, padding=1, output_padding=(2, 1), dilation=3), IMAGE),
    "conv_transpose2d_everything": (
        lambda: nn.ConvTranspose2d(4, 6, (3, 2), stride=2, padding=1, output_padding=1, groups=2, bias=False,
                                   dilation=2), WIDE),
    "linear": (lambda: nn.Linear(6, 4), (3, 6)),
    "linear_rank3": (lambda: nn.Linear(6, 5), WORDS),
    "linear_no_bias": (lambda: nn.Linear(6, 4, bias=False), (3, 6)),
    "embedding": (lambda: nn.Embedding(6, 3), (3, 4)),
    "max_pool2d": (lambda: nn.MaxPool2d(2), IMAGE),
    "max_pool2d_pair": (lambda: nn.MaxPool2d((2, 2)), IMAGE),
    "max_pool2d_stride": (lambda: nn.MaxPool2d((3, 2), stride=(2, 1)), IMAGE),
    "max_pool2d_padding": (lambda: nn.MaxPool2d(3, stride=2, padding=1), IMAGE),
    "max_pool2d_ceil": (lambda: nn.MaxPool2d((2, 4), ceil_mode=True), IMAGE),
    "max_pool2d_padding_ceil": (lambda: nn.MaxPool2d(3, stride=3, padding=(1, 0), ceil_mode=True), IMAGE),
    "avg_pool2d": (lambda: nn.AvgPool2d(2), IMAGE),
    "avg_pool2d_stride": (lambda: nn.AvgPool2d((3, 2), stride=(2, 1)), IMAGE),
    "avg_pool2d_padding": (lambda: nn.AvgPool2d(3, stride=2, padding=1), IMAGE),
    "avg_pool2d_ceil": (lambda: nn.AvgPool2d((2, 4), ceil_mode=True), IMAGE),
    "avg_pool2d_padding_ceil": (lambda: nn.AvgPool2d(3, stride=3, padding=(1, 0), ceil_mode=True), IMAGE),
    "avg_pool2d_overlapping_ceil": (lambda: nn.AvgPool2d((4, 3), stride=2, padding=(2, 1), ceil_mode=True), IMAGE),
    "avg_pool2d_without_pad": (lambda: nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), IMAGE),
    "avg_pool2d_ceil_without_pad": (
        lambda: nn.AvgPool2d(3, stride=3, padding=(1, 0), ceil_mode=True, count_include_pad=False), IMAGE),
    "adaptive_avg_pool2d": (lambda: nn.AdaptiveAvgPool2d(1), IMAGE),
    "adaptive_avg_pool2d_pair": (lambda: nn.AdaptiveAvgPool2d((7, 3)), IMAGE),
    "adaptive_avg_pool2d_uneven": (lambda: nn.AdaptiveAvgPool2d((3, 4)), IMAGE),
    "adaptive_avg_pool2d_larger": (lambda: nn.AdaptiveAvgPool2d(9), IMAGE),
    "batch_norm2d": (lambda: nn.BatchNorm2d(2), IMAGE),
    "batch_norm2d_options": (lambda: nn.BatchNorm2d(2, eps=0.1, momentum=0.3), IMAGE),
    "batch_norm2d_no_affine": (lambda: nn.BatchNorm2d(2, affine=False), IMAGE),
    "batch_norm2d_no_tracking": (lambda: nn.BatchNorm2d(2, track_running_stats=False), IMAGE),
    "batch_norm2d_plain": (lambda: nn.BatchNorm2d(2, affine=False, track_running_stats=False), IMAGE),
    "batch_norm2d_eval": (lambda: nn.BatchNorm2d(2), IMAGE),
    "batch_norm2d_eval_no_affine": (lambda: nn.BatchNorm2d(2, affine=False), IMAGE),
    "batch_norm2d_eval_no_tracking": (lambda: nn.BatchNorm2d(2, track_running_stats=False), IMAGE),
    "layer_norm": (lambda: nn.LayerNorm(6), WORDS),
    "layer_norm_two_axes": (lambda: nn.LayerNorm((4, 6), eps=0.01), WORDS),
    "layer_norm_no_affine": (lambda: nn.LayerNorm(6, elementwise_affine=False), WORDS),
    "relu": (lambda: nn.ReLU(), WORDS),
    "leaky_relu": (lambda: nn.LeakyReLU(), WORDS),
    "leaky_relu_slope": (lambda: nn.LeakyReLU(0.3), WORDS),
    "gelu": (lambda: nn.GELU(), WORDS),
    "gelu_tanh": (lambda: nn.GELU("tanh"), WORDS),
    "silu": (lambda: nn.SiLU(), WORDS),
    "sigmoid": (lambda: nn.Sigmoid(), WORDS),
    "tanh": (lambda: nn.Tanh(), WORDS),
    "softmax": (lambda: nn.Softmax(dim=-1), WORDS),
    "softmax_channels": (lambda: nn.Softmax(dim=1), WIDE),
    "log_softmax": (lambda: nn.LogSoftmax(dim=-1), WORDS),
    "log_softmax_channels": (lambda: nn.LogSoftmax(dim=1), WIDE),
    "dropout_eval": (lambda: nn.Dropout(), WORDS),
    "dropout_eval_probability": (lambda: nn.Dropout(0.2), WORDS),
    "flatten": (lambda: nn.Flatten(), IMAGE),
    "flatten_some": (lambda: nn.Flatten(1, 2), IMAGE),
    "flatten_from_end": (lambda: nn.Flatten(start_dim=-2), IMAGE),
    "identity": (lambda: nn.Identity(), WORDS),
}


def make_layer(name, make, shape):
    layer = set_first_values(make())
    PRINTED[name] = str(layer)
    whole = isinstance(layer, nn.Embedding)
    x = hashed(0, shape, 3, 3).long() if whole else hashed(0, shape).requires_grad_()
    forward = layer.eval()(x)
    store(f"{name}.forward", forward)
    y = layer.train("_eval" not in name)(x)
    if not torch.equal(y, forward):
        store(f"{name}.training", y)
    (y * hashed(1, y.shape)).sum().backward()
    if not whole:
        store_gradient(f"{name}.input", x.grad)
    for key, parameter in layer.named_parameters():
        store_gradient(f"{name}.{key}", parameter.grad)


def make_running_statistics(name, make, shape):
    layer = set_first_values(make())
    for i in range(4):
        layer(hashed(50 + i, shape))
    for key, buffer in layer.named_buffers():
        if buffer.is_floating_point():
            store(f"{name}.{key}", buffer)


CLASSES = 5
FLAT, DEEP = (6, CLASSES), (2, CLASSES, 3, 2)
TARGETS = {
    "classes": ((hashed(20, (6,)) + 1) * CLASSES / 2).long(),
    "deep_classes": ((hashed(21, (2, 3, 2)) + 1) * CLASSES / 2).long(),
    "ignored": torch.tensor([-100, 3, 0, -100, 2, 1]),
    "shares": torch.softmax(hashed(22, FLAT), 1).float().double(),
    "deep_shares": torch.softmax(hashed(23, DEEP), 1).float().double(),
    "amounts": hashed(24, FLAT, 0.5, 0.5),
    "bits": (hashed(25, FLAT) > 0).double(),
    "real": hashed(26, FLAT, 2),
    "deep_real": hashed(27, DEEP, 2),
}
WEIGHT = hashed(30, (CLASSES,), 0.5, 1.0)
SPARSE = WEIGHT * torch.tensor([1.0, 0, 1, 1, 1])


def with_reductions(prefix, kind, shape, loss, **options):
    return {
        f"{prefix}{'' if r == 'mean' else '_' + r}": ((lambda r=r: loss(reduction=r, **options)), shape, kind)
        for r in ("mean", "sum", "none")
    }


def cross_entropies(suffix, **options):
    return with_reductions(f"cross_entropy_{suffix}", "classes", FLAT, nn.CrossEntropyLoss, **options)


def shares(suffix, **options):
    return with_reductions(f"cross_entropy_shares{suffix}", "shares", FLAT, nn.CrossEntropyLoss, **options)


LOSSES = {
    **with_reductions("cross_entropy", "classes", FLAT, nn.CrossEntropyLoss),
    **with_reductions("cross_entropy_deep", "deep_classes", DEEP, nn.CrossEntropyLoss),
    **with_reductions("cross_entropy_deep_weight", "deep_classes", DEEP, nn.CrossEntropyLoss, weight=WEIGHT),
    **cross_entropies("weight", weight=WEIGHT),
    **with_reductions("cross_entropy_ignore", "ignored", FLAT, nn.CrossEntropyLoss, ignore_index=-100),
    **cross_entropies("ignore_class_weight", weight=WEIGHT, ignore_index=3),
    **cross_entropies("smoothing", label_smoothing=0.2),
    **cross_entropies("smoothing_weight", weight=WEIGHT, label_smoothing=0.2),
    **with_reductions("cross_entropy_smoothing_ignore", "ignored", FLAT, nn.CrossEntropyLoss, ignore_index=-100,
                      label_smoothing=0.2),
    **with_reductions("cross_entropy_smoothing_ignore_sparse_weight", "ignored", FLAT, nn.CrossEntropyLoss,
                      weight=SPARSE, ignore_index=-100, label_smoothing=0.2),
    **with_reductions("cross_entropy_deep_smoothing", "deep_classes", DEEP, nn.CrossEntropyLoss, weight=WEIGHT,
                      label_smoothing=0.2),
    **shares(""),
    **shares("_weight", weight=WEIGHT),
    **shares("_smoothing", label_smoothing=0.2),
    **shares("_smoothing_weight", weight=WEIGHT, label_smoothing=0.2),
    **with_reductions("cross_entropy_deep_shares", "deep_shares", DEEP, nn.CrossEntropyLoss),
    **with_reductions("cross_entropy_amounts", "amounts", FLAT, nn.CrossEntropyLoss),
    **with_reductions("nll", "classes", FLAT, nn.NLLLoss),
    **with_reductions("nll_weight", "classes", FLAT, nn.NLLLoss, weight=WEIGHT),
    **with_reductions("nll_ignore", "ignored", FLAT, nn.NLLLoss, ignore_index=-100),
    **with_reductions("nll_deep", "deep_classes", DEEP, nn.NLLLoss, weight=WEIGHT, ignore_index=3),
    **with_reductions("mse", "real", FLAT, nn.MSELoss),
    **with_reductions("mse_deep", "deep_real", DEEP, nn.MSELoss),
    **with_reductions("l1", "real", FLAT, nn.L1Loss),
    **with_reductions("smooth_l1", "real", FLAT, nn.SmoothL1Loss),
    **with_reductions("smooth_l1_beta", "real", FLAT, nn.SmoothL1Loss, beta=0.3),
    **with_reductions("smooth_l1_beta_zero", "real", FLAT, nn.SmoothL1Loss, beta=0.0),
    **with_reductions("bce_logits", "bits", FLAT, nn.BCEWithLogitsLoss),
    **with_reductions("bce_logits_amounts", "amounts", FLAT, nn.BCEWithLogitsLoss),
    **with_reductions("bce_logits_weight", "bits", FLAT, nn.BCEWithLogitsLoss, weight=WEIGHT),
    **with_reductions("bce_logits_pos_weight", "amounts", FLAT, nn.BCEWithLogitsLoss, pos_weight=WEIGHT),
    **with_reductions("bce_logits_both_weights", "amounts", FLAT, nn.BCEWithLogitsLoss, weight=SPARSE,
                      pos_weight=WEIGHT),
}


def make_loss(name, make, shape, kind):
    x = hashed(0, shape, 3).requires_grad_()
    value = make()(x, TARGETS[kind])
    store(f"{name}.value", value)
    value.sum().backward()
    store_gradient(f"{name}.input", x.grad)


def halving(optimizer):
    return optim.lr_scheduler.StepLR(optimizer, 3, 0.5)


OPTIMIZERS = {
    "sgd": (optim.SGD, dict(lr=0.1)),
    "sgd_momentum": (optim.SGD, dict(lr=0.1, momentum=0.9)),
    "sgd_nesterov": (optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True)),
    "sgd_dampening": (optim.SGD, dict(lr=0.1, momentum=0.9, dampening=0.4)),
    "sgd_weight_decay": (optim.SGD, dict(lr=0.1, weight_decay=0.2)),
    "sgd_dampening_weight_decay": (optim.SGD, dict(lr=0.1, momentum=0.8, dampening=0.4, weight_decay=0.2)),
    "sgd_nesterov_weight_decay": (optim.SGD, dict(lr=0.1, momentum=0.8, weight_decay=0.2, nesterov=True)),
    "adam": (optim.Adam, dict(lr=0.01)),
    "adam_options": (optim.Adam, dict(lr=0.05, betas=(0.8, 0.9), eps=0.01)),
    "adam_weight_decay": (optim.Adam, dict(lr=0.01, weight_decay=0.2)),
    "adamw": (optim.AdamW, dict(lr=0.05)),
    "adamw_options": (optim.AdamW, dict(lr=0.05, betas=(0.8, 0.9), eps=0.01, weight_decay=0.2)),
    "rmsprop": (optim.RMSprop, dict(lr=0.01)),
    "rmsprop_options": (optim.RMSprop, dict(lr=0.01, alpha=0.8, eps=0.01)),
    "rmsprop_momentum": (optim.RMSprop, dict(lr=0.005, momentum=0.5)),
    "rmsprop_centered": (optim.RMSprop, dict(lr=0.005, eps=1e-4, centered=True)),
    "rmsprop_weight_decay": (optim.RMSprop, dict(lr=0.01, weight_decay=0.2)),
    "rmsprop_everything": (
        optim.RMSprop, dict(lr=0.005, alpha=0.9, eps=1e-3, weight_decay=0.2, momentum=0.5, centered=True)),
    "sgd_momentum_schedule": (optim.SGD, dict(lr=0.2, momentum=0.9), None, halving),
    "adamw_schedule": (optim.AdamW, dict(lr=0.05, weight_decay=0.2), None, halving),
    "rmsprop_momentum_schedule": (optim.RMSprop, dict(lr=0.01, momentum=0.5), None, halving),
    "sgd_groups": (optim.SGD, dict(lr=0.1, momentum=0.9), dict(lr=0.02, momentum=0.5)),
    "adam_groups": (optim.Adam, dict(lr=0.01), dict(lr=0.05, betas=(0.7, 0.8))),
    "adamw_groups": (optim.AdamW, dict(lr=0.01), dict(lr=0.05, weight_decay=0.3)),
    "rmsprop_groups": (optim.RMSprop, dict(lr=0.01), dict(lr=0.005, alpha=0.8)),
}


def make_optimizer(name, kind, first, second=None, schedule=None):
    model = set_first_values(nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3)))
    optimizer = kind((model if second is None else model[0]).parameters(), **first)
    if second is not None:
        optimizer.add_param_group({"params": list(model[2].parameters()), **second})
    scheduler = schedule(optimizer) if schedule else None
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.MSELoss()(model(hashed(0, (8, 5))), hashed(1, (8, 3))).backward()
        optimizer.step()
        if scheduler:
            scheduler.step()
    for key, parameter in model.named_parameters():
        store(f"{name}.{key}", parameter)


SCHEDULERS = {
    "step_lr": lambda o: optim.lr_scheduler.StepLR(o, step_size=3, gamma=0.5),
    "step_lr_default": lambda o: optim.lr_scheduler.StepLR(o, step_size=4),
    "multi_step_lr": lambda o: optim.lr_scheduler.MultiStepLR(o, milestones=[2, 7, 7, 9], gamma=0.5),
    "exponential_lr": lambda o: optim.lr_scheduler.ExponentialLR(o, gamma=0.8),
    "linear_lr": lambda o: optim.lr_scheduler.LinearLR(o),
    "linear_lr_options": lambda o: optim.lr_scheduler.LinearLR(o, start_factor=1.0, end_factor=0.1, total_iters=8),
    "cosine_annealing_lr": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, T_max=12),
    "cosine_annealing_lr_again": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, T_max=5, eta_min=0.01),
    "lambda_lr": lambda o: optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
}


TOGETHER = {
    "products": ("linear_lr", "exponential_lr", "multi_step_lr"),
    "cosine_after_linear": ("linear_lr", "cosine_annealing_lr_again"),
    "lambda_after_step": ("step_lr", "lambda_lr"),
}


def make_schedulers(name, *makes):
    """All work on the same rates."""
    parameters = [nn.Parameter(torch.zeros(1)) for _ in range(2)]
    optimizer = optim.SGD([parameters[0]], lr=0.2)
    optimizer.add_param_group({"params": [parameters[1]], "lr": 0.05})
    schedulers = [make(optimizer) for make in makes]
    rates = []
    for _ in range(12):
        rates.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
    store(f"{name}.rates", torch.tensor(rates))


class Block(nn.Module):
    def __init__(self, in_channels, num_filters, kernel_size, pool_size):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, num_filters, kernel_size=kernel_size)
        self.pool = nn.MaxPool2d(kernel_size=pool_size)
        self.relu = nn.ReLU()


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = Block(1, 32, 3, 2)
        self.layer2 = Block(32, 64, 3, 2)
        self.layer3 = nn.Linear(1600, 128)
        self.layer3_act = nn.ReLU()
        self.layer3_dropout = nn.Dropout(0.5)
        self.layer4 = nn.Linear(128, 10)


class TrainingModelWithLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.loss = nn.CrossEntropyLoss()


class Empty(nn.Module):
    pass


class ConvBlock(nn.Sequential):
    """What derives from a module of PyTorch's is printed as its own class."""
    def __init__(self):
        super().__init__(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU())


def make_trees():
    named = nn.Sequential()
    named.add_module("first", nn.Linear(2, 3))
    named.add_module("second", nn.Tanh())
    body = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Sequential(nn.ReLU(), nn.Flatten()))
    trees = {
        "network": TrainingModelWithLoss(Network()),
        "block": Block(2, 4, 3, 2),
        "empty_sequential": nn.Sequential(),
        "empty_list": nn.ModuleList(),
        "empty": Empty(),
        "sequential": body,
        "sequential_of_names": named,
        "list": nn.ModuleList([nn.Linear(2, 3), nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 1))]),
        "sequential_of_user_modules": nn.Sequential(Block(2, 4, 3, 2), Empty(), ConvBlock()),
        "derived": ConvBlock(),
    }
    for name, tree in trees.items():
        PRINTED[name] = str(tree)
    assert sum(p.numel() for p in trees["network"].parameters()) == 225034
    for kind in nn.CrossEntropyLoss, nn.NLLLoss, nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.BCEWithLogitsLoss:
        PRINTED[kind.__name__] = str(kind())


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    for name, case in LAYERS.items():
        make_layer(name, *case)
        if "running_mean" in dict(case[0]().named_buffers()) and "_eval" not in name:
            make_running_statistics(name, *case)
    for kind, target in TARGETS.items():
        ARRAYS[f"targets.{kind}"] = target.numpy().astype(np.float32 if target.is_floating_point() else np.int64)
    for name, case in LOSSES.items():
        make_loss(name, *case)
    for name, case in OPTIMIZERS.items():
        make_optimizer(name, *case)
    for name, make in SCHEDULERS.items():
        make_schedulers(name, make)
    for name, kinds in TOGETHER.items():
        make_schedulers(name, *(SCHEDULERS[kind] for kind in kinds))
    make_trees()
    np.savez(f"{sys.argv[1]}/reference.npz", **ARRAYS)
    with open(f"{sys.argv[1]}/printed.txt", "w") as file:
        file.writelines(f"# {name}\n{text}\n" for name, text in PRINTED.items())


if __name__ == "__main__":
    main()
