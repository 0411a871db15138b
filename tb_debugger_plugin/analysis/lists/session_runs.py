"""Pages of the list of runs of TF1-style sessions.

Takes a range of positions and returns the runs of that range, in the order in which they ended, and what they
asked for. Runs that asked for the same refer to one request. In a run of dumps, each call is a run of its
session; what TensorFlow wrote about it says what it asked for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.lists.executions import thread_names
from tb_debugger_plugin.analysis.snapshot import Json, JsonObject, Range, Snapshot, SqlRow, remembered
from tb_debugger_plugin.analysis.source.sources import NO_STACK, stacks_of
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.dumps.names import parse_call_folder

_CALLS: Final = """
SELECT c.call, c.folder, c.core_metadata, min(f.time), max(f.time)
FROM dump_calls c LEFT JOIN dump_files f USING (call)
GROUP BY ALL ORDER BY max(f.time), c.call LIMIT ? OFFSET ?
"""


@dataclass(frozen=True)
class SessionRun(JsonObject):
    """A run of a session."""

    session: int  #: number of the session in its process, from 1
    run: int  #: number of the run in its session, from 1
    request: int | None  #: position in `requests`; null when not recorded
    host_name: str  #: where it ran
    thread_name: str | None  #: the thread; null when not recorded
    begin_time: float  #: seconds since the epoch
    end_time: float
    error: str | None  #: the exception that ended it, or null


@dataclass(frozen=True)
class SessionFeed(JsonObject):
    """A fed tensor."""

    name: str  #: name of the tensor
    dtype: str | None  #: dtype and shape of the value
    shape: list[int | None] | None


@dataclass(frozen=True)
class SessionRequest(JsonObject):
    """What runs of a session asked for."""

    feeds: list[SessionFeed]  #: the fed tensors
    fetches: list[str]  #: the tensors whose values the program got
    targets: list[str]  #: the ops that ran without being fetched
    #: the frames of the line that asked for it, outermost first; none when not recorded
    stack_frame_ids: list[str]


class SessionPageJson(TypedDict):
    """A page of the list."""

    session_runs: list[SessionRun]  #: the runs of sessions of the range
    requests: list[SessionRequest]  #: what they asked for


@remembered(Snapshot.remember)
def num_session_runs(snapshot: Snapshot) -> int:
    """Return the length of the list."""
    num_calls = int(snapshot.rows("SELECT count(*) FROM dump_calls")[0][0])
    return num_calls or int(snapshot.rows("SELECT count(*) FROM session_runs")[0][0])


def data(snapshot: Snapshot, page: Range) -> SessionPageJson:
    """Return the runs of a page, and their requests."""
    calls = snapshot.rows(_CALLS, [page.end - page.begin, page.begin])
    return _recorded(snapshot, page) if not calls else _of_calls(snapshot, calls)


def _of_calls(snapshot: Snapshot, calls: list[SqlRow]) -> SessionPageJson:
    """Return the calls of a page in a run of dumps."""
    runs: list[SessionRun] = []
    requests: list[SessionRequest] = []
    for number, folder, metadata, first, last in calls:
        name = parse_call_folder(folder)
        about: Json = next(iter(json.loads(metadata)), {})
        feeds = [SessionFeed(feed, None, None) for feed in _names(about, "input_names")]
        request = SessionRequest(feeds, _names(about, "output_names"), _names(about, "target_nodes"), [])
        if about and request not in requests:
            requests.append(request)
        begin = (first if name is None else name.time) or 0
        asked, host = requests.index(request) if about else None, snapshot.catalog.host_names[0]
        runs.append(SessionRun(1, number + 1, asked, host, None, begin / 1e6, (last or begin) / 1e6, None))
    return {"session_runs": runs, "requests": requests}


def _names(about: Json, key: str) -> list[str]:
    found = about.get(key)
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _recorded(snapshot: Snapshot, page: Range) -> SessionPageJson:
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
            SessionRun(
                *(session, run, positions.get((host, request)), snapshot.catalog.host_names[host]),
                *(threads.get((host, thread)), *ended),
            )
            for host, session, run, request, thread, *ended in rows
        ],
        "requests": list(requests.values()),
    }


def _requests(snapshot: Snapshot, keys: list[tuple[int, int]]) -> dict[tuple[int, int], SessionRequest]:
    hosts, numbers = [host for host, _ in keys], [number for _, number in keys]
    rows = snapshot.rows(
        "SELECT r.host, r.request, r.role, r.name, r.dtype, r.shape, r.stack FROM session_requests r"
        " JOIN (SELECT unnest(?::INTEGER[]) AS host, unnest(?::INTEGER[]) AS request) k USING (host, request)"
        " ORDER BY r.host, r.request, r.role, r.position",
        [hosts, numbers],
    )
    stacks = stacks_of(snapshot, [row[-1] for row in rows])
    requests: dict[tuple[int, int], SessionRequest] = {}
    for host, number, role, name, dtype, shape, stack in rows:
        _, frame_ids = stacks.get(stack, NO_STACK)
        request = requests.setdefault((host, number), SessionRequest([], [], [], frame_ids))
        if role == "feed":
            dims = snapshot.catalog.dims(shape)
            request.feeds.append(SessionFeed(name, dtype_name(dtype), dims))
        else:
            (request.fetches if role == "fetch" else request.targets).append(name)
    return requests
