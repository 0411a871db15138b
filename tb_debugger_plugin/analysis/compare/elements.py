"""Compares the elements of tensors that both runs hold whole."""

from __future__ import annotations

import math
from typing import Final, TypedDict

import numpy as np

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.values.recorded_value import RecordedValue, find_value
from tb_debugger_plugin.errors import DebuggerError
from tb_debugger_plugin.events.numbers import Array

#: Elements that are in memory at once, and of a tensor that is compared at all.
_CHUNK: Final = 1 << 18
_LARGEST: Final = 1 << 24


class ElementDifferenceJson(TypedDict):
    """How far the elements of two tensors are apart."""

    size: int  #: number of elements
    num_different: int  #: how many differ at all
    max_absolute: float | None  #: the largest difference; null when one of the two is not finite there
    max_relative: float | None  #: the same as part of the largest element


def recorded(snapshot: Snapshot, index: int, slot: int, *, eager: bool) -> RecordedValue:
    """Return a value by its position."""
    if eager:
        return find_value(snapshot, execution=index, slot=slot)
    return find_value(snapshot, graph_execution=index)


def element_difference(first: RecordedValue, second: RecordedValue) -> ElementDifferenceJson | None:
    """Compare the elements; None when one of the runs does not hold them, or they are no numbers."""
    if not first.is_kept or not second.is_kept:
        return None
    try:
        with first.elements() as a, second.elements() as b:
            size = math.prod(a.shape)
            if a.shape != b.shape or size > _LARGEST or a.kind.kind in "OSU" or b.kind.kind in "OSU":
                return None
            chunks = [
                _chunk(a.read(begin, min(size, begin + _CHUNK)), b.read(begin, min(size, begin + _CHUNK)))
                for begin in range(0, size, _CHUNK)
            ]
    except DebuggerError:  # cut off or damaged: the summaries still say what they say
        return None
    different = sum(count for count, _, _ in chunks)
    largest = max((apart for _, apart, _ in chunks), default=0.0)
    scale = max((size for _, _, size in chunks), default=0.0)
    is_known = math.isfinite(largest)
    return {
        "size": size,
        "num_different": different,
        "max_absolute": largest if is_known else None,
        "max_relative": (largest / scale if scale else 0.0) if is_known else None,
    }


def _chunk(a: Array, b: Array) -> tuple[int, float, float]:
    """Return the number of different elements, the largest difference, and the largest finite element."""
    kind = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    first, second = a.astype(kind), b.astype(kind)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where(same, 0.0, np.abs(first - second))
    sizes = np.fmax(np.abs(first), np.abs(second))
    finite = sizes[np.isfinite(sizes)]
    return int((~same).sum()), _largest(apart), float(finite.max()) if len(finite) else 0.0


def _largest(apart: Array) -> float:
    return float(np.where(np.isnan(apart), np.inf, apart).max()) if len(apart) else 0.0
