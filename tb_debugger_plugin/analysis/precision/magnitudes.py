"""Magnitudes of the tensors of a run, over all of their values.

Takes the tables; returns one row for each tensor of a graph, and one for each output of the eager ops on one
line. Shares of elements below a magnitude are given as far as the record decides them.

Invariant: DuckDB reads the long lists and returns one row for each tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.alerts.search import LARGEST
from tb_debugger_plugin.analysis.snapshot import Snapshot, SqlRow
from tb_debugger_plugin.analysis.values.float_formats import Format
from tb_debugger_plugin.events.dtypes import NUMBER_OF
from tb_debugger_plugin.events.modes import EXPONENT_EDGES, EXPONENTS

#: The dtypes whose numbers are looked at.
_FLOATS: Final = ", ".join(
    str(NUMBER_OF[name])
    for name in ("float16", "bfloat16", "float32", "float64", "float8_e5m2", "float8_e4m3fn")
)
#: Only where all elements have one sign is the smallest magnitude on record.
_ONE_SIGN: Final = "zero = 0 AND (min > 0 OR max < 0)"
_LEAST: Final = "least(abs(min), abs(max))"
_FINITE: Final = "size - neg_inf - pos_inf - nan"


@dataclass(frozen=True)
class Magnitudes:
    """The record of a tensor.

    Attributes:
      dtype: Number of its dtype.
      values: How many values it had.
      elements: The finite elements of all of them together.
      zeros: How many of them are 0.
      largest: The largest finite magnitude.
      largest_at: The value that has it.
      smallest: The smallest magnitude; None when it is not on record.
      least_largest: The smallest of the largest magnitudes of its values, without those that are 0.
      first_over: The first value with an element that overflows in the format; None when there is none.
      num_over: How many values have one.
      exponents: How many elements have a magnitude in each range of `modes.EXPONENTS`; None when some values
        have no such counts on record.
    """

    dtype: int
    values: int
    elements: int
    zeros: int
    largest: float
    largest_at: int
    smallest: float | None
    least_largest: float | None
    first_over: int | None
    num_over: int
    exponents: tuple[int, ...] | None = None


#: The columns of :class:`Magnitudes`, in order.
_SELECT: Final = f"""
  max(dtype), count(*), sum({_FINITE}), sum(zero), max({LARGEST}), arg_max(idx, {LARGEST}),
  CASE WHEN bool_and({_ONE_SIGN}) THEN min({_LEAST}) END,
  min({LARGEST}) FILTER (WHERE {LARGEST} > 0),
  min(idx) FILTER (WHERE {LARGEST} >= $over), count(*) FILTER (WHERE {LARGEST} >= $over),
  count({EXPONENTS[0]}), {", ".join(f"sum({name})" for name in EXPONENTS)}
"""
#: The columns before those of exponents.
_NUM_PLAIN: Final = 10
_WHERE: Final = f"dtype IN ({_FLOATS}) AND max IS NOT NULL AND zero IS NOT NULL"


@dataclass(frozen=True)
class EagerOutput:
    """An output of the eager ops of one type on one line."""

    op_type: int
    stack: int
    slot: int
    host: int


def of_sites(snapshot: Snapshot, target: Format) -> dict[int, Magnitudes]:
    """Return the magnitudes by number of the site."""
    query = f"SELECT site, {_SELECT} FROM graph_executions WHERE {_WHERE} GROUP BY site"
    return {site: _made(tuple(row)) for site, *row in snapshot.rows(query, {"over": target.overflows_from})}


def of_eager(snapshot: Snapshot, target: Format) -> dict[EagerOutput, Magnitudes]:
    """Return the magnitudes of outputs of executions."""
    query = (
        f"SELECT op_type, stack, slot, host, {_SELECT} FROM execution_outputs JOIN"
        " (SELECT idx, op_type, stack FROM executions) USING (idx)"
        f" WHERE {_WHERE} GROUP BY op_type, stack, slot, host"
    )
    rows = snapshot.rows(query, {"over": target.overflows_from})
    return {EagerOutput(*row[:4]): _made(row[4:]) for row in rows}


def _made(row: SqlRow) -> Magnitudes:
    dtype, values, elements, zeros, *others = row[:_NUM_PLAIN]
    counted, *counts = row[_NUM_PLAIN:]
    exponents = tuple(map(int, counts)) if counted == values else None
    plain = Magnitudes(dtype, values, int(elements), int(zeros), *others)
    return replace(plain, exponents=exponents)


def steps_of_sites(snapshot: Snapshot, positions: dict[int, int]) -> dict[int, int]:
    """Return how many values of a site come before a position, by site.

    Args:
      snapshot: The run.
      positions: A position in the list of graph executions for each site.
    """
    query = (
        "SELECT site, count(*) FROM graph_executions JOIN"
        " (SELECT unnest(?::INTEGER[]) AS site, unnest(?::BIGINT[]) AS until) USING (site)"
        " WHERE idx < until GROUP BY site"
    )
    return dict(snapshot.rows(query, [list(positions), list(positions.values())])) if positions else {}


def step_of_eager(snapshot: Snapshot, key: EagerOutput, position: int) -> int:
    """Return how often eager ops of one type ran on one line before a position."""
    query = "SELECT count(*) FROM executions WHERE op_type = ? AND stack = ? AND host = ? AND idx < ?"
    ((count,),) = snapshot.rows(query, [key.op_type, key.stack, key.host, position])
    return int(count)


_EDGES: Final = [math.ldexp(1.0, edge) for edge in EXPONENT_EDGES]
#: Where each range of `modes.EXPONENTS` begins and ends.
_BEGIN: Final = [0.0, *_EDGES]
_END: Final = [*_EDGES, math.inf]


class Share(NamedTuple):
    """A share of the elements that are not 0: between two bounds, which are equal when it is known."""

    least: float
    most: float

    @property
    def is_known(self) -> bool:
        """Whether the record decides it."""
        return self.least == self.most

    def to_json(self) -> list[float]:
        """Return the two bounds."""
        return [self.least, self.most]


NONE: Final = Share(0.0, 0.0)
ALL: Final = Share(1.0, 1.0)


def share_below(found: Magnitudes, limit: float) -> Share:
    """Return the share of the elements that are not 0 and whose magnitude is below a limit.

    Args:
      found: The magnitudes of a tensor.
      limit: The magnitude.
    """
    nonzero = found.elements - found.zeros
    if not nonzero or (found.smallest is not None and found.smallest >= limit):
        return NONE
    if found.largest < limit:
        return ALL
    if found.exponents is not None:
        return _counted(found.exponents, limit)
    # At least one element has the largest magnitude.
    return Share(0.0, 1.0 - 1.0 / nonzero)


def _counted(exponents: Sequence[int], limit: float) -> Share:
    """Return the share by ranges of magnitudes; the range that the limit is in is between the bounds."""
    below, between = 0, 0
    for number, count in enumerate(exponents):
        if _END[number] <= limit:
            below += count
        elif _BEGIN[number] < limit:
            between += count
    total = sum(exponents)
    return Share(below / total, (below + between) / total)
