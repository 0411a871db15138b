"""Chooses graph executions by a function of a datum and its value, as tfdbg's tensor filters are.

Takes rows and yields those that pass. Rows are read in pages, and a value only if it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.values.elements import read_slice
from tb_debugger_plugin.analysis.values.recorded_value import find_value
from tb_debugger_plugin.analysis.values.slicing import slicing_of
from tb_debugger_plugin.errors import QueryError, UsageError, user_message
from tb_debugger_plugin.events.dumps.names import IDENTITY
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.reading.dumps.datum import DebugTensorDatum, NoTensor
from tb_debugger_plugin.reading.rows import GraphExecution

if TYPE_CHECKING:
    from tb_debugger_plugin.reading.run import Run

_WHOLE = TensorDebugMode.FULL_TENSOR.name


def datum_of(row: GraphExecution, read: Callable[[DebugTensorDatum], Any]) -> DebugTensorDatum:
    """Return a graph execution as a datum.

    Args:
      row: The graph execution.
      read: Returns the value of the datum.
    """
    timestamp = round(row.wall_time * 1e6)
    return DebugTensorDatum(
        row.op_name,
        row.slot,
        IDENTITY if row.mode == _WHOLE else row.mode,
        timestamp,
        row.device or "",
        str(timestamp),
        graph_id=row.graph_id,
        index=row.index,
        is_bad=None if row.health is None else row.health == "bad",
        _read=read,
    )


def passing(
    run: Run, rows: Iterable[GraphExecution], predicate: Callable[[DebugTensorDatum, Any], bool], name: str
) -> Iterator[GraphExecution]:
    """Yield the graph executions that pass a filter.

    Args:
      run: Their run.
      rows: The graph executions.
      predicate: Says of a datum and its value whether it passes. Without a value it gets a
        :class:`~tb_debugger_plugin.reading.dumps.datum.NoTensor`.
      name: The name of the filter, for the message if it fails.

    Raises:
      UsageError: The predicate raised something.
    """
    with run.snapshot() as snapshot:
        for row in rows:
            datum = datum_of(row, lambda asked: _tensor(snapshot, asked))
            tensor = datum.get_tensor()
            try:
                passes = bool(predicate(datum, tensor))
            except Exception as error:  # the filter is the user's
                where = f"{row.name} (#{row.index})"
                message = " ".join(user_message(error).split())
                raise UsageError(f"The tensor filter {name!r} failed at {where}: {message}.") from error
            if passes:
                yield row


def _tensor(snapshot: Snapshot, datum: DebugTensorDatum) -> Any:
    if datum.debug_op != IDENTITY:
        return NoTensor(f"The recording holds the summary of mode {datum.debug_op}, but not the value.")
    try:
        value = find_value(snapshot, graph_execution=datum.index)
        if value.reason is not None:
            return NoTensor(value.reason)
        with value.elements() as elements:
            return read_slice(elements, slicing_of((), elements.shape))
    except QueryError as error:  # cut off or damaged
        return NoTensor(str(error))
