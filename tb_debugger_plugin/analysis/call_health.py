"""Health of what ran inside each execution.

In comes a run, out comes the worst health of the graph executions of each call. Of a long list hardly all
rows are looked at: the bad ones, some of the others, and all of those that could belong to a call of which
none was among them.

Rule: the answer is the one that the owners of all rows give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.call_owner import CONCURRENT_CALLS, HostCalls, host_calls, owners
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.index.tensors import BAD, NOT_MEASURED

Health = npt.NDArray[np.uint8]

_CHUNK: Final = 1 << 20
#: Of more rows than a chunk, one in so many is looked at first.
_SAMPLED: Final = 64
_MAX_WINDOWS: Final = 64


@dataclass(frozen=True)
class _Settled:
    """Inner health as far as no later record can change it; the array only grows.

    Attributes:
      described: Of the snapshot that it was made from; owners depend on the graphs.
      num_graph_executions: How many traces are counted in.
      health: By position of the execution.
    """

    described: int
    num_graph_executions: int
    health: Health

    def is_within(self, snapshot: Snapshot) -> bool:
        """Whether it was made from what the snapshot sees too: somebody may have looked at a later commit."""
        return (
            self.num_graph_executions <= snapshot.num_graph_executions
            and len(self.health) <= snapshot.num_executions
        )


def call_health(snapshot: Snapshot) -> Health:
    """Health of what ran inside each execution.

    What cannot change any more is kept, so that a look at a growing run costs what is new in it.

    Returns:
      For each position of the list of executions: 0 nothing measured, 1 good, 2 bad.
    """
    return snapshot.remember("call_health", lambda: _inner_health(snapshot))


def _inner_health(snapshot: Snapshot) -> Health:
    settled = np.zeros(snapshot.num_executions, np.uint8)
    if not host_calls(snapshot):
        return settled
    kept: _Settled | None = snapshot.recall("settled_health")
    if kept is None or kept.described != snapshot.described or not kept.is_within(snapshot):
        kept = _Settled(snapshot.described, 0, np.empty(0, np.uint8))
    settled[: len(kept.health)] = kept.health
    final = _num_final(snapshot, kept.num_graph_executions)
    _note(snapshot, settled, Range(kept.num_graph_executions, final))
    if snapshot.is_settled:
        snapshot.keep("settled_health", _Settled(snapshot.described, final, settled))
    health = settled.copy()
    _note(snapshot, health, Range(final, snapshot.num_graph_executions))
    return health


def _num_final(snapshot: Snapshot, begin: int) -> int:
    """How many traces, from the first, have an owner that no later call can take from them.

    Args:
      snapshot: The run.
      begin: So many are known to have.
    """
    limits = {host: _final_until(snapshot, host) for host in np.unique(snapshot.catalog.site_hosts).tolist()}
    parts = " OR ".join(["host = ? AND wall_time <= ?"] * len(limits)) or "false"
    ((found,),) = snapshot.rows(
        "SELECT min(idx) FROM graph_executions JOIN sites USING (site)"
        # The least limit lets the database pass over almost all rows.
        f" WHERE idx >= ? AND wall_time > ? AND NOT ({parts})",
        [
            begin,
            min(limits.values(), default=-math.inf),
            *(value for item in limits.items() for value in item),
        ],
    )
    return snapshot.num_graph_executions if found is None else int(found)


def _final_until(snapshot: Snapshot, host: int) -> float:
    calls = host_calls(snapshot).get(host)
    if calls is None or len(calls.times) <= CONCURRENT_CALLS:
        return -math.inf
    return float(calls.times[-1 - CONCURRENT_CALLS])


def _note(snapshot: Snapshot, health: Health, rows: Range) -> None:
    """Raise the health of calls to that of the traces in a range that ran in them."""
    if rows.end - rows.begin > _CHUNK:
        _note_some(snapshot, health, rows, f"health = {BAD} OR idx % {_SAMPLED} = 0")
        windows = _unseen_windows(snapshot, health)
        if len(windows) <= _MAX_WINDOWS:
            times = " OR ".join(["wall_time > ? AND wall_time <= ?"] * len(windows))
            _note_some(
                snapshot, health, rows, times or "false", *(time for window in windows for time in window)
            )
            return
    _note_some(snapshot, health, rows, "true")


def _note_some(snapshot: Snapshot, health: Health, rows: Range, condition: str, *parameters: Any) -> None:
    query = (
        "SELECT wall_time, site, health FROM graph_executions"
        f" WHERE idx >= ? AND idx < ? AND health <> {NOT_MEASURED} AND ({condition})"
    )
    for begin in range(rows.begin, rows.end, _CHUNK):
        found = snapshot.columns(query, [begin, min(begin + _CHUNK, rows.end), *parameters])
        owner = owners(snapshot, found["wall_time"], found["site"])
        known = ~np.isnan(owner)
        np.maximum.at(health, owner[known].astype(np.int64), found["health"][known])


def _unseen_windows(snapshot: Snapshot, health: Health) -> list[tuple[float, float]]:
    """Between which times something ran, if anything did, in the calls in which nothing was measured so far.

    Returns:
      Spans of time, the end included and the begin not, which do not meet on one host.
    """
    return [window for calls in host_calls(snapshot).values() for window in _windows(calls, health)]


def _windows(calls: HostCalls, health: Health) -> list[tuple[float, float]]:
    unseen = np.flatnonzero(health[calls.positions] == NOT_MEASURED)
    if not len(unseen):
        return []
    # What ran in a call returned before fewer others that returned before it.
    cuts = np.flatnonzero(np.diff(unseen) > CONCURRENT_CALLS)
    firsts = np.maximum(unseen[np.append(0, cuts + 1)] - CONCURRENT_CALLS, 0)
    lasts = unseen[np.append(cuts, -1)]
    begins = np.concatenate([[-np.inf], calls.times])[firsts]
    return list(zip(begins.tolist(), calls.times[lasts].tolist(), strict=True))
