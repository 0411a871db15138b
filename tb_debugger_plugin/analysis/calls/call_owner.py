"""Finds the owner of a graph execution, the Python call in which it ran, and what ran inside a call.

The files do not record owners. A call is recorded when it has returned, after everything that ran inside it.
So the owner of a trace is the first call that returned after it, unless several threads call functions at the
same time: then a call of the trace's own graph, or of one around it, is preferred among the next few calls.

Invariant: owners are computed from committed rows only, so the owner of a trace may become known later; it is
NaN until then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.numbers import Floats, Integers

#: Most calls that run at the same time. If this many other calls returned between a trace and a call, the
#: call had not begun when the trace was recorded.
CONCURRENT_CALLS: Final = 8
#: The calls of functions among the executions.
CALLS: Final = (
    "SELECT e.idx, e.host, e.wall_time, e.graph, e.op_type FROM executions e JOIN op_types t USING (op_type)"
    " WHERE t.is_function OR e.graph >= 0"
)
#: How many graphs a graph may have run in; only damage makes more.
_MAX_RUNNERS: Final = 64
_BACKWARD: Final = "__backward_"


@dataclass(frozen=True)
class HostCalls:
    """Calls of functions on one host, in the order in which they returned.

    Attributes:
      times: The times of return, rising.
      positions: The positions in the list of executions.
      graphs: The graphs that ran; -1 when the recorder did not record it.
    """

    times: Floats
    positions: Integers
    graphs: Integers


class CallSpan(NamedTuple):
    """A time on a host, in seconds."""

    host: int
    begin: float
    end: float


def host_calls(snapshot: Snapshot) -> dict[int, HostCalls]:
    """Return the calls of each host."""
    return snapshot.remember_of(("executions", "op_types"), "calls", lambda: _load_calls(snapshot))


def _load_calls(snapshot: Snapshot) -> dict[int, HostCalls]:
    calls = snapshot.columns(f"SELECT * EXCLUDE op_type FROM ({CALLS}) ORDER BY wall_time, idx")
    return {
        int(host): HostCalls(*(calls[name][calls["host"] == host] for name in ("wall_time", "idx", "graph")))
        for host in np.unique(calls["host"])
    }


def owners(snapshot: Snapshot, times: Floats, sites: npt.NDArray[np.int32]) -> Floats:
    """Return the owners of some traces.

    Args:
      snapshot: The run.
      times: The ``wall_time`` of each trace.
      sites: The site of each trace.

    Returns:
      The position of each owner in the list of executions; NaN when it is not known.
    """
    result = np.full(len(times), np.nan)
    calls = host_calls(snapshot)
    graphs = snapshot.catalog.site_graphs[sites]
    for graph in np.unique(graphs):
        own_calls = calls.get(snapshot.catalog.graphs[graph].host)
        if own_calls is not None:
            rows = np.flatnonzero(graphs == graph)
            result[rows] = _owners_in_graph(snapshot, own_calls, int(graph), times[rows])
    return result


def owner_of(snapshot: Snapshot, index: int) -> int | None:
    """Return the owner of the graph execution at a position; None when it is not known."""
    row = snapshot.columns("SELECT wall_time, site FROM graph_executions WHERE idx = ?", [index])
    owner = float(owners(snapshot, row["wall_time"], row["site"])[0])
    return None if math.isnan(owner) else int(owner)


def _owners_in_graph(snapshot: Snapshot, calls: HostCalls, graph: int, times: Floats) -> Floats:
    following = np.searchsorted(calls.times, times, side="left")
    chosen = chosen_calls(calls, related_calls(calls, runners(snapshot, graph)), following)
    return np.append(calls.positions.astype(np.float64), np.nan)[chosen]


def runners(snapshot: Snapshot, graph: int) -> list[int]:
    """Return the graphs whose calls may have run a graph, beginning with the graph itself."""
    known: dict[int, list[int]] = snapshot.remember_of_graphs("runners", dict)
    return known.get(graph) or known.setdefault(graph, _runners(snapshot, graph))


def related_calls(calls: HostCalls, graphs: Iterable[int]) -> Integers:
    """Return the calls that may be calls of some graphs, by their indices among the host's calls."""
    # A call whose graph is not known may be a call of any graph.
    return np.flatnonzero(np.isin(calls.graphs, [-1, *graphs]))


def chosen_calls(calls: HostCalls, related: Integers, following: Integers) -> Integers:
    """Return the calls in which some traces ran.

    Args:
      calls: The calls of the host.
      related: The result of :func:`related_calls`.
      following: For each trace, the index of the first call that returned after it; in any order.

    Returns:
      Indices of calls, never below ``following``; ``len(calls.times)`` when there is no such call.
    """
    index = np.searchsorted(related, following, side="left")
    preferred = np.append(related, len(calls.times))[index]
    return np.where(
        (preferred < len(calls.times)) & (preferred - following < CONCURRENT_CALLS), preferred, following
    )


def _runners(snapshot: Snapshot, graph: int) -> list[int]:
    """Return the graphs whose calls may have run a graph: those around it, and those that run it."""
    graphs = [graph]
    seen = {graph}
    for number in graphs:  # the list grows inside the loop, the nearest graphs first
        others = list(snapshot.catalog.graph_callers.get(number, ()))[:_MAX_RUNNERS]
        # A backward graph is made inside the forward graph, but the forward graph never runs it.
        if not (snapshot.catalog.graphs[number].name or "").startswith(_BACKWARD):
            others.append(snapshot.catalog.graphs[number].outer)
        new = [other for other in dict.fromkeys(others) if other >= 0 and other not in seen]
        graphs += new
        seen.update(new)
        if len(graphs) >= _MAX_RUNNERS:
            break
    return graphs


def traces_of_call(snapshot: Snapshot, execution: int) -> tuple[int, int] | None:
    """Return the positions of the graph executions of one call.

    Args:
      snapshot: The run.
      execution: The position of the call in the list of executions.

    Returns:
      The first position, and the last one plus 1; None when nothing ran inside it or it is not a call.
    """
    span = span_of_call(snapshot, execution)
    if span is None:
        return None
    traces = snapshot.columns(
        "SELECT t.idx, t.wall_time, t.site FROM graph_executions t JOIN sites s USING (site)"
        " WHERE s.host = ? AND t.wall_time >= ? AND t.wall_time <= ?",
        list(span),
    )
    own = traces["idx"][owners(snapshot, traces["wall_time"], traces["site"]) == execution]
    return (int(own.min()), int(own.max()) + 1) if len(own) else None


def span_of_call(snapshot: Snapshot, execution: int) -> CallSpan | None:
    """Return when a call may have run, if others ran at the same time; None when it is not a call."""
    host, calls, index = _find_call(snapshot, execution)
    if calls is None or index is None:
        return None
    before = index - CONCURRENT_CALLS - 1
    earliest = calls.times[before] if before >= 0 else -np.inf
    return CallSpan(host, float(max(earliest, -1e300)), float(calls.times[index]))


def _find_call(snapshot: Snapshot, execution: int) -> tuple[int, HostCalls | None, int | None]:
    for host, calls in host_calls(snapshot).items():
        matches = np.flatnonzero(calls.positions == execution)
        if len(matches):
            return host, calls, int(matches[0])
    return -1, None, None
