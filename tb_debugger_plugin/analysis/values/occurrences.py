"""The occurrences of a tensor: the same output of the same op, each time that it was computed.

Takes a recorded value and returns the positions of its occurrences, as pages with columns.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tb_debugger_plugin.analysis.snapshot import Columns, NamedParameters, Range
from tb_debugger_plugin.analysis.values.elements import read_slice
from tb_debugger_plugin.analysis.values.recorded_value import RecordedValue, find_value
from tb_debugger_plugin.analysis.values.slicing import Index, slicing_of
from tb_debugger_plugin.errors import QueryError
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.numbers import Array, widened


class _List(NamedTuple):
    """Where the occurrences in one of the long lists are.

    Attributes:
      tables: SQL of the tables, with the summary in ``t``.
      is_occurrence: SQL that is true of the occurrences of the tensor at ``$index``.
      is_measured: SQL that is true if there is anything about the tensor in its record.
      wall_time: SQL of its time.
    """

    tables: str
    is_occurrence: str
    is_measured: str
    wall_time: str


_GRAPH_EXECUTIONS: Final = _List(
    "graph_executions t",
    "t.site = (SELECT site FROM graph_executions WHERE idx = $index)",
    "true",
    "t.wall_time",
)
_EXECUTIONS: Final = _List(
    "execution_outputs t JOIN executions e USING (idx)",
    # A function is called from several lines, and the first call of one has a stack of its own.
    "t.slot = $slot AND (e.op_type, CASE WHEN e.graph < 0 THEN e.stack END, e.host) IS NOT DISTINCT FROM"
    " (SELECT (op_type, CASE WHEN graph < 0 THEN stack END, host) FROM executions WHERE idx = $index)",
    "t.has_value",
    "e.wall_time",
)


def _list_of(value: RecordedValue) -> _List:
    return _EXECUTIONS if value.is_execution else _GRAPH_EXECUTIONS


def _query(value: RecordedValue, select: str) -> tuple[str, NamedParameters]:
    rows = _list_of(value)
    parameters = {"index": value.index, **({"slot": value.slot} if value.is_execution else {})}
    return f"SELECT {select} FROM {rows.tables} WHERE {rows.is_occurrence}", parameters


def count(value: RecordedValue) -> tuple[int, int]:
    """Return the number of occurrences of a tensor, and how many are before this one."""
    query, parameters = _query(value, "count(*), count(*) FILTER (t.idx < $index)")
    ((total, before),) = value.snapshot.rows(query, parameters)
    return total, before


def page(value: RecordedValue, positions: Range) -> Columns:
    """Return some occurrences of a tensor: ``index``, ``wall_time``, ``health`` and ``is_kept``.

    Args:
      value: One of the occurrences.
      positions: Their positions among the occurrences.
    """
    rows = _list_of(value)
    mode = int(TensorDebugMode.FULL_TENSOR)
    query, parameters = _query(
        value,
        f"t.idx::DOUBLE AS index, {rows.wall_time} AS wall_time, t.health AS health,"
        f" (t.mode = {mode} AND {rows.is_measured})::UTINYINT AS is_kept",
    )
    bounds = {"count": positions.end - positions.begin, "first": positions.begin}
    return value.snapshot.columns(
        f"{query} ORDER BY t.idx LIMIT $count OFFSET $first", {**parameters, **bounds}
    )


def element_of_each(value: RecordedValue, columns: Columns, indices: tuple[Index, ...]) -> Array:
    """Return one element of each occurrence as float64; NaN where it was not kept or the slice does not fit.

    Args:
      value: One of the occurrences.
      columns: A page of occurrences.
      indices: Select one element.
    """
    result = np.full(len(columns["index"]), np.nan)
    for row in np.flatnonzero(columns["is_kept"]).tolist():
        result[row] = _element(value, int(columns["index"][row]), indices)
    return result


def _element(value: RecordedValue, index: int, indices: tuple[Index, ...]) -> float:
    key = "execution" if value.is_execution else "graph_execution"
    try:
        with find_value(value.snapshot, **{key: index}, slot=value.slot).elements() as elements:
            slicing = slicing_of(indices, elements.shape)
            if slicing.size != 1 or elements.kind.kind == "O":
                return np.nan
            element = widened(read_slice(elements, slicing)).reshape(-1)[0]
            return float(abs(element) if elements.kind.kind == "c" else element)
    except QueryError:  # the slice does not fit a shape that changes, or the record is damaged
        return np.nan
