"""Merges the rows of several hosts into one order: by time, and within a host by the order of its file.

Takes each host's next rows and returns them in the order of the run's lists. A clock that is set back must
not reorder a host's rows, so rows are compared by the latest time that the host has shown so far.

Invariant: the order does not depend on how the files are cut into batches, except for rows that come late in
a live run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.index.records import Rows, join
from tb_debugger_plugin.index.source import Batch

#: The latest time of the rows that are already in the list, by host.
Latest = dict[int, float]


def never_falling(times: npt.NDArray[np.float64], latest: float) -> npt.NDArray[np.float64]:
    """Return the running maximum of the times, at least ``latest``."""
    return np.maximum(np.maximum.accumulate(times), latest) if len(times) else times


def cut_to_horizon(batches: Mapping[int, Batch], latest: Latest) -> dict[int, Batch]:
    """Leave out rows that are later than the rows read so far of a host with more to read.

    Args:
      batches: The batches by host.
      latest: The latest time of the rows before, by host.

    Returns:
      The batches, some of them shorter; the rows that were left out are read again later.
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


def merge(hosts: Mapping[int, Rows | None], latest: Latest) -> Rows | None:
    """Merge the rows of all hosts into one order.

    Args:
      hosts: Rows of one list by host.
      latest: The latest time of the rows before, by host; updated.

    Returns:
      The rows; None when there are none.
    """
    parts = {host: rows for host, rows in hosts.items() if rows}
    if not parts:
        return None
    times = {host: never_falling(rows.times, latest.get(host, -np.inf)) for host, rows in parts.items()}
    latest.update((host, float(host_times[-1])) for host, host_times in times.items())
    rows = join(list(parts.values()))
    if len(parts) == 1:
        return rows
    # A stable sort keeps the order of hosts and, within one, that of its file.
    return rows.take(np.argsort(np.concatenate(list(times.values())), kind="stable"))
