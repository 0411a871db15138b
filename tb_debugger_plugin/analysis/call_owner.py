"""Which Python call a graph execution ran in, and what ran inside a call.

The files do not say it. A call is recorded when it has returned, and what ran inside it before that, so the
owner of a trace is the first call that returned after it, unless several threads call functions at the same
time: then a call of the trace's own graph, or of one around it, is preferred among the next few.

Rule: owners are computed from committed rows only, so the owner of a trace may become known later; it is NaN
until then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.snapshot import Snapshot

#: How many calls may be under way at once; one that returned later than that had not begun.
CONCURRENT_CALLS: Final = 8
#: In a call of how many graphs one may have run; only damage makes more.
_MAX_RUNNERS: Final = 64
_BACKWARD: Final = "__backward_"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HostCalls:
    """Calls of functions on one host, in the order in which they returned.

    Attributes:
      times: When each returned, rising.
      positions: Where each stands in the list of executions.
      graphs: The graph that ran; -1 where the recorder did not say.
    """

    times: Floats
    positions: Ints
    graphs: Ints


def host_calls(snapshot: Snapshot) -> dict[int, HostCalls]:
    """The calls of each host."""
    return snapshot.remember("calls", lambda: _load_calls(snapshot))


def _load_calls(snapshot: Snapshot) -> dict[int, HostCalls]:
    found = snapshot.columns(
        "SELECT e.idx, e.host, e.wall_time, e.graph FROM executions e JOIN op_types t USING (op_type)"
        " WHERE t.is_function OR e.graph >= 0 ORDER BY e.wall_time, e.idx"
    )
    return {
        int(host): HostCalls(*(found[name][found["host"] == host] for name in ("wall_time", "idx", "graph")))
        for host in np.unique(found["host"])
    }


def owners(snapshot: Snapshot, times: Floats, sites: npt.NDArray[np.int32]) -> Floats:
    """The calls that some traces ran in.

    Args:
      snapshot: The run.
      times: ``wall_time`` of each trace.
      sites: Site of each.

    Returns:
      Position of the call in the list of executions; NaN where it is not known.
    """
    result = np.full(len(times), np.nan)
    calls = host_calls(snapshot)
    graphs = snapshot.catalog.site_graphs[sites]
    for graph in np.unique(graphs):
        of_host = calls.get(snapshot.catalog.graphs[graph].host)
        if of_host is not None:
            rows = np.flatnonzero(graphs == graph)
            result[rows] = _owners_in_graph(snapshot, of_host, int(graph), times[rows])
    return result


def _owners_in_graph(snapshot: Snapshot, calls: HostCalls, graph: int, times: Floats) -> Floats:
    following = np.searchsorted(calls.times, times, side="left")
    chosen = chosen_calls(calls, related_calls(calls, runners(snapshot, graph)), following)
    return np.append(calls.positions.astype(np.float64), np.nan)[chosen]


def runners(snapshot: Snapshot, graph: int) -> list[int]:
    """The graphs in a call of which a graph may have run, itself the first."""
    known: dict[int, list[int]] = snapshot.remember_of_graphs("runners", dict)
    return known.get(graph) or known.setdefault(graph, _runners(snapshot, graph))


def related_calls(calls: HostCalls, graphs: Iterable[int]) -> Ints:
    """Which calls may be of some graphs, by their places among the host's calls."""
    # Calls of which the graph is not known may be of any graph.
    return np.flatnonzero(np.isin(calls.graphs, [-1, *graphs]))


def chosen_calls(calls: HostCalls, related: Ints, following: Ints) -> Ints:
    """The calls in which something ran.

    Args:
      calls: Of its host.
      related: What :func:`related_calls` gave.
      following: The first call that returned after it, by its place among the calls; rising or not.

    Returns:
      Places among the calls, never before those that follow; ``len(calls.times)`` where there is none.
    """
    place = np.searchsorted(related, following, side="left")
    preferred = np.append(related, len(calls.times))[place]
    return np.where(
        (preferred < len(calls.times)) & (preferred - following < CONCURRENT_CALLS), preferred, following
    )


def _runners(snapshot: Snapshot, graph: int) -> list[int]:
    """The graphs in a call of which a graph may have run: those around it, and those that run it."""
    found = [graph]
    seen = {graph}
    for number in found:  # it grows meanwhile, the nearest graphs first
        others = list(snapshot.catalog.graph_callers.get(number, ()))[:_MAX_RUNNERS]
        # A backward graph is made inside the forward graph, but it is never run by it.
        if not (snapshot.catalog.graphs[number].name or "").startswith(_BACKWARD):
            others.append(snapshot.catalog.graphs[number].outer)
        new = [other for other in dict.fromkeys(others) if other >= 0 and other not in seen]
        found += new
        seen.update(new)
        if len(found) >= _MAX_RUNNERS:
            break
    return found


def traces_of_call(snapshot: Snapshot, execution: int) -> tuple[int, int] | None:
    """Where the graph executions of one call stand.

    Args:
      snapshot: The run.
      execution: Position of the call in the list of executions.

    Returns:
      First position and one behind the last; None when nothing ran inside it or it is not a call.
    """
    host, calls, place = _find_call(snapshot, execution)
    if calls is None or place is None:
        return None
    before = place - CONCURRENT_CALLS - 1
    earliest = calls.times[before] if before >= 0 else -np.inf
    found = snapshot.columns(
        "SELECT t.idx, t.wall_time, t.site FROM graph_executions t JOIN sites s USING (site)"
        " WHERE s.host = ? AND t.wall_time >= ? AND t.wall_time <= ?",
        [host, float(max(earliest, -1e300)), float(calls.times[place])],
    )
    own = found["idx"][owners(snapshot, found["wall_time"], found["site"]) == execution]
    return (int(own.min()), int(own.max()) + 1) if len(own) else None


def _find_call(snapshot: Snapshot, execution: int) -> tuple[int, HostCalls | None, int | None]:
    for host, calls in host_calls(snapshot).items():
        place = np.flatnonzero(calls.positions == execution)
        if len(place):
            return host, calls, int(place[0])
    return -1, None, None
