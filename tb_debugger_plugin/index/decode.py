"""Turns decoded rows of the two long lists into columns of their tables.

Takes rows in the order of the run's lists and returns NumPy columns that can be inserted as they are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.modes import STORED
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.columns import measured
from tb_debugger_plugin.index.records import Columns, Rows
from tb_debugger_plugin.index.tensors import BAD

#: The tables that the rows of each list become.
TABLES = {
    EXECUTION: ("executions", "execution_inputs", "execution_outputs"),
    GRAPH_EXECUTION_TRACES: ("graph_executions", "bad_graph_executions"),
}


def list_columns(suffix: str, rows: Rows, first: int, first_bad: int) -> dict[str, dict[str, Array]]:
    """Return the columns of each table of a list.

    Args:
      suffix: The suffix of the list's files.
      rows: Rows of the list.
      first: The position of the first row in the list.
      first_bad: The number of bad rows before.
    """
    if suffix == EXECUTION:
        return execution_columns(rows, first)
    traces = trace_columns(rows, first)
    return {"graph_executions": traces, "bad_graph_executions": bad_columns(traces, first_bad)}


def _positions(rows: Rows, first: int) -> dict[str, Array]:
    return {
        "idx": np.arange(first, first + len(rows)),
        "wall_time": rows.times,
        "position": rows.offsets,
    }


def _stored(summaries: Columns) -> dict[str, Array]:
    """Return columns without the numbers that were measured of none of the rows."""
    columns = {name: values for name, values in summaries.items() if name not in STORED}
    for name in STORED:
        values = measured(summaries[name]) if name in summaries else None
        if values is not None:
            columns[name] = values
    return columns


def _ids(values: npt.NDArray[np.float64]) -> Array:
    fits = np.abs(np.nan_to_num(values)) < 2**53
    return np.ma.array(
        np.where(fits, np.nan_to_num(values), 0).astype(np.int64), mask=np.isnan(values) | ~fits
    )


def trace_columns(rows: Rows, first: int) -> dict[str, Array]:
    """Return columns of ``graph_executions``.

    Args:
      rows: Decoded traces.
      first: The position of the first row in the list.
    """
    columns = _stored(rows.columns)
    return {**_positions(rows, first), **columns, "tensor_id": _ids(columns["tensor_id"])}


def bad_columns(traces: dict[str, Array], first: int) -> dict[str, Array]:
    """Return columns of ``bad_graph_executions``: the positions of the bad rows of ``graph_executions``.

    Args:
      traces: Columns from :func:`trace_columns`.
      first: The number of bad rows before.
    """
    positions = traces["idx"][traces["health"] == BAD]
    return {"bad": np.arange(first, first + len(positions)), "idx": positions}


def execution_columns(rows: Rows, first: int) -> dict[str, dict[str, Array]]:
    """Return columns of ``executions``, ``execution_inputs`` and ``execution_outputs``.

    Args:
      rows: Decoded executions.
      first: The position of the first row in the list.
    """
    slots: dict[str, dict[str, Array]] = {
        name: {
            "idx": first + of_rows.rows,
            "slot": of_rows.numbers.astype(np.int32),
            **_stored(of_rows.columns),
        }
        for name, of_rows in rows.slots.items()
    }
    outputs = slots["outputs"]
    has_id = outputs.pop("has_id")
    if not has_id.all():
        outputs["tensor_id"] = np.ma.array(outputs["tensor_id"], mask=~has_id)
    executions = {**_positions(rows, first), **rows.columns}
    return {"executions": executions, "execution_inputs": slots["inputs"], "execution_outputs": outputs}
