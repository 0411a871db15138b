"""The numeric summary of a tensor as lines: counts of kinds of elements, and moments of the finite ones.

Takes an array, or the numbers that are on record. Kinds without elements are left out, as in tfdbg.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.events.numbers import Array, count_values, widened
from tb_debugger_plugin.shell.screen import Line, Part, Style, plain

#: The column of each kind, in tfdbg's words and order.
_KINDS: Final = (
    ("nan", "nan"),
    ("-inf", "neg_inf"),
    ("-", "negative"),
    ("0", "zero"),
    ("+", "positive"),
    ("+inf", "pos_inf"),
)
_BAD: Final = ("nan", "-inf", "+inf")
_MOMENTS: Final = ("min", "max", "mean", "std")
_NONE: Final = "No numeric summary: "


class _Cell(NamedTuple):
    head: str
    text: str


def of_array(array: Array) -> list[Line]:
    """Return the summary of an array.

    Args:
      array: The array; complex numbers are summarised by magnitude, and counted by the sign of the real part.
    """
    if not array.size:
        return [plain(f"{_NONE}the tensor is empty.")]
    values = widened(array)
    if values.dtype.kind not in "fiucb":
        return [plain(f"{_NONE}the elements are no numbers.")]
    counts = count_values(values)
    if values.dtype.kind == "b":
        return _counted(_of_bool(counts), values.size)
    lines = _counted(_of_kinds(counts), values.size)
    moments = _moments(values)
    return [*lines, *_table([moments])] if moments else lines


def of_record(summary: Json | None) -> list[Line]:
    """Return the summary that is on record, as far as it was measured.

    Args:
      summary: As :attr:`Value.summary <tb_debugger_plugin.reading.value.Value.summary>`.
    """
    if summary is None:
        return [plain(f"{_NONE}nothing is on record.")]
    measured = {column: summary[column] for _, column in _KINDS if summary[column] is not None}
    if not measured:
        if summary["bad"] is None:
            return [plain(f"{_NONE}nothing was measured.")]
        what = "has NaN or infinities" if summary["bad"] else "has no NaN and no infinities"
        return [plain(f"The tensor {what}.")]
    counts = {**{column: 0 for _, column in _KINDS}, **measured}
    if summary["dtype"] == "bool":
        return _counted(_of_bool(counts), summary["size"])
    lines = _counted(_of_kinds(counts), summary["size"])
    moments = _recorded_moments(summary)
    return [*lines, *_table([moments])] if moments else lines


def _recorded_moments(summary: Json) -> list[_Cell]:
    values = {name: summary[name] for name in ("min", "max", "mean")}
    if None in values.values():
        return []
    variance = summary["variance"]
    std = "?" if variance is None else f"{np.sqrt(variance):.7g}"
    return [*(_Cell(name, f"{value:.7g}") for name, value in values.items()), _Cell("std", std)]


def _of_kinds(counts: Mapping[str, float]) -> list[_Cell]:
    return [_Cell(head, str(int(counts[column]))) for head, column in _KINDS if counts[column]]


def _of_bool(counts: Mapping[str, float]) -> list[_Cell]:
    named = (("False", counts["zero"]), ("True", counts["positive"]))
    return [_Cell(head, str(int(count))) for head, count in named if count]


def _moments(values: Array) -> list[_Cell]:
    is_complex = values.dtype.kind == "c"
    with np.errstate(all="ignore"):
        real = np.abs(values) if is_complex else values
        finite = real[np.isfinite(real)] if real.dtype.kind == "f" else real
        if not finite.size:
            return []
        wide = finite.astype(np.float64)
        own = finite.dtype.type if finite.dtype.kind == "f" else np.float64
        numbers = (finite.min(), finite.max(), own(wide.mean()), own(wide.std()))
    heads = [f"{name} |x|" if is_complex else name for name in _MOMENTS]
    return [_Cell(head, str(number)) for head, number in zip(heads, numbers, strict=True)]


def _counted(cells: Sequence[_Cell], total: float | None) -> list[Line]:
    return _table([cells, [_Cell("total", "?" if total is None else str(int(total)))]])


def _table(groups: Sequence[Sequence[_Cell]]) -> list[Line]:
    """Two lines: heads, and numbers below them; all cells of a group have one width."""
    heads, texts = [Part("|")], [Part("|")]
    for cells in groups:
        width = max((max(len(cell.head), len(cell.text)) + 1 for cell in cells), default=0)
        for cell in cells:
            style = Style.BAD if cell.head in _BAD else Style.PLAIN
            heads.append(Part(cell.head.rjust(width), style))
            texts.append(Part(cell.text.rjust(width), style))
        heads.append(Part(" |"))
        texts.append(Part(" |"))
    return [tuple(heads), tuple(texts)]
