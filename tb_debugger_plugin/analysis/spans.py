"""When what ran inside a range of executions ran.

In comes a range of the list of executions, out come spans of time for the graphs of each host: a graph
execution belongs to one of the executions exactly when its time is in a span of its graph. So the list of
graph executions can be searched for it without looking at the owner of each.

Rule: these are the rows whose owner, by :func:`~tb_debugger_plugin.analysis.call_owner.owners`, is in the
range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_debugger_plugin.analysis.call_owner import (
    CONCURRENT_CALLS,
    HostCalls,
    Ints,
    chosen_calls,
    host_calls,
    related_calls,
    runners,
)
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot


@dataclass(frozen=True)
class Spans:
    """Some graphs of one host, and when they ran inside the executions.

    Attributes:
      graphs: Numbers of the graphs.
      times: Begin and end of each span, seconds; the end is included, the begin is not.
    """

    graphs: list[int]
    times: list[tuple[float, float]]


def spans_inside(snapshot: Snapshot, executions: Range) -> list[Spans]:
    """When the graphs ran inside some executions.

    Args:
      snapshot: The run.
      executions: Their positions; may reach beyond the list.

    Returns:
      Spans; graphs that never did are in none.
    """
    called = {host: set(calls.graphs.tolist()) for host, calls in host_calls(snapshot).items()}
    found: dict[tuple[int, frozenset[int]], Spans] = {}
    for graph, info in enumerate(snapshot.catalog.graphs):
        calls = host_calls(snapshot).get(info.host)
        if calls is None:
            continue
        # Most graphs run in calls of the same few.
        own = frozenset(called[info.host].intersection(runners(snapshot, graph)))
        if (info.host, own) not in found:
            found[info.host, own] = Spans([], _times(calls, related_calls(calls, own), executions))
        found[info.host, own].graphs.append(graph)
    return [spans for spans in found.values() if spans.times]


def _times(calls: HostCalls, related: Ints, executions: Range) -> list[tuple[float, float]]:
    wanted = (calls.positions >= executions.begin) & (calls.positions < executions.end)
    places = np.flatnonzero(wanted)
    if not len(places):
        return []
    # What ran in a call returned so many calls before it at most.
    following = np.arange(max(0, places[0] - CONCURRENT_CALLS), places[-1] + 1)
    inside = np.append(wanted, False)[chosen_calls(calls, related, following)]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    bounds = np.concatenate([[-np.inf], calls.times])
    firsts, lasts = following[edges[::2]], following[edges[1::2] - 1]
    return list(zip(bounds[firsts].tolist(), bounds[lasts + 1].tolist(), strict=True))
