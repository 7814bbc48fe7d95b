# SPDX-License-Identifier: Apache-2.0
"""Values that PyTorch's database of operators does not try: the ends of integer types, NaN, infinities, zeros and ties."""
import itertools
import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: apt install python3-torch)")

import traced_programs  # noqa: E402, it imports torch

pytestmark = pytest.mark.filterwarnings("ignore")

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, -0.3, 2.5, 3.5, -2.5, 1e9, -1e-30, 3e38, math.inf, -math.inf, math.nan]
ENDS = {torch.int64: [0, 1, -1, 2, -3, 7, 2**62, 2**53 + 1, -2**63, 2**63 - 1],
        torch.int32: [0, 1, -1, 2, -3, 7, 2**30, 2**24 + 1, -2**31, 2**31 - 1],
        torch.uint8: [0, 1, 2, 7, 100, 200, 255]}


def pairs(values, dtype, without=()):
    """All pairs of the values, but for those whose second one is left out."""
    made = list(itertools.product(values, [v for v in values if v not in without]))
    return [torch.tensor(column, dtype=dtype) for column in zip(*made)]


def check(function, *tensors):
    """The program computes the very same, or float32 rounded otherwise."""
    got, _ = traced_programs.run(lambda *x: [function(*x)], *tensors)
    torch.testing.assert_close(got[0], function(*tensors), rtol=1e-6, atol=1e-37, equal_nan=True)    # subnormals are 0


def named(*functions):
    return pytest.mark.parametrize("function", functions, ids=lambda f: getattr(f, "__name__", str(f)))


def floor_division(x, y):
    return torch.div(x, y, rounding_mode="floor")


def truncated_division(x, y):
    return torch.div(x, y, rounding_mode="trunc")


BINARY = (torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.eq, torch.lt, torch.ge, torch.logical_and,
          torch.logical_xor)
DIVISIONS = (torch.remainder, torch.fmod, floor_division, truncated_division)


@named(*BINARY, torch.div, torch.fmax, torch.fmin, torch.pow, torch.xlogy)
def test_pairs_of_floats(function):
    check(function, *pairs(FLOATS, torch.float32))


@named(*DIVISIONS)
def test_whole_quotients_of_floats(function):
    """PyTorch itself gives NaN where a quotient is beyond float32."""
    check(function, *pairs([x for x in FLOATS if x not in (1e9, -1e-30, 3e38)], torch.float32))


@named(*BINARY, torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor)
@pytest.mark.parametrize("dtype", ENDS, ids=str)
def test_pairs_of_integers(function, dtype):
    check(function, *pairs(ENDS[dtype], dtype))


@named(*DIVISIONS)
@pytest.mark.parametrize("dtype", ENDS, ids=str)
def test_quotients_of_integers(function, dtype):
    check(function, *pairs(ENDS[dtype], dtype, without=(0, -1)))    # these stop PyTorch


@named(*BINARY[:4], torch.eq, torch.logical_or, torch.bitwise_and)
def test_pairs_of_truth_values(function):
    if function is torch.sub:
        pytest.skip("PyTorch refuses it")
    check(function, *pairs([True, False], torch.bool))


@named(torch.neg, torch.abs, torch.sign, torch.square, torch.bitwise_not, torch.logical_not, torch.isnan)
@pytest.mark.parametrize("dtype", ENDS, ids=str)
def test_integers(function, dtype):
    check(function, torch.tensor(ENDS[dtype], dtype=dtype))


@named(torch.neg, torch.abs, torch.sign, torch.floor, torch.ceil, torch.trunc, torch.round, torch.isnan, torch.isinf,
       torch.isfinite, torch.sqrt, torch.exp, torch.log, torch.expm1, torch.sinh, torch.cosh, torch.asinh,
       torch.acosh, torch.atanh, torch.sigmoid, torch.relu, torch.nan_to_num, torch.logical_not, torch.reciprocal,
       torch.nn.functional.softplus, torch.nn.functional.hardtanh)
def test_floats(function):
    check(function, torch.tensor([*FLOATS, 1e-6, -1e-6, 80.0, -80.0, 0.75]))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 62])
def test_powers_of_integers_wrap(exponent):
    check(lambda x: x ** exponent, torch.tensor(ENDS[torch.int64]))


@pytest.mark.parametrize("exponent", [0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, 2.5, -7.0])
def test_powers_of_floats(exponent):
    check(lambda x: x ** exponent, torch.tensor(FLOATS))


@pytest.mark.parametrize("to", [torch.int64, torch.int32, torch.uint8, torch.bool, torch.float32], ids=str)
@pytest.mark.parametrize("dtype", [*ENDS, torch.bool], ids=str)
def test_casts_of_integers(dtype, to):
    check(lambda x: x.to(to), torch.tensor(ENDS.get(dtype, [True, False]), dtype=dtype))


@pytest.mark.parametrize("to", [torch.int64, torch.int32, torch.uint8, torch.bool], ids=str)
def test_casts_of_floats(to):
    """Numbers that the type has; C does not say what becomes of others."""
    check(lambda x: x.to(to), torch.tensor([0.0, 0.9, 1.5, 2.5, 200.7, 255.0]))


@named(torch.sum, torch.prod, torch.amax, torch.amin, torch.argmax, torch.argmin, torch.any, torch.all, torch.count_nonzero)
@pytest.mark.parametrize("dtype", ENDS, ids=str)
def test_reductions_of_integers(function, dtype):
    check(function, torch.tensor(ENDS[dtype], dtype=dtype))


@named(torch.amax, torch.amin, torch.argmax, torch.argmin, torch.any)
@pytest.mark.parametrize("values", [[1.0, 3.0, 3.0, -2.0, -2.0], [1.0, math.nan, 5.0, math.nan], [-math.inf, -math.inf]], ids=str)
def test_reductions_of_ties_and_nan(function, values):
    check(function, torch.tensor(values))


@pytest.mark.parametrize("limits", [(-1, 2), (None, 0.5), (0.5, None), (3, 1)], ids=str)
def test_clamp(limits):
    check(lambda x: x.clamp(*limits), torch.tensor(FLOATS))


def test_results_of_mixed_types():
    x, y = torch.arange(4), torch.tensor([0.5, 1.5, 2.5, 3.5])
    for function in (lambda x, y: x + y, lambda x, y: x * 2.5, lambda x, y: x > 1.5, lambda x, y: torch.where(x > 1, x, y),
                     lambda x, y: x / 2, lambda x, y: (x > 1) + x, lambda x, y: (x > 1) * y, lambda x, y: x.byte() - 2):
        check(function, x, y)
