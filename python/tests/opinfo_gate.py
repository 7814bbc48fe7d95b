# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own database of operators, with samples of their arguments, through trace and table: does a program compute what
eager PyTorch computes? `opinfo_gate.py --write` writes the table of verdicts for the PyTorch that runs it, or the rows of the
variants that are named."""
import csv
import itertools
import os
import pathlib
import sys
import types
import warnings

import torch
from torch.utils import _pytree as pytree

import traced_programs
from pando.torch.unsupported import Unsupported

# Samples of one variant, spread over the first that PyTorch makes of it.
SAMPLES, LOOKED_AT = int(os.environ.get("PANDO_OPINFO_SAMPLES", 2)), 24
COLUMNS = ("float32", "gradients", "int64", "bool")
# From bad to good. A variant without samples of the type, or that PyTorch itself refuses, has no verdict.
VERDICTS = ("wrong", "eager", "partly", "equal")

# Only types and shapes of these are compared, and this is why.
_DRAWN = "it draws numbers, and Pando's are not PyTorch's"
_UNWRITTEN = "what is in new memory is not promised"
NO_FIXED_VALUES = {
    **dict.fromkeys((
        "bernoulli", "multinomial", "native_dropout_backward", "normal", "normal.in_place", "normal.number_mean", "rand",
        "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform", "nn.functional.alpha_dropout",
        "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
        "nn.functional.feature_alpha_dropout.with_train", "nn.functional.fractional_max_pool2d",
        "nn.functional.fractional_max_pool3d", "nn.functional.multi_head_attention_forward", "nn.functional.rrelu",
        "nn.functional._scaled_dot_product_attention", "nn.functional.scaled_dot_product_attention"), _DRAWN),
    **dict.fromkeys(("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"), _UNWRITTEN),
    "as_strided_scatter": "its gradient in PyTorch 1.13 is partly new memory"}
# These take minutes to trace.
TOO_LONG = {}


def database():
    """Each variant of an operator, by its name."""
    try:
        import expecttest  # noqa: F401
    except ImportError:    # the database imports PyTorch's test classes, which want it and do not need it here
        stub = types.ModuleType("expecttest")
        stub.TestCase, stub.ACCEPT = type("TestCase", (__import__("unittest").TestCase,), {}), False
        stub.assert_expected_inline = None
        sys.modules["expecttest"] = stub
    from torch.testing._internal.common_methods_invocations import op_db
    return {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}


def table_path():
    version = ".".join(torch.__version__.split(".")[:2])
    return pathlib.Path(__file__).parent / "upstream" / f"opinfo-{version}.csv"


def read_table():
    with table_path().open(newline="") as file:
        return {row["variant"]: row for row in csv.DictReader(file)}


def write_table(rows):
    with table_path().open("w", newline="") as file:
        writer = csv.DictWriter(file, ["variant", *COLUMNS], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())


# ---- one sample
class Sample:
    """A call of an operator as a function of its tensors."""

    def __init__(self, op, sample):
        self.op = op
        self.flat, self.spec = pytree.tree_flatten((sample.input, tuple(sample.args), dict(sample.kwargs)))
        self.where = [i for i, x in enumerate(self.flat) if isinstance(x, torch.Tensor)]
        self.tensors = [self.flat[i].detach().clone() for i in self.where]

    def forward(self, *tensors):
        flat = list(self.flat)
        for i, tensor in zip(self.where, tensors):
            flat[i] = tensor
        first, args, kwargs = pytree.tree_unflatten(flat, self.spec)
        return pytree.tree_flatten(self.op.op(first, *args, **kwargs))[0]

    def joint(self, tensors, cotangents):
        """The results and the gradients of those that have some, in tensors of floats."""
        made = self.forward(*tensors)
        outputs = [x for x in made if isinstance(x, torch.Tensor) and x.requires_grad]
        inputs = [x for x in tensors if x.requires_grad]
        found = torch.autograd.grad(outputs, inputs, cotangents, allow_unused=True)
        return [x.detach() if isinstance(x, torch.Tensor) else x for x in made] + list(found)

    def for_gradients(self):
        """Tensors that want gradients, and cotangents; None where PyTorch has no gradients."""
        tensors = [x.clone().requires_grad_(x.is_floating_point()) for x in self.tensors]
        outputs = [x for x in self.forward(*tensors) if isinstance(x, torch.Tensor) and x.requires_grad]
        if not outputs:
            return None
        generator = torch.Generator().manual_seed(3)
        return tensors, [torch.randn(x.shape, generator=generator).to(x.dtype) for x in outputs]


def difference(got, want, values, relative=2e-4, absolute=2e-5):
    """What differs, in words; None if nothing does."""
    if len(got) != len(want):
        return f"{len(got)} results and not {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        if (a is None) != (b is None):
            return f"result {i} is {'missing' if a is None else 'there'}"
        if a is None:
            continue
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"result {i} is {a.dtype}{list(a.shape)} and not {b.dtype}{list(b.shape)}"
        if values and not (torch.allclose(a, b, rtol=relative, atol=absolute, equal_nan=True) if a.is_floating_point()
                           else torch.equal(a, b)):
            return f"result {i} differs by {(a.double() - b.double()).abs().nan_to_num(posinf=1e9).max().item():.3g}"
    return None


def verdict_of(function, arguments, values):
    """The verdict on one call and why."""
    copies = pytree.tree_map(lambda x: x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x,
                             arguments)
    want = function(*copies)
    tensors = traced_programs.tensors_in(arguments)
    if not all(x is None or isinstance(x, torch.Tensor) for x in want) or not tensors:
        return "eager", "its results or arguments are no tensors"
    try:
        got, _ = traced_programs.run(function, *arguments)
    except Unsupported as error:
        return "eager", str(error)
    why = difference(got, detached(want), values)
    if why and values and difference(as_double(got), detached(function(*as_double(arguments))), values, 1e-3, 1e-4) is None:
        why = None    # what PyTorch computes in float64, so the difference is rounding
    return ("wrong", why) if why else ("equal", "")


def detached(tensors):
    return [None if x is None else x.detach() for x in tensors]


def as_double(values):
    """The same with float64 in place of float32."""
    return pytree.tree_map(lambda x: x.detach().double().requires_grad_(x.requires_grad)
                           if isinstance(x, torch.Tensor) and x.dtype == torch.float32 else x, values)


# ---- one variant
def samples_of(op, dtype):
    if dtype not in op.supported_dtypes("cpu"):
        return []
    torch.manual_seed(0)
    try:
        made = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), LOOKED_AT))
    except Exception:    # PyTorch cannot make samples of this type here, for want of a library for instance
        return []
    count = min(SAMPLES, len(made))
    return [Sample(op, made[i * (len(made) - 1) // max(count - 1, 1)]) for i in range(count)]


def combined(verdicts):
    """One verdict of those on all samples."""
    found = {verdict for verdict, _ in verdicts}
    if not found:
        return ""
    if "wrong" in found:
        return "wrong"
    return found.pop() if len(found) == 1 else "partly"


def tried(verdicts, sample, function, arguments, values):
    """Adds the verdict on a call, unless PyTorch itself refuses it."""
    try:
        verdicts.append(verdict_of(function, arguments, values))
    except Exception as error:
        try:
            function(*arguments)
        except Exception:
            return
        verdicts.append(("wrong", f"{type(error).__name__}: {error}"))


def judged(name, op):
    """The row of the table for a variant, and reasons."""
    row, reasons = {"variant": name}, {}
    values = name not in NO_FIXED_VALUES
    for column in COLUMNS:
        dtype = getattr(torch, column, torch.float32)
        verdicts = []
        if column == "gradients" and not op.supports_autograd:
            row[column] = ""
            continue
        for sample in samples_of(op, dtype):
            try:
                arguments = sample.for_gradients() if column == "gradients" else sample.tensors
            except Exception:    # PyTorch refuses it
                continue
            if column == "gradients":
                if arguments is not None:
                    tried(verdicts, sample, sample.joint, arguments, values)
            else:
                tried(verdicts, sample, sample.forward, arguments, values)
        row[column] = combined(verdicts)
        reasons[column] = [why for _, why in verdicts if why]
    return row, reasons


def main():
    warnings.filterwarnings("ignore")
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    rows = []
    for name, op in database().items():
        if name in TOO_LONG or (names and name not in names):
            continue
        row, reasons = judged(name, op)
        rows.append(row)
        print(*row.values(), {k: v for k, v in reasons.items() if v}, sep=" | ", flush=True)
    if "--write" in sys.argv:
        write_table({**(read_table() if names else {}), **{row["variant"]: row for row in rows}})


if __name__ == "__main__":
    main()
