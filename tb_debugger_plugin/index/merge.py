"""Rows of several hosts into one order: by time, and within a host by the order of its file.

In come each host's next rows, out come these in the order of the run's lists. A clock that is set back must
not reorder a host's rows, so what is compared is the latest time that the host has shown until then.

Rule: however the files are cut into batches, the order is the same, but for what comes late in a live run.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.index.decode import Row
from tb_debugger_plugin.index.source import Batch
from tb_debugger_plugin.index.traces import TraceRows, joined

#: Of each host, the latest time of the rows that are in the list already.
Latest = dict[int, float]


def never_falling(times: npt.NDArray[np.float64], latest: float) -> npt.NDArray[np.float64]:
    """The latest time until each row, and before them."""
    return np.maximum(np.maximum.accumulate(times), latest) if len(times) else times


def cut_to_horizon(batches: Mapping[int, Batch], latest: Latest) -> dict[int, Batch]:
    """Leave out rows of a host that would overtake those of another that has not been read as far in time.

    Args:
      batches: By host.
      latest: Of the rows before.

    Returns:
      The batches, some of them shorter; what was left out will be read again.
    """
    times = {host: never_falling(batch.times(), latest.get(host, -np.inf)) for host, batch in batches.items()}
    unfinished = [times[host][-1] for host, batch in batches.items() if batch.more and len(times[host])]
    if len(batches) < 2 or not unfinished:
        return dict(batches)
    horizon = min(unfinished)
    return {
        host: batch.cut(int(np.searchsorted(times[host], horizon, "right")))
        for host, batch in batches.items()
    }


def merge_traces(hosts: Mapping[int, TraceRows | None], latest: Latest) -> TraceRows | None:
    """One order for the traces of all hosts.

    Args:
      hosts: Traces by host.
      latest: Of the rows before; brought up to date.

    Returns:
      The traces; None when there are none.
    """
    parts = {host: rows for host, rows in hosts.items() if rows}
    if not parts:
        return None
    times = {host: never_falling(rows.times, latest.get(host, -np.inf)) for host, rows in parts.items()}
    latest.update((host, float(found[-1])) for host, found in times.items())
    rows = joined(list(parts.values()))
    if len(parts) == 1:
        return rows
    # A stable sort keeps the order of hosts and, within one, that of its file.
    return rows.take(np.argsort(np.concatenate(list(times.values())), kind="stable"))


def merge_executions(hosts: Mapping[int, list[Row]], latest: Latest) -> list[Row]:
    """One order for the executions of all hosts.

    Args:
      hosts: Executions by host.
      latest: Of the rows before; brought up to date.
    """
    if len(hosts) == 1:
        return next(iter(hosts.values()))
    timed = [_with_times(rows, host, latest) for host, rows in hosts.items() if rows]
    return [row for _, _, _, row in heapq.merge(*timed, key=lambda item: item[:3])]


def _with_times(rows: list[Row], host: int, latest: Latest) -> list[tuple[float, int, int, Row]]:
    times = itertools.accumulate(
        (row.event.wall_time for row in rows), max, initial=latest.get(host, -float("inf"))
    )
    next(times)
    found = [(time, host, number, row) for number, (time, row) in enumerate(zip(times, rows, strict=True))]
    latest[host] = found[-1][0]
    return found
