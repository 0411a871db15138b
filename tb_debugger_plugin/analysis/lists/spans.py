"""Finds the times at which graphs ran inside a range of executions.

Takes a range of the list of executions and returns spans of time for the graphs of each host: a graph
execution belongs to one of the executions exactly when its time is in a span of its graph. So the list of
graph executions can be searched by time, without computing the owner of each.

Invariant: the rows in the spans are those whose owner, by
:func:`~tb_debugger_plugin.analysis.calls.call_owner.owners`, is in the range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_debugger_plugin.analysis.calls.call_owner import (
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
    """Some graphs of one host, and the times at which they ran inside the executions.

    Attributes:
      graphs: The numbers of the graphs.
      times: Begin and end of each span in seconds; the begin is exclusive, the end inclusive.
    """

    graphs: list[int]
    times: list[tuple[float, float]]


def spans_inside(snapshot: Snapshot, executions: Range) -> list[Spans]:
    """Return the times at which graphs ran inside some executions.

    Args:
      snapshot: The run.
      executions: Their positions, which may reach beyond the list.

    Returns:
      Spans, without the graphs that never ran inside these executions.
    """
    called = {host: set(calls.graphs.tolist()) for host, calls in host_calls(snapshot).items()}
    spans_by_runners: dict[tuple[int, frozenset[int]], Spans] = {}
    for graph, info in enumerate(snapshot.catalog.graphs):
        calls = host_calls(snapshot).get(info.host)
        if calls is None:
            continue
        # Most graphs run in calls of the same few.
        own = frozenset(called[info.host].intersection(runners(snapshot, graph)))
        if (info.host, own) not in spans_by_runners:
            spans_by_runners[info.host, own] = Spans([], _times(calls, related_calls(calls, own), executions))
        spans_by_runners[info.host, own].graphs.append(graph)
    return [spans for spans in spans_by_runners.values() if spans.times]


def _times(calls: HostCalls, related: Ints, executions: Range) -> list[tuple[float, float]]:
    in_range = (calls.positions >= executions.begin) & (calls.positions < executions.end)
    indices = np.flatnonzero(in_range)
    if not len(indices):
        return []
    # At most CONCURRENT_CALLS other calls return between a trace and its owner.
    following = np.arange(max(0, indices[0] - CONCURRENT_CALLS), indices[-1] + 1)
    inside = np.append(in_range, False)[chosen_calls(calls, related, following)]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    bounds = np.concatenate([[-np.inf], calls.times])
    firsts, lasts = following[edges[::2]], following[edges[1::2] - 1]
    return list(zip(bounds[firsts].tolist(), bounds[lasts + 1].tolist(), strict=True))
