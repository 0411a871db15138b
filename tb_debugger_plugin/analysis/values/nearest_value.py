"""Finds the traces of tensors that are nearest to a position in the list of graph executions, and their
health.

Takes ops with slots and a position. Returns positions of traces, and their health.

Invariant: an input ran before the op and a consumer after it. So the relevant trace of an input is the last
one at or before the position, and that of a consumer the first one at or after it.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from tb_debugger_plugin.analysis.snapshot import Json, Snapshot, SqlRow
from tb_debugger_plugin.analysis.values import health

#: Distance from a position within which its nearest traces are searched first.
_REACH: Final = 1 << 16
#: Traces of a block whose numbers are read at once: a query takes as long for all of them as for one.
_BLOCK: Final = 1 << 12
#: Blocks that one call reads, and that a snapshot keeps. What is farther apart is asked for by position.
_MAX_READ: Final = 1
_MAX_BLOCKS: Final = 16
_COLUMNS: Final = f"t.idx, t.site, {health.SELECT}"

#: Columns by name.
Block: TypeAlias = dict[str, "np.ndarray[Any, Any]"]


@dataclass
class _Blocks:
    """The blocks that a snapshot keeps, the last used last; the first question is asked without them."""

    held: OrderedDict[int, Block] = field(default_factory=OrderedDict)
    num_asked: int = 0


class Side(enum.Enum):
    """The side of a position on which the relevant trace is."""

    BEFORE = "before"
    AFTER = "after"
    NEAREST = "nearest"


def nearest_traces(
    snapshot: Snapshot, tensors: Iterable[tuple[int, int, Side]], at: int | None
) -> dict[tuple[int, int, Side], int]:
    """Return the relevant trace of each of some tensors.

    Args:
      snapshot: The run.
      tensors: Op, slot and side of each tensor.
      at: The position; None = the end of the list.

    Returns:
      The position of the trace by op, slot and side; tensors that were never recorded are left out.
    """
    position = snapshot.num_graph_executions if at is None else at
    tensors = list(tensors)
    sites = {
        site.number: (site.op, site.slot)
        for op in {op for op, _, _ in tensors}
        for site in snapshot.catalog.op_sites.get(op, ())
    }
    if not sites:
        return {}
    bounds = _bounds(snapshot, sites, position, tensors)
    return {
        (op, slot, side): nearest
        for op, slot, side in tensors
        if (op, slot) in bounds
        and (nearest := _choose((bounds[op, slot][0], bounds[op, slot][1]), side, position)) is not None
    }


def _bounds(
    snapshot: Snapshot, sites: dict[int, tuple[int, int]], at: int, tensors: list[tuple[int, int, Side]]
) -> dict[tuple[int, int], list[int | None]]:
    """Return for each tensor the last trace at or before a position and the first at or after it.

    A program runs its ops again and again, so the relevant traces are mostly near. The search goes farther
    only while a relevant trace is missing.
    """
    needed = {(op, slot, side) for op, slot, side in tensors if (op, slot) in sites.values()}
    reach = _REACH
    while True:
        bounds: dict[tuple[int, int], list[int | None]] = {}
        for site, before, after in snapshot.rows(
            "SELECT site, max(idx) FILTER (idx <= $at), min(idx) FILTER (idx >= $at) FROM graph_executions"
            " WHERE idx >= $begin AND idx <= $end AND site IN (SELECT unnest($sites)) GROUP BY site",
            {"at": at, "begin": at - reach, "end": at + reach, "sites": list(sites)},
        ):
            known = bounds.setdefault(sites[site], [None, None])
            known[0] = before if known[0] is None or (before or -1) > known[0] else known[0]
            known[1] = after if known[1] is None else min(known[1], after or known[1])
        if reach >= max(at, snapshot.num_graph_executions - at) or all(
            _is_found(bounds, *key) for key in needed
        ):
            return bounds
        reach *= 16


def _is_found(bounds: dict[tuple[int, int], list[int | None]], op: int, slot: int, side: Side) -> bool:
    before, after = bounds.get((op, slot), (None, None))
    if side is Side.NEAREST:
        return before is not None or after is not None
    return (before if side is Side.BEFORE else after) is not None


def _choose(bounds: tuple[int | None, int | None], side: Side, at: int) -> int | None:
    before, after = bounds
    if before is None or after is None:
        return after if before is None else before
    if side is Side.NEAREST:
        return before if at - before <= after - at else after
    return before if side is Side.BEFORE else after


def health_of(snapshot: Snapshot, indices: Iterable[int]) -> dict[int, Json]:
    """Return the health of some traces by position."""
    wanted = sorted(set(indices))
    memory: _Blocks = snapshot.share(f"{__name__}.blocks", _Blocks)
    blocks, numbers = memory.held, {idx // _BLOCK for idx in wanted}
    memory.num_asked += 1
    if memory.num_asked == 1 or len(numbers - blocks.keys()) > _MAX_READ:
        query = f"SELECT {_COLUMNS} FROM graph_executions t WHERE idx IN (SELECT unnest(?))"
        return _healths(snapshot, snapshot.rows(query, [wanted]))
    for number in numbers:
        if number not in blocks:
            blocks[number] = _read_block(snapshot, number)
        blocks.move_to_end(number)
    found = _healths(snapshot, (row for idx in wanted for row in _rows_at(blocks[idx // _BLOCK], idx)))
    while len(blocks) > _MAX_BLOCKS:
        blocks.popitem(last=False)
    return found


def _healths(snapshot: Snapshot, rows: Iterable[SqlRow]) -> dict[int, Json]:
    return {
        idx: health.health(snapshot, trace_row(snapshot, site, fields), index=idx)
        for idx, site, *fields in rows
    }


def _read_block(snapshot: Snapshot, number: int) -> Block:
    """Return the columns of a block of the long list; NULL is masked."""
    return snapshot.connection.execute(
        f"SELECT {_COLUMNS} FROM graph_executions t WHERE idx >= ? AND idx < ? ORDER BY idx",
        [number * _BLOCK, (number + 1) * _BLOCK],
    ).fetchnumpy()


def _rows_at(block: Block, idx: int) -> Iterator[SqlRow]:
    """Yield the row of a position, if it is on record."""
    row = int(np.searchsorted(block["idx"], idx))
    if row < len(block["idx"]) and block["idx"][row] == idx:
        yield tuple(None if values[row] is np.ma.masked else values[row].item() for values in block.values())


def trace_row(snapshot: Snapshot, site: int, fields: Iterable[object]) -> Json:
    """Make a row of ``graph_executions``; the graph gives the dtype, shape and tensor id that a trace lacks.

    Args:
      snapshot: The run.
      site: The number of the site.
      fields: The values of ``health.SELECT``.
    """
    row = health.as_row(fields)
    output = snapshot.catalog.sites[site]
    static = snapshot.catalog.statics.get((output.op, output.slot))
    if static is not None:
        row["dtype"] = row["dtype"] or static.dtype
        row["shape"] = static.shape if row["shape"] < 0 else row["shape"]
        row["tensor_id"] = static.tensor_id if row["tensor_id"] is None else row["tensor_id"]
    return row
