"""Computes the health of what ran inside each execution.

Takes a run and returns the worst health of the graph executions of each call. In a long list only some rows
are read: the bad ones, a sample of the others, and those that could belong to a call without any row so far.

Invariant: the result is the same as with the owners of all rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.calls.call_owner import CONCURRENT_CALLS, HostCalls, host_calls, owners
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot, remembered
from tb_debugger_plugin.index.tensors import BAD, NOT_MEASURED

Health = npt.NDArray[np.uint8]

_CHUNK: Final = 1 << 20
#: When there are more rows than a chunk, one of this many is read first.
_SAMPLED: Final = 64
_MAX_SPANS: Final = 64


@dataclass(frozen=True)
class _Settled:
    """The part of the inner health that no later record can change; the array only grows.

    Attributes:
      described: That of the snapshot it was made from; owners depend on the graphs.
      num_graph_executions: The number of traces it includes.
      health: Health by position of the execution.
    """

    described: int
    num_graph_executions: int
    health: Health

    def is_within(self, snapshot: Snapshot) -> bool:
        """Whether the snapshot has all its rows; it may have been made from a later commit."""
        return (
            self.num_graph_executions <= snapshot.num_graph_executions
            and len(self.health) <= snapshot.num_executions
        )


@remembered(Snapshot.remember)
def call_health(snapshot: Snapshot) -> Health:
    """Return the health of what ran inside each execution.

    The part that cannot change any more is kept, so that for a growing run only new rows are read.

    Returns:
      For each position in the list of executions: 0 = nothing measured, 1 = good, 2 = bad.
    """
    settled = np.zeros(snapshot.num_executions, np.uint8)
    if not host_calls(snapshot):
        return settled
    kept = snapshot.recall("settled_health", _Settled)
    if kept is None or kept.described != snapshot.described or not kept.is_within(snapshot):
        kept = _Settled(snapshot.described, 0, np.empty(0, np.uint8))
    settled[: len(kept.health)] = kept.health
    final = _num_final(snapshot, kept.num_graph_executions)
    _add_health(snapshot, settled, Range(kept.num_graph_executions, final))
    if snapshot.is_settled:
        snapshot.keep("settled_health", _Settled(snapshot.described, final, settled))
    health = settled.copy()
    _add_health(snapshot, health, Range(final, snapshot.num_graph_executions))
    return health


def _num_final(snapshot: Snapshot, begin: int) -> int:
    """Return how many traces, from the first, have an owner that no later call can change.

    Args:
      snapshot: The run.
      begin: This many are already known to have one.
    """
    limits = {host: _final_until(snapshot, host) for host in np.unique(snapshot.catalog.site_hosts).tolist()}
    parts = " OR ".join(["host = ? AND wall_time <= ?"] * len(limits)) or "false"
    ((first_other,),) = snapshot.rows(
        "SELECT min(idx) FROM graph_executions JOIN sites USING (site)"
        # The smallest limit lets the database skip almost all rows.
        f" WHERE idx >= ? AND wall_time > ? AND NOT ({parts})",
        [
            begin,
            min(limits.values(), default=-math.inf),
            *(value for item in limits.items() for value in item),
        ],
    )
    return snapshot.num_graph_executions if first_other is None else int(first_other)


def _final_until(snapshot: Snapshot, host: int) -> float:
    calls = host_calls(snapshot).get(host)
    if calls is None or len(calls.times) <= CONCURRENT_CALLS:
        return -math.inf
    return float(calls.times[-1 - CONCURRENT_CALLS])


def _add_health(snapshot: Snapshot, health: Health, rows: Range) -> None:
    """Raise the health of each call to that of the traces in a range that ran in it."""
    if rows.end - rows.begin > _CHUNK:
        _add_some_health(snapshot, health, rows, f"health = {BAD} OR idx % {_SAMPLED} = 0")
        spans = _unmeasured_spans(snapshot, health)
        if len(spans) <= _MAX_SPANS:
            times = " OR ".join(["wall_time > ? AND wall_time <= ?"] * len(spans))
            _add_some_health(
                snapshot, health, rows, times or "false", *(time for span in spans for time in span)
            )
            return
    _add_some_health(snapshot, health, rows, "true")


def _add_some_health(
    snapshot: Snapshot, health: Health, rows: Range, condition: str, *parameters: object
) -> None:
    query = (
        "SELECT wall_time, site, health FROM graph_executions"
        f" WHERE idx >= ? AND idx < ? AND health <> {NOT_MEASURED} AND ({condition})"
    )
    for begin in range(rows.begin, rows.end, _CHUNK):
        traces = snapshot.columns(query, [begin, min(begin + _CHUNK, rows.end), *parameters])
        owner = owners(snapshot, traces["wall_time"], traces["site"])
        known = ~np.isnan(owner)
        np.maximum.at(health, owner[known].astype(np.int64), traces["health"][known])


def _unmeasured_spans(snapshot: Snapshot, health: Health) -> list[tuple[float, float]]:
    """Return the times at which the calls with nothing measured so far may have run something.

    Returns:
      Spans of time, with the end and without the begin, which are disjoint on each host.
    """
    return [span for calls in host_calls(snapshot).values() for span in _spans(calls, health)]


def _spans(calls: HostCalls, health: Health) -> list[tuple[float, float]]:
    unmeasured = np.flatnonzero(health[calls.positions] == NOT_MEASURED)
    if not len(unmeasured):
        return []
    # Fewer than CONCURRENT_CALLS other calls return between a trace and its owner.
    cuts = np.flatnonzero(np.diff(unmeasured) > CONCURRENT_CALLS)
    firsts = np.maximum(unmeasured[np.append(0, cuts + 1)] - CONCURRENT_CALLS, 0)
    lasts = unmeasured[np.append(cuts, -1)]
    begins = np.concatenate([[-np.inf], calls.times])[firsts]
    return list(zip(begins.tolist(), calls.times[lasts].tolist(), strict=True))
