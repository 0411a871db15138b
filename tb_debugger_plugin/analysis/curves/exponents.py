"""The magnitudes of a tensor over its occurrences: a histogram of binary exponents for each stretch of them.

Takes occurrences of a tensor of which exponents were counted (mode EXPONENTS, and values that were kept
whole). Returns an :class:`ExponentMap`: sums of elements by power of two, with zeros, infinities and NaN.

Invariant: each element is in one row; memory and the answer depend on the number of columns, not on the
length of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.curves.curve import CurveTensor, Subject, Wanted
from tb_debugger_plugin.analysis.snapshot import Columns, JsonObject, resolve_range
from tb_debugger_plugin.analysis.values.float_formats import FORMATS
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.modes import EXPONENT_EDGES, EXPONENTS

#: The numbers of elements of a column, which add up to ``size``.
KINDS: Final = ("nan", "pos_inf", "neg_inf", "zero", *EXPONENTS)
_COUNTED: Final = f"{EXPONENTS[0]} IS NOT NULL"
#: At most so many columns where nobody says it: a cell is still seen.
COLUMNS: Final = 300


@dataclass(frozen=True)
class ExponentMap(JsonObject):
    """A histogram of the magnitudes of a tensor over its occurrences.

    Use::

        found = run.exponents("dense/kernel", of="gradient")
        plt.plot(found.columns["zero"] / found.columns["size"])

    Attributes:
      tensor: The tensor.
      dtype: Its dtype; None when it is not known, or not a floating one.
      least_exponent: The exponent of the smallest normal number of the dtype: what is below is denormal.
      edges: The powers of two between which elements are counted.
      total: How often the tensor was computed.
      begin, end: The occurrences that are looked at.
      is_reduced: Whether a column stands for several occurrences.
      columns: One row for each column of the map: ``occurrence`` (the first bad one of its stretch, or else
        the first), ``index`` (its position in the list of executions or of graph executions), ``wall_time``,
        ``step`` (of the program), ``count`` (of the occurrences with exponents on record), ``bad`` (of those
        with a NaN or an infinity), ``size`` (the number of elements), and how many elements are ``nan``,
        ``pos_inf``, ``neg_inf``, ``zero``, ``tiny`` (below the first edge) and from each edge to the next.
    """

    tensor: CurveTensor
    dtype: str | None
    least_exponent: int | None
    edges: list[int]
    total: int
    begin: int
    end: int
    is_reduced: bool
    columns: Columns

    MEMBERS = "tensor dtype least_exponent edges total begin end is_reduced"

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.columns["occurrence"])


def exponent_map(subject: Subject, wanted: Wanted) -> ExponentMap:
    """Return the histogram of a tensor over its occurrences.

    Args:
      subject: The tensor.
      wanted: Which occurrences, and at most how many columns; its number is not looked at.
    """
    occurrences = subject.occurrences
    total, _ = occurrences.count()
    span = resolve_range(min(wanted.begin, total), min(wanted.end, total), total, max(1, total))
    length = span.end - span.begin
    most = COLUMNS if wanted.most is None else wanted.most
    sums = {name: f"sum({name})" for name in ("size", *KINDS)}
    found = occurrences.stretches({**sums, "dtype": "max(dtype)"}, _COUNTED, span, most)
    dtypes = found.pop("dtype")
    known = FORMATS.get(dtype_name(int(dtypes[0])) or "") if len(dtypes) else None
    return ExponentMap(
        tensor=subject.described,
        dtype=None if known is None else known.name,
        least_exponent=None if known is None else known.least_exponent,
        edges=list(EXPONENT_EDGES),
        total=total,
        begin=span.begin,
        end=span.end,
        is_reduced=length > most,
        columns=found,
    )
