# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of models and histories: a table, and curves as SVG."""
from __future__ import annotations

from html import escape
from typing import Any

_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf")


def model_html(model: Any) -> Any:
    """The layers with their shapes and parameters, as a table."""
    if model._layer is None or not model._layer.built:
        return f"<p><b>{escape(model.name)}</b>: it is built when it sees its first data.</p>"
    rows = []
    for layer in model.layers:
        try:
            shapes = ", ".join(str(tuple(shape)) for shape in model._layer.output_shapes(layer._layer))
        except Exception:  # An input is not a call of a layer.
            shapes = ""
        rows.append(f"<tr><td>{escape(layer.name)}</td><td>{escape(layer._layer.kind)}</td><td>{escape(shapes)}</td>"
                    f"<td style='text-align:right'>{layer.count_params():,}</td></tr>")
    return (f"<p><b>{escape(model.name)}</b>: {model.count_params():,} parameters</p><table><tr><th>layer</th>"
            f"<th>class</th><th>output</th><th>parameters</th></tr>{''.join(rows)}</table>")


def history_html(history: Any) -> Any:
    """The curves of losses and metrics, those of validation dashed."""
    groups = {}
    for name, values in history.history.items():
        groups.setdefault(name.removeprefix("val_"), []).append((name, values))
    charts = "".join(_chart(name, curves) for name, curves in groups.items())
    return f"<div style='display:flex;flex-wrap:wrap;gap:1em'>{charts}</div>"


def _chart(title, curves, width=320, height=180):
    values = [value for _, curve in curves for value in curve if value == value]
    if not values:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    lines = []
    for index, (name, curve) in enumerate(curves):
        step = (width - 60) / max(1, len(curve) - 1)
        points = " ".join(f"{50 + i * step:.1f},{20 + (high - value) / span * (height - 50):.1f}"
                          for i, value in enumerate(curve) if value == value)
        dashes = " stroke-dasharray='5 3'" if name.startswith("val_") else ""
        marker = f"<circle cx='{points.split(',')[0]}' cy='{points.split(',')[1]}' r='2'/>" if len(curve) == 1 else ""
        lines.append(f"<g stroke='{_COLORS[index]}' fill='none'{dashes}><polyline points='{points}'/>{marker}</g>"
                     f"<text x='{60 + 110 * index}' y='{height - 5}' font-size='10' fill='{_COLORS[index]}'>"
                     f"{escape(name)}</text>")
    return (f"<svg width='{width}' height='{height}' font-family='sans-serif'>"
            f"<text x='50' y='12' font-size='12'>{escape(title)}</text>"
            f"<text x='2' y='25' font-size='10'>{high:.4g}</text>"
            f"<text x='2' y='{height - 30}' font-size='10'>{low:.4g}</text>{''.join(lines)}</svg>")
