"""Ranges of numbers to highlight in an array."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.numbers import widened
from tb_debugger_plugin.shell.array_lines import Criterion

Array = npt.NDArray[Any]

_NUMBER: Final = r"\s*([-+]?(?:inf|nan|\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?))\s*"
_RANGE: Final = re.compile(rf"\s*[\[(]{_NUMBER},{_NUMBER}[\])]\s*", re.IGNORECASE)


def criterion_of(ranges: str) -> Criterion:
    """Return what says which elements are in some ranges, with both ends.

    Args:
      ranges: Such as ``[-inf, 0]`` or ``[[-1, 0], [3, 4]]``.

    Raises:
      UsageError: It is none of these; or, later, the elements are no real numbers.
    """
    bounds = _bounds(ranges)

    def chosen(values: Array) -> npt.NDArray[np.bool_]:
        numbers = widened(values)
        if numbers.dtype.kind not in "fiub":
            raise UsageError("-r highlights numbers; the elements of this tensor are none, or complex.")
        found = np.zeros(numbers.shape, bool)
        for low, high in bounds:
            found |= (numbers >= low) & (numbers <= high)
        return found

    return chosen


def _bounds(text: str) -> list[tuple[float, float]]:
    inner = text.strip()
    if re.match(r"[\[(]\s*[\[(]", inner):
        inner = inner[1:-1]
    bounds, at = [], 0
    while match := _RANGE.match(inner, at):
        bounds.append((float(match[1]), float(match[2])))
        at = match.end()
        if inner[at : at + 1] == ",":
            at += 1
    if not bounds or at != len(inner):
        raise UsageError(f'-r {text}: write a range such as "[-inf, 0]", or several as "[[-1, 0], [3, 4]]".')
    return bounds
