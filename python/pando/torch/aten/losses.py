# SPDX-License-Identifier: Apache-2.0
"""Losses. A reduction is 0, none, 1, the mean, or 2, the sum."""
import math

from pando.torch.aten.table import aten
from pando.torch.layout import mean, total, transpose, with_axis
from pando.torch.symbols import (add, as_indices, cast, computed, divide, equal, multiply, negate, not_equal, op, rank, size,
                                   square, subtract, vjp, where)


def reduced(x, reduction):
    return x if reduction == 0 else mean(x) if reduction == 1 else total(x)


def divided(g, x, reduction):
    """The gradient of each element of the loss."""
    return multiply(g, 1 / max(size(x), 1)) if reduction == 1 else g


# ---- of classes
def rows_of_classes(x):
    """[N, C, ...] as [N, ..., C]; [C] stays."""
    return x if rank(x) < 3 else transpose(x, [0, *range(2, rank(x)), 1])


def label_weights(c, labels, weight, ignored, classes):
    """How much each label counts."""
    keep = cast(not_equal(labels, ignored), "float32")
    return keep if weight is None else multiply(keep, total(multiply(chosen(labels, classes), weight), [-1]))


def chosen(labels, classes):
    """1 at the label of each row, and 0 elsewhere."""
    return op("one_hot", as_indices(labels), depth=classes, dtype="float32")


@aten("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(c, logp, labels, weight, reduction, ignored):
    rows, classes = rows_of_classes(logp), rows_of_classes(logp).shape[-1]
    counts = label_weights(c, labels, weight, ignored, classes)
    logits = logits_of(c, c.node, 0)
    if logits is not None:    # nll_loss(log_softmax(x)) is one op of Pando
        each = cross_entropy(logits, labels, ignored)
        each = each if weight is None else multiply(each, counts)
    else:
        hot = cast(chosen(labels, classes), "bool")
        picked = total(where(hot, rows, 0.0), [-1])    # not a product: the others may be infinite
        known = total(cast(hot, "float32"), [-1])
        each = multiply(negate(where(equal(known, 0), where(equal(labels, ignored), 0.0, math.nan), picked)), counts)
        each = where(equal(counts, 0), 0.0, each)
    count = total(counts)
    return (divide(total(each), count) if reduction == 1 else reduced(each, reduction)), count


def logits_of(c, node, index):
    """What this argument of a node is the log_softmax of, by class; or None."""
    made = c.maker(index, ["_log_softmax"], node)
    if made is None:
        return None
    logits = c.widened(c.value(made.args[0]))
    return logits if rank(logits) > 1 and made.args[1] in (1, 1 - rank(logits)) else None


def cross_entropy(logits, labels, ignored):
    return op("sparse_softmax_cross_entropy", rows_of_classes(logits), as_indices(labels), ignored=ignored)


@aten("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(c, g, logp, labels, weight, reduction, ignored, count):
    each = slopes(c, g, logp, labels, weight, reduction, ignored, count)
    classes = rows_of_classes(logp).shape[-1]
    made = negate(where(chosen(labels, classes), with_axis(each, rank(each)), 0.0))
    return transpose(made, [0, rank(made) - 1, *range(1, rank(made) - 1)]) if rank(logp) > 2 else made


def slopes(c, g, logp, labels, weight, reduction, ignored, count):
    """The gradient of the loss of each label, before the label's sign. Labels that are left out have none even where all of
    them are, and the mean is 0 / 0."""
    counts = label_weights(c, labels, weight, ignored, rows_of_classes(logp).shape[-1])
    return where(equal(labels, ignored), 0.0, multiply(counts, divide(g, count) if reduction == 1 else g))


@aten("_log_softmax_backward_data")
def log_softmax_backward(c, g, y, dim, input_dtype):
    """After the gradient of nll_loss, it is that of Pando's cross entropy, which the forward op makes besides."""
    made, logits = c.maker(0, ["nll_loss_backward", "nll_loss2d_backward"]), logits_of(c, c.node, 1)
    if made is None or logits is None or logits_of(c, made, 1) is not logits:
        return subtract(g, multiply(op("exp", y), total(g, [dim], True)))
    arguments = [c.widened(c.value(x)) for x in made.args]
    labels, ignored = arguments[2], arguments[5]
    return vjp(lambda x: cross_entropy(x, labels, ignored), [logits], slopes(c, *arguments))[0]


# ---- of differences
@aten("mse_loss")
def mse_loss(c, x, y, reduction=1):
    return reduced(square(subtract(x, y)), reduction)


@aten("mse_loss_backward")
def mse_loss_backward(c, g, x, y, reduction):
    apart = subtract(x, y)
    return multiply(apart, multiply(divided(g, apart, reduction), 2.0))


@aten("smooth_l1_loss")
def smooth_l1_loss(c, x, y, reduction=1, beta=1.0):
    far = computed("absolute_error", x, y)
    near = multiply(square(far), 0.5 / beta) if beta else far
    return reduced(where(computed("less", far, beta), near, subtract(far, 0.5 * beta)), reduction)


@aten("smooth_l1_loss_backward")
def smooth_l1_loss_backward(c, g, x, y, reduction, beta):
    apart = subtract(x, y)
    slope = computed("sign", apart) if beta == 0 else op("clip", divide(apart, beta), min=-1.0, max=1.0)
    return multiply(slope, divided(g, apart, reduction))


@aten("huber_loss")
def huber_loss(c, x, y, reduction=1, delta=1.0):
    return reduced(computed("huber_error", x, y, delta=delta), reduction)


@aten("huber_loss_backward")
def huber_loss_backward(c, g, x, y, reduction, delta):
    apart = subtract(x, y)
    return multiply(op("clip", apart, min=-delta, max=delta), divided(g, apart, reduction))


# ---- of probabilities
@aten("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(c, x, y, weight=None, pos_weight=None, reduction=1):
    if pos_weight is None:
        each = computed("sigmoid_cross_entropy", x, y)
    else:    # the part of the target, (1 - y) x, and the rest, weighted
        positive = add(multiply(subtract(pos_weight, 1.0), y), 1.0)
        each = add(multiply(subtract(1.0, y), x), multiply(positive, op("softplus", negate(x))))
    return reduced(each if weight is None else multiply(each, weight), reduction)


@aten("binary_cross_entropy")
def binary_cross_entropy(c, x, y, weight=None, reduction=1):
    logs = [computed("maximum", op("log", v), -100.0) for v in (x, subtract(1.0, x))]
    each = negate(add(multiply(y, logs[0]), multiply(subtract(1.0, y), logs[1])))
    return reduced(each if weight is None else multiply(each, weight), reduction)


@aten("binary_cross_entropy_backward")
def binary_cross_entropy_backward(c, g, x, y, weight=None, reduction=1):
    below = computed("maximum", multiply(subtract(1.0, x), x), 1e-12)
    made = multiply(divided(g, x, reduction), divide(subtract(x, y), below))
    return made if weight is None else multiply(made, weight)
