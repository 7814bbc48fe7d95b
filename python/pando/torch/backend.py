# SPDX-License-Identifier: Apache-2.0
"""``torch.compile(model, backend="pando")``, for PyTorch 2.4 and newer: what programs can compute of the graphs that PyTorch
finds in a model becomes programs, and the other ops stay in PyTorch. ``compile_step`` is faster where it serves, as it has
forward pass, backward pass and update in one program."""
from __future__ import annotations

import collections
import contextlib
import functools
import re
import warnings
import weakref
from typing import Any, Callable, Sequence

import torch

if torch.__version__ < "2.4":
    raise ImportError(f"pando.torch.backend needs PyTorch 2.4 or newer, and this is {torch.__version__}; "
                      "pando.torch.compile_step works with it")

import torch._functorch.config  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch.fx import GraphModule, Node  # noqa: E402
from torch.utils._python_dispatch import _disable_current_modes  # noqa: E402

import pando.torch.joint as joint  # noqa: E402
import pando.torch.tracing as tracing  # noqa: E402
from pando.torch.fixed_sizes import fix_sizes, keep_layouts, put_numbers  # noqa: E402
from pando.torch.partition import PREFIX, device_of, divide  # noqa: E402
from pando.torch.parts import Part, Record  # noqa: E402

FORWARD, BACKWARD, INFERENCE = "forward pass", "backward pass", "forward pass without gradients"
PRECISIONS = ("float32", "mixed_bfloat16", "tf32")
# The compiled graphs keep them.
_records: list[weakref.ref[Record]] = []
_told: list[bool] = []


def pando(module: GraphModule, examples: Sequence[Any], *, options: dict[str, Any] | None = None) -> Callable[..., Any]:
    """What torch.compile calls with each graph. The option ``precision`` is that of ``compile_step``."""
    precision = _precision(**(options or {}))
    fix_sizes(examples)
    compiler = _Compiler(precision)
    with tracing.unfused(), _kept_buffers():
        return aot_autograd(fw_compiler=functools.partial(compiler.compile, FORWARD),
                            bw_compiler=functools.partial(compiler.compile, BACKWARD),
                            inference_compiler=functools.partial(compiler.compile, INFERENCE),
                            partition_fn=compiler.cut, decompositions=tracing.decompositions())(module, examples)


def report() -> str:
    """What became of the graphs: programs, and ops that PyTorch runs, with the reasons and the lines of the model."""
    lines = [line for record in records() for line in record.description()]
    return "\n".join(lines) or 'no graph yet: call a model of torch.compile(model, backend="pando")'


def records() -> list[Record]:
    """The same as data, for each graph that has not gone with its model."""
    _records[:] = [reference for reference in _records if reference() is not None]
    return [record for record in (reference() for reference in _records) if record is not None]


def reset() -> None:
    """Forgets the graphs; torch._dynamo.reset() calls it."""
    _records.clear()
    _told.clear()


pando.reset = reset


class _Compiler:
    """Compiles the graphs that AOTAutograd makes of one of Dynamo's."""

    def __init__(self, precision: str) -> None:
        self._precision = precision
        self._outputs: int | None = None

    def cut(self, graph: GraphModule, inputs: Any, *, num_fwd_outputs: int, **options: Any) -> tuple[GraphModule, GraphModule]:
        """The forward pass and the backward pass of a graph of both."""
        self._outputs = num_fwd_outputs
        return joint.cut(graph, inputs, num_fwd_outputs=num_fwd_outputs, **options)

    def compile(self, kind: str, module: GraphModule, examples: Sequence[Any]) -> Callable[[list[Any]], Any]:
        """What runs the graph, from a list of its inputs."""
        with _disable_current_modes():    # those of tensors that are fake
            put_numbers(module)
            for node in module.graph.nodes:
                node.meta["line"] = _line(node)
            record = Record(kind, next(filter(None, [node.meta["line"] for node in module.graph.nodes]), ""), [],
                            collections.Counter())
            if kind == INFERENCE:
                joint.rewrite(module.graph)
            device = device_of(module)
            divide(module)
            for node in module.graph.nodes:
                if node.op == "call_module" and node.target.startswith(PREFIX):
                    record.parts.append(Part(module.get_submodule(node.target), device, self._precision))
                    setattr(module, node.target, record.parts[-1])
                elif "stays" in node.meta and node.target is not torch.ops.pando.random_key.default:
                    record.stays[node.meta["stays"]] += 1
            keep_layouts(module, {FORWARD: self._outputs, BACKWARD: 0}.get(kind))
            module.recompile()
        _records.append(weakref.ref(record))
        return _boxed(module, record)


def _boxed(module: GraphModule, record: Record) -> Callable[[list[Any]], Any]:
    """A function of a list, which it empties: tensors go as soon as they are used."""
    def run(inputs: list[Any]) -> Any:
        fed = list(inputs)
        inputs.clear()
        outputs = module.forward(*fed)
        if not _told:
            _tell(record)
        return outputs

    run._boxed_call = True
    return run


def _tell(record: Record) -> None:
    """Says once if nothing at all has been compiled, after PyTorch has run it: an error of the model itself comes first."""
    reasons = [part.reason for part in record.parts if part.reason] + list(record.stays)
    if not reasons or any(not part.reason for one in records() for part in one.parts):
        return
    _told.append(True)
    warnings.warn(f'torch.compile(backend="pando"): PyTorch runs all of the {record.kind}{record.line and f" of {record.line}"}, '
                  f"and nothing is compiled: {reasons[0]}; pando.torch.backend.report() tells of every op", stacklevel=2)


def _line(node: Node) -> str:
    """The innermost line that a node comes from and that is not PyTorch's."""
    lines = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    return next((f"{path}, line {number}" for path, number in reversed(lines) if not path.startswith(tracing.OWN_FILES)), "")


def _precision(precision: str = "float32") -> str:
    if precision not in PRECISIONS:
        raise ValueError(f'torch.compile(backend="pando"): the option precision is {precision!r} but must be one of '
                         f"{', '.join(PRECISIONS)}")
    return precision


def _kept_buffers() -> contextlib.AbstractContextManager[Any]:
    """Without it, backward(retain_graph=True) is an error, as if programs wrote over what the forward pass has saved."""
    config = torch._functorch.config
    return config.patch(donated_buffer=False) if hasattr(config, "donated_buffer") else contextlib.nullcontext()
