"""Pages of the list of runs of TF1-style sessions.

Takes a range of positions and returns the runs of that range, in the order in which they ended, and what they
asked for. Runs that asked for the same refer to one request.
"""

from __future__ import annotations

from typing import Any

from tb_debugger_plugin.analysis.lists.executions import thread_names
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.analysis.sources import NO_STACK, stacks_of
from tb_debugger_plugin.events.dtypes import dtype_name


def num_session_runs(snapshot: Snapshot) -> int:
    """Returns the length of the list."""
    return int(snapshot.rows("SELECT count(*) FROM session_runs")[0][0])


def data(snapshot: Snapshot, page: Range) -> dict[str, Any]:
    """Returns the runs of a page, and their requests."""
    rows = snapshot.rows(
        "SELECT host, session, run, request, thread, begin_time, end_time, error FROM session_runs"
        " ORDER BY end_time, host, session, run LIMIT ? OFFSET ?",
        [page.end - page.begin, page.begin],
    )
    threads = thread_names(snapshot)
    requests = _requests(snapshot, sorted({(row[0], row[3]) for row in rows}))
    positions = {key: position for position, key in enumerate(requests)}
    return {
        "session_runs": [
            {
                "session": session,
                "run": run,
                "request": positions.get((host, request)),
                "host_name": snapshot.catalog.host_names[host],
                "thread_name": threads.get((host, thread)),
                "begin_time": begin,
                "end_time": end,
                "error": error,
            }
            for host, session, run, request, thread, begin, end, error in rows
        ],
        "requests": list(requests.values()),
    }


def _requests(snapshot: Snapshot, keys: list[tuple[int, int]]) -> dict[tuple[int, int], dict[str, Any]]:
    hosts, numbers = [host for host, _ in keys], [number for _, number in keys]
    rows = snapshot.rows(
        "SELECT r.host, r.request, r.role, r.name, r.dtype, r.shape, r.stack FROM session_requests r"
        " JOIN (SELECT unnest(?::INTEGER[]) AS host, unnest(?::INTEGER[]) AS request) k USING (host, request)"
        " ORDER BY r.host, r.request, r.role, r.position",
        [hosts, numbers],
    )
    stacks = stacks_of(snapshot, [row[-1] for row in rows])
    requests: dict[tuple[int, int], dict[str, Any]] = {}
    for host, number, role, name, dtype, shape, stack in rows:
        _, frame_ids = stacks.get(stack, NO_STACK)
        made = {"feeds": [], "fetches": [], "targets": [], "stack_frame_ids": frame_ids}
        request = requests.setdefault((host, number), made)
        if role == "feed":
            dims = snapshot.catalog.dims(shape)
            request["feeds"].append({"name": name, "dtype": dtype_name(dtype), "shape": dims})
        else:
            request["fetches" if role == "fetch" else "targets"].append(name)
    return requests
