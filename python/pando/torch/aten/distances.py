# SPDX-License-Identifier: Apache-2.0
"""Distances between rows."""
import math

import numpy as np

from pando.torch.aten.reductions import norm_of
from pando.torch.aten.table import aten
from pando.torch.layout import axis_of, reshape, rows, total, with_axis
from pando.torch.symbols import absolute, add, computed, divide, equal, greater, multiply, op, rank, subtract, vjp, where


def apart(a, b):
    """Each row of a less each row of b."""
    return subtract(with_axis(a, rank(a) - 1), with_axis(b, rank(b) - 2))


@aten("_cdist_forward")
def cdist(c, a, b, p, compute_mode):
    return norm_of(apart(a, b), p, [-1], False)


def slope(g, difference, distance, p):
    """The gradient of distances in each difference; 0 where there is no distance."""
    sign = op("sign", difference)
    if p == 0:
        return multiply(difference, 0.0)
    if p == 1:
        return multiply(g, sign)
    far = absolute(difference)
    if p == math.inf:
        return multiply(multiply(g, sign), where(equal(far, distance), 1.0, 0.0))
    none = equal(distance, 0)
    if p < 1:
        none = op("logical_or", none, equal(difference, 0))
    share = divide(far, where(none, 1.0, distance))
    power = share if p == 2 else computed("power", where(none, 1.0, share), p - 1.0)
    return where(none, 0.0, multiply(multiply(g, sign), power))


@aten("_cdist_backward")
def cdist_backward(c, g, a, b, p, distance):
    made = slope(with_axis(g, rank(g)), apart(a, b), with_axis(distance, rank(distance)), p)
    return reshape(total(made, [-2]), c.shape)


def pairs(c, x):
    """Each row of x less each one after it."""
    first, second = (c.constant(places, "int32") for places in np.triu_indices(x.shape[0], 1))
    return subtract(rows(x, first), rows(x, second))


@aten("_pdist_forward")
def pdist(c, x, p=2.0):
    return norm_of(pairs(c, x), p, [-1], False)


@aten("_pdist_backward")
def pdist_backward(c, g, x, p, distance):
    made = slope(with_axis(g, 1), pairs(c, x), with_axis(distance, 1), p)
    return vjp(lambda v: pairs(c, v), [x], made)[0]


@aten("dist")
def dist(c, a, b, p=2):
    return norm_of(subtract(a, b), p, None, False)


@aten("renorm")
def renorm(c, x, p, dim, maxnorm):
    """Parts along the axis whose norm is too large, shrunk to it."""
    axis = axis_of(dim, rank(x))
    length = norm_of(x, p, [i for i in range(rank(x)) if i != axis], True)
    return multiply(x, where(greater(length, maxnorm), divide(maxnorm, add(length, 1e-7)), 1.0))
