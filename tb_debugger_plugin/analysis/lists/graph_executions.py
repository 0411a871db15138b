"""Pages of the list of graph executions: every tensor computed in a graph.

Takes a range of positions and returns JSON-like values in the shapes of Debugger V2, with our own fields
added.
"""

from __future__ import annotations

import math
from typing import TypedDict

import numpy as np

from tb_debugger_plugin.analysis.calls.call_owner import owner_of, owners, traces_of_call
from tb_debugger_plugin.analysis.lists.selection import Selection
from tb_debugger_plugin.analysis.snapshot import Json, Range, Snapshot, SqlRow, check_index
from tb_debugger_plugin.analysis.values import health
from tb_debugger_plugin.analysis.values.health import HealthJson
from tb_debugger_plugin.analysis.values.nearest_value import trace_row


class GraphExecutionDigestJson(TypedDict):
    """A graph execution in short."""

    wall_time: float  #: seconds since the epoch
    op_type: str | None  #: the op
    op_name: str
    output_slot: int  #: slot of the tensor
    graph_id: str  #: the graph of the op


class GraphExecutionDataJson(GraphExecutionDigestJson):
    """A graph execution in full."""

    graph_ids: list[str]  #: the graph of the op and the graphs around it, outermost first
    tensor_debug_mode: int  #: number of the [mode](event-format.md#summaries)
    #: the [summary](event-format.md#summaries) of the tensor, or null
    debug_tensor_value: list[float | None] | None
    device_name: str | None  #: the device that computed the tensor
    index: int  #: position of the graph execution
    owner_execution_index: int | None  #: the Python call that the graph ran in; null when not known
    graph_name: str | None  #: name of the graph
    health: HealthJson  #: see [Health](#health)
    layer: str | None  #: see [Names](#names)
    variable: str | None
    gradient_of: list[str]  #: see [Names](#names)


class LocatedCallJson(TypedDict):
    """A call, and what ran inside it."""

    execution_index: int | None  #: the execution, or the Python call that the graph execution ran in
    graph_execution_begin: int | None  #: the range of what ran inside the execution
    graph_execution_end: int | None


class LocatedJson(LocatedCallJson, total=False):
    """A row of one long list in the other."""

    #: with `graph_execution`: number of bad ones before it, its position in the list with `only=bad`
    bad_before: int
    #: with `graph_execution`: number of graph executions before it that fulfil the filters; null in a sorted
    #: list that it is not in
    before: int | None


def digests(snapshot: Snapshot, page: Range) -> list[Json]:
    """Return the short form of each graph execution of a page."""
    rows = snapshot.rows(
        "SELECT wall_time, site FROM graph_executions WHERE idx >= ? AND idx < ? ORDER BY idx",
        [page.begin, page.end],
    )
    return [_digest(snapshot, wall_time, site) for wall_time, site in rows]


def _digest(snapshot: Snapshot, wall_time: float, site_number: int) -> Json:
    site = snapshot.catalog.sites[site_number]
    op = snapshot.catalog.ops[site.op]
    return {
        "wall_time": wall_time,
        "op_type": op.type,
        "op_name": op.name,
        "output_slot": site.slot,
        "graph_id": snapshot.catalog.graphs[site.graph].graph_id,
    }


def data(snapshot: Snapshot, page: Range) -> list[Json]:
    """Return the long form of each graph execution of a page."""
    rows = snapshot.rows(
        f"SELECT t.idx, t.wall_time, t.site, {health.SELECT} FROM graph_executions t"
        " WHERE t.idx >= ? AND t.idx < ? ORDER BY t.idx",
        [page.begin, page.end],
    )
    times = np.array([row[1] for row in rows], np.float64)
    positions = owners(snapshot, times, np.array([row[2] for row in rows], np.int32))
    return [_trace(snapshot, row, owner) for row, owner in zip(rows, positions.tolist(), strict=True)]


def _trace(snapshot: Snapshot, values: SqlRow, owner: float) -> Json:
    idx, wall_time, site_number, *fields = values
    site = snapshot.catalog.sites[site_number]
    row = trace_row(snapshot, site_number, fields)
    return {
        "index": idx,
        **_digest(snapshot, wall_time, site_number),
        "graph_ids": snapshot.catalog.graph_ids(site.graph),
        "graph_name": snapshot.catalog.graphs[site.graph].name,
        "layer": snapshot.catalog.ops[site.op].layer,
        "variable": snapshot.catalog.ops[site.op].variable,
        "gradient_of": snapshot.catalog.gradients.get((site.op, site.slot), []),
        "tensor_debug_mode": row["mode"],
        "debug_tensor_value": health.summary_vector(snapshot, row, eager=False),
        "device_name": site.device,
        "owner_execution_index": None if math.isnan(owner) else int(owner),
        "health": health.health(snapshot, row, index=idx),
    }


def locate_graph_execution(snapshot: Snapshot, index: int, chosen: Selection | None = None) -> Json:
    """Return where a graph execution is in the list of executions, among the bad ones, and in a selection.

    Args:
      snapshot: The run.
      index: Its position.
      chosen: A selection of graph executions; None = all.

    Raises:
      BadQueryError: There is no such position.
    """
    check_index(index, snapshot.num_graph_executions, "graph execution")
    ((bad_before,),) = snapshot.rows("SELECT count(*) FROM bad_graph_executions WHERE idx < ?", [index])
    return {
        "execution_index": owner_of(snapshot, index),
        "graph_execution_begin": None,
        "graph_execution_end": None,
        "bad_before": bad_before,
        "before": index if chosen is None else chosen.before(snapshot, index),
    }


def locate_execution(snapshot: Snapshot, index: int) -> Json:
    """Return where the graph executions of an execution are in their list.

    Raises:
      BadQueryError: There is no such position.
    """
    check_index(index, snapshot.num_executions, "execution")
    begin, end = traces_of_call(snapshot, index) or (None, None)
    return {"execution_index": index, "graph_execution_begin": begin, "graph_execution_end": end}
