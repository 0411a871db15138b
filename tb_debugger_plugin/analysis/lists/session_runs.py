"""Pages of the list of runs of TF1-style sessions.

Takes a range of positions and returns the runs of that range, in the order in which they ended, and what they
asked for. Runs that asked for the same refer to one request. In a run of dumps, each call is a run of its
session; what TensorFlow wrote about it says what it asked for.
"""

from __future__ import annotations

import json
from typing import Final

from tb_debugger_plugin.analysis.lists.executions import thread_names
from tb_debugger_plugin.analysis.snapshot import Json, Range, Snapshot, SqlRow
from tb_debugger_plugin.analysis.source.sources import NO_STACK, stacks_of
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.dumps.names import parse_call_folder

_CALLS: Final = """
SELECT c.call, c.folder, c.core_metadata, min(f.time), max(f.time)
FROM dump_calls c LEFT JOIN dump_files f USING (call)
GROUP BY ALL ORDER BY max(f.time), c.call LIMIT ? OFFSET ?
"""


def num_session_runs(snapshot: Snapshot) -> int:
    """Return the length of the list."""
    num_calls = int(snapshot.rows("SELECT count(*) FROM dump_calls")[0][0])
    return num_calls or int(snapshot.rows("SELECT count(*) FROM session_runs")[0][0])


def data(snapshot: Snapshot, page: Range) -> Json:
    """Return the runs of a page, and their requests."""
    calls = snapshot.rows(_CALLS, [page.end - page.begin, page.begin])
    return _recorded(snapshot, page) if not calls else _of_calls(snapshot, calls)


def _of_calls(snapshot: Snapshot, calls: list[SqlRow]) -> Json:
    """Return the calls of a page in a run of dumps."""
    runs: list[Json] = []
    requests: list[Json] = []
    for number, folder, metadata, first, last in calls:
        name = parse_call_folder(folder)
        about: Json = next(iter(json.loads(metadata)), {})
        request = {
            "feeds": [{"name": feed, "dtype": None, "shape": None} for feed in _names(about, "input_names")],
            "fetches": _names(about, "output_names"),
            "targets": _names(about, "target_nodes"),
            "stack_frame_ids": [],
        }
        if about and request not in requests:
            requests.append(request)
        begin = first if name is None else name.time
        runs.append(
            {
                "session": 1,
                "run": number + 1,
                "request": requests.index(request) if about else None,
                "host_name": snapshot.catalog.host_names[0],
                "thread_name": None,
                "begin_time": (begin or 0) / 1e6,
                "end_time": (last or begin or 0) / 1e6,
                "error": None,
            }
        )
    return {"session_runs": runs, "requests": requests}


def _names(about: Json, key: str) -> list[str]:
    found = about.get(key)
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _recorded(snapshot: Snapshot, page: Range) -> Json:
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


def _requests(snapshot: Snapshot, keys: list[tuple[int, int]]) -> dict[tuple[int, int], Json]:
    hosts, numbers = [host for host, _ in keys], [number for _, number in keys]
    rows = snapshot.rows(
        "SELECT r.host, r.request, r.role, r.name, r.dtype, r.shape, r.stack FROM session_requests r"
        " JOIN (SELECT unnest(?::INTEGER[]) AS host, unnest(?::INTEGER[]) AS request) k USING (host, request)"
        " ORDER BY r.host, r.request, r.role, r.position",
        [hosts, numbers],
    )
    stacks = stacks_of(snapshot, [row[-1] for row in rows])
    requests: dict[tuple[int, int], Json] = {}
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
