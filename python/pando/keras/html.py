# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of models and histories: a table, and curves as SVG.

Text, axes and grid have the colour of the text around them, so that they are readable on light and on dark pages.
"""
from __future__ import annotations

import math
from html import escape
from typing import Any

# Readable on white and on black.
_COLORS = ("#3a86d8", "#e0722e", "#3a9e5c", "#a06cd5", "#c9992b", "#2aa5b5")
_LEFT = "style='text-align:left'"


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
        rows.append(f"<tr><td {_LEFT}>{escape(layer.name)}</td><td {_LEFT}>{escape(layer._layer.kind)}</td>"
                    f"<td {_LEFT}>{escape(shapes)}</td><td style='text-align:right'>{layer.count_params():,}</td></tr>")
    return (f"<p><b>{escape(model.name)}</b>: {model.count_params():,} parameters</p><table><tr>"
            f"<th {_LEFT}>layer</th><th {_LEFT}>class</th><th {_LEFT}>output</th><th>parameters</th></tr>{''.join(rows)}</table>")


def history_html(history: Any) -> Any:
    """The curves of losses and metrics, those of validation dashed."""
    groups = {}
    for name, values in history.history.items():
        groups.setdefault(name.removeprefix("val_"), []).append((name, values))
    charts = "".join(_chart(name, curves) for name, curves in groups.items())
    return f"<div style='display:flex;flex-wrap:wrap;gap:1em'>{charts}</div>"


class _Frame:
    """Where values of a curve lie in a picture, with round numbers on its axes."""
    width, height, left, right, top, bottom = 360, 230, 52, 14, 34, 34

    def __init__(self, low: float, high: float, epochs: int) -> None:
        span = (high - low) or abs(high) or 1.0
        self.step = _round_step(span / 4)
        self.low, self.high = math.floor(low / self.step) * self.step, math.ceil(high / self.step) * self.step
        if self.high == self.low:
            self.high += self.step
        self.epochs = epochs

    def x(self, epoch: int) -> float:
        """Of an epoch, from 0 on."""
        inner = self.width - self.left - self.right
        return self.left + (inner * epoch / (self.epochs - 1) if self.epochs > 1 else inner / 2)

    def y(self, value: float) -> float:
        """Of a value."""
        inner = self.height - self.top - self.bottom
        return self.top + inner * (self.high - value) / (self.high - self.low)

    def axes(self) -> str:
        """Lines across at round values, and numbers of epochs below."""
        parts, digits = [], max(0, -math.floor(math.log10(self.step)))
        for i in range(round((self.high - self.low) / self.step) + 1):
            value = self.low + i * self.step
            y = self.y(value)
            parts.append(f"<line x1='{self.left}' x2='{self.width - self.right}' y1='{y:.1f}' y2='{y:.1f}' "
                         f"stroke='currentColor' stroke-opacity='0.2'/><text x='{self.left - 6}' y='{y + 3.5:.1f}' "
                         f"text-anchor='end' opacity='0.8'>{value:.{digits}f}</text>")
        every = max(1, math.ceil(self.epochs / 8))
        for epoch in range(0, self.epochs, every):
            parts.append(f"<text x='{self.x(epoch):.1f}' y='{self.height - self.bottom + 15}' text-anchor='middle' "
                         f"opacity='0.8'>{epoch + 1}</text>")
        middle = (self.left + self.width - self.right) / 2
        parts.append(f"<text x='{middle}' y='{self.height - 4}' text-anchor='middle' opacity='0.8'>epoch</text>")
        return "".join(parts)


def _round_step(step):
    """The next number of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * 0.999)


def _chart(title, curves):
    values = [value for _, curve in curves for value in curve if math.isfinite(value)]
    if not values:
        return ""
    frame = _Frame(min(values), max(values), max(len(curve) for _, curve in curves))
    parts, end = [], frame.width - frame.right
    for index, (name, curve) in reversed(list(enumerate(curves))):
        color = _COLORS[index % len(_COLORS)]
        dashes = " stroke-dasharray='5 3'" if name.startswith("val_") else ""
        points = [(frame.x(i), frame.y(value)) for i, value in enumerate(curve) if math.isfinite(value)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f"<polyline points='{line}' fill='none' stroke='{color}' stroke-width='2'{dashes}/>")
        if len(points) <= 20:
            parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.5' fill='{color}'/>" for x, y in points]
        # From the right to the left, above the picture.
        parts.append(f"<text x='{end}' y='14' text-anchor='end' fill='{color}'>{escape(name)}</text>"
                     f"<line x1='{end - 7 * len(name) - 24}' x2='{end - 7 * len(name) - 6}' y1='10' y2='10' "
                     f"stroke='{color}' stroke-width='2'{dashes}/>")
        end -= 7 * len(name) + 36
    return (f"<svg viewBox='0 0 {frame.width} {frame.height}' width='{frame.width}' height='{frame.height}' role='img' "
            f"aria-label='{escape(title)} by epoch' font-family='sans-serif' font-size='11' fill='currentColor'>"
            f"<text x='{frame.left}' y='14' font-size='13' font-weight='bold'>{escape(title)}</text>"
            f"{frame.axes()}{''.join(parts)}</svg>")
