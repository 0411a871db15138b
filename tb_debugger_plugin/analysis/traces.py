"""Pages of the list of graph executions: every tensor computed in a graph.

In comes a range of positions, out come JSON-like values in the shapes of Debugger V2 with our own fields
added.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tb_debugger_plugin.analysis import health
from tb_debugger_plugin.analysis.calls import owners, traces_of_call
from tb_debugger_plugin.analysis.nearest import trace_row
from tb_debugger_plugin.analysis.selection import Selection
from tb_debugger_plugin.analysis.view import Range, View, check_index


def digests(view: View, page: Range) -> list[dict[str, Any]]:
    """The short form of each graph execution of a page."""
    found = view.rows(
        "SELECT wall_time, site FROM traces WHERE idx >= ? AND idx < ? ORDER BY idx", [page.begin, page.end]
    )
    return [_digest(view, wall_time, site) for wall_time, site in found]


def _digest(view: View, wall_time: float, site: int) -> dict[str, Any]:
    place = view.catalog.sites[site]
    op = view.catalog.ops[place.op]
    return {
        "wall_time": wall_time,
        "op_type": op.type,
        "op_name": op.name,
        "output_slot": place.slot,
        "graph_id": view.catalog.graphs[place.graph].graph_id,
    }


def data(view: View, page: Range) -> list[dict[str, Any]]:
    """The long form of each graph execution of a page."""
    found = view.rows(
        f"SELECT t.idx, t.wall_time, t.site, {health.SELECT} FROM traces t"
        " WHERE t.idx >= ? AND t.idx < ? ORDER BY t.idx",
        [page.begin, page.end],
    )
    times = np.array([row[1] for row in found], np.float64)
    owner = owners(view, times, np.array([row[2] for row in found], np.int32))
    return [_trace(view, row, own) for row, own in zip(found, owner.tolist(), strict=True)]


def _trace(view: View, found: tuple[Any, ...], owner: float) -> dict[str, Any]:
    idx, wall_time, site, *fields = found
    place = view.catalog.sites[site]
    row = trace_row(view, site, fields)
    return {
        "index": idx,
        **_digest(view, wall_time, site),
        "graph_ids": view.catalog.graph_ids(place.graph),
        "graph_name": view.catalog.graphs[place.graph].name,
        "layer": view.catalog.ops[place.op].layer,
        "variable": view.catalog.ops[place.op].variable,
        "gradient_of": view.catalog.gradients.get((place.op, place.slot), []),
        "tensor_debug_mode": row["mode"],
        "debug_tensor_value": health.summary_vector(view, row, eager=False),
        "device_name": place.device,
        "owner_execution_index": None if math.isnan(owner) else int(owner),
        "health": health.health(view, row, index=idx),
    }


def locate_trace(view: View, index: int, chosen: Selection | None = None) -> dict[str, Any]:
    """Where a graph execution stands in the list of executions, in that of the bad ones, and in a choice.

    Args:
      view: The run.
      index: Its position.
      chosen: Of graph executions; None = all.

    Raises:
      BadQuestionError: There is no such position.
    """
    check_index(index, view.num_traces, "graph execution")
    found = view.columns("SELECT wall_time, site FROM traces WHERE idx = ?", [index])
    owner = float(owners(view, found["wall_time"], found["site"])[0])
    ((bad_before,),) = view.rows("SELECT count(*) FROM bad_traces WHERE idx < ?", [index])
    return {
        "execution_index": None if math.isnan(owner) else int(owner),
        "graph_execution_begin": None,
        "graph_execution_end": None,
        "bad_before": bad_before,
        "before": index if chosen is None else chosen.before(view, index),
    }


def locate_execution(view: View, index: int) -> dict[str, Any]:
    """Where what ran inside an execution stands in the list of graph executions.

    Raises:
      BadQuestionError: There is no such position.
    """
    check_index(index, view.num_executions, "execution")
    found = traces_of_call(view, index)
    begin, end = found or (None, None)
    return {"execution_index": index, "graph_execution_begin": begin, "graph_execution_end": end}
