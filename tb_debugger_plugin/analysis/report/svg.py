"""Draws the history of a tensor as a small SVG: its largest magnitude, and where it is bad.

Takes a history. Returns markup that holds numbers only.
"""

from __future__ import annotations

import math
from typing import Final

from tb_debugger_plugin.analysis.report.facts import History, Point

_WIDTH: Final = 320
_HEIGHT: Final = 48


def drawing(history: History) -> str:
    """Return the SVG of a history: a bar where it is bad, a line for its largest magnitude.

    Args:
      history: The history.
    """
    step = _WIDTH / max(1, len(history.points))
    bars = "".join(
        f'<rect class="bar" x="{i * step:.1f}" y="{_HEIGHT - height:.1f}" width="{max(step, 1):.1f}"'
        f' height="{height:.1f}"/>'
        for i, height in enumerate(_heights(history.points))
        if height > 0
    )
    line = _line(history.points, step)
    path = f'<polyline class="line" points="{line}"/>' if line else ""
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="History">{bars}{path}</svg>'


def _heights(points: list[Point]) -> list[float]:
    """Return the height of each bar: in proportion to the number of bad elements where they were counted."""
    most = max((point.bad or 0 for point in points), default=0)
    shares = [(point.bad or most) / most if most else 1.0 for point in points]
    return [_HEIGHT * max(0.2, share) * point.is_bad for share, point in zip(shares, points, strict=True)]


def _line(points: list[Point], step: float) -> str:
    """Return the corners of the line, on a logarithmic scale."""
    known = [(i, math.log10(point.largest)) for i, point in enumerate(points) if point.largest]
    if len(known) < 2:
        return ""
    low, high = min(y for _, y in known), max(y for _, y in known)
    span = max(high - low, 1.0)
    return " ".join(
        f"{(i + 0.5) * step:.1f},{_HEIGHT - 2 - (y - low) / span * (_HEIGHT - 4):.1f}" for i, y in known
    )
