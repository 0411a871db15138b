"""Pages of the list of graph executions: every tensor computed in a graph.

In comes a range of positions, out come JSON-like values in the shapes of Debugger V2 with our own fields
added.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tb_debugger_plugin.analysis import health
from tb_debugger_plugin.analysis.call_owner import owners, traces_of_call
from tb_debugger_plugin.analysis.nearest_value import trace_row
from tb_debugger_plugin.analysis.selection import Selection
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot, check_index


def digests(snapshot: Snapshot, page: Range) -> list[dict[str, Any]]:
    """The short form of each graph execution of a page."""
    found = snapshot.rows(
        "SELECT wall_time, site FROM graph_executions WHERE idx >= ? AND idx < ? ORDER BY idx",
        [page.begin, page.end],
    )
    return [_digest(snapshot, wall_time, site) for wall_time, site in found]


def _digest(snapshot: Snapshot, wall_time: float, site: int) -> dict[str, Any]:
    place = snapshot.catalog.sites[site]
    op = snapshot.catalog.ops[place.op]
    return {
        "wall_time": wall_time,
        "op_type": op.type,
        "op_name": op.name,
        "output_slot": place.slot,
        "graph_id": snapshot.catalog.graphs[place.graph].graph_id,
    }


def data(snapshot: Snapshot, page: Range) -> list[dict[str, Any]]:
    """The long form of each graph execution of a page."""
    found = snapshot.rows(
        f"SELECT t.idx, t.wall_time, t.site, {health.SELECT} FROM graph_executions t"
        " WHERE t.idx >= ? AND t.idx < ? ORDER BY t.idx",
        [page.begin, page.end],
    )
    times = np.array([row[1] for row in found], np.float64)
    owner = owners(snapshot, times, np.array([row[2] for row in found], np.int32))
    return [_trace(snapshot, row, own) for row, own in zip(found, owner.tolist(), strict=True)]


def _trace(snapshot: Snapshot, found: tuple[Any, ...], owner: float) -> dict[str, Any]:
    idx, wall_time, site, *fields = found
    place = snapshot.catalog.sites[site]
    row = trace_row(snapshot, site, fields)
    return {
        "index": idx,
        **_digest(snapshot, wall_time, site),
        "graph_ids": snapshot.catalog.graph_ids(place.graph),
        "graph_name": snapshot.catalog.graphs[place.graph].name,
        "layer": snapshot.catalog.ops[place.op].layer,
        "variable": snapshot.catalog.ops[place.op].variable,
        "gradient_of": snapshot.catalog.gradients.get((place.op, place.slot), []),
        "tensor_debug_mode": row["mode"],
        "debug_tensor_value": health.summary_vector(snapshot, row, eager=False),
        "device_name": place.device,
        "owner_execution_index": None if math.isnan(owner) else int(owner),
        "health": health.health(snapshot, row, index=idx),
    }


def locate_graph_execution(snapshot: Snapshot, index: int, chosen: Selection | None = None) -> dict[str, Any]:
    """Where a graph execution stands in the list of executions, in that of the bad ones, and in a choice.

    Args:
      snapshot: The run.
      index: Its position.
      chosen: Of graph executions; None = all.

    Raises:
      BadQueryError: There is no such position.
    """
    check_index(index, snapshot.num_graph_executions, "graph execution")
    found = snapshot.columns("SELECT wall_time, site FROM graph_executions WHERE idx = ?", [index])
    owner = float(owners(snapshot, found["wall_time"], found["site"])[0])
    ((bad_before,),) = snapshot.rows("SELECT count(*) FROM bad_graph_executions WHERE idx < ?", [index])
    return {
        "execution_index": None if math.isnan(owner) else int(owner),
        "graph_execution_begin": None,
        "graph_execution_end": None,
        "bad_before": bad_before,
        "before": index if chosen is None else chosen.before(snapshot, index),
    }


def locate_execution(snapshot: Snapshot, index: int) -> dict[str, Any]:
    """Where what ran inside an execution stands in the list of graph executions.

    Raises:
      BadQueryError: There is no such position.
    """
    check_index(index, snapshot.num_executions, "execution")
    found = traces_of_call(snapshot, index)
    begin, end = found or (None, None)
    return {"execution_index": index, "graph_execution_begin": begin, "graph_execution_end": end}
