"""The status of a run: counts, progress, hosts, and what could not be read.

Takes a run and returns one JSON-like value.
"""

from __future__ import annotations

from typing import TypedDict

from tb_debugger_plugin.analysis.alerts.alerts import alert_list
from tb_debugger_plugin.analysis.beside import kept_calls
from tb_debugger_plugin.analysis.inventory import kinds
from tb_debugger_plugin.analysis.lists.missing import (
    NotRecordedJson,
    bounded_hosts,
    files,
    missing,
    num_held,
    num_seen,
)
from tb_debugger_plugin.analysis.origins.origins import origins_generation
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tb_debugger_plugin.analysis.values.changed_values import ChangedValueJson, changed_values
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.modes import TensorDebugMode, mode_name


class LoadingJson(TypedDict):
    """How much of the files is read."""

    bytes_done: int  #: bytes that are read, and those that are there
    bytes_total: int


class NoticeJson(TypedDict):
    """Something that could not be read."""

    severity: str  #: `warning`
    file: str | None  #: the file, or null
    offset: int | None  #: the byte in it, or null
    message: str  #: a sentence


class StatusJson(TypedDict):
    """The answer of the route ``status``."""

    generation: int  #: see [Generations](#generations)
    described: int  #: generation at which graphs, ops, stacks or names of hosts last changed
    num_executions: int  #: lengths of the two long lists
    num_graph_executions: int
    num_bad_graph_executions: int  #: number of bad graph executions
    num_alerts: int  #: length of the list of alerts
    kinds: list[str]  #: of what the run has a [list](#columnsinventory): `ops`, `layers` and others
    #: generation that [origins](#origins) would be of if they were asked for now
    origins_generation: int
    loading: LoadingJson | None  #: null, or while files are read: `bytes_done` and `bytes_total`
    finished: bool | None  #: whether the recording has ended; null when not known
    tensor_debug_mode: str | None  #: name of the mode, or null
    circular_buffer_size: int | None  #: size of the circular buffer; null without one
    dropped_executions: int  #: records that the circular buffer has dropped
    dropped_graph_executions: int
    #: records that were kept beside the last ones, because they are near first bad values
    pinned_executions: int
    pinned_graph_executions: int
    tensorflow_version: str | None  #: version of TensorFlow, or null
    recorder: str | None  #: what recorded the run, with its version, or null
    hosts: list[str]  #: names of the hosts
    start_time: float | None  #: seconds since the epoch; the end is the time of the last record
    end_time: float | None
    not_recorded: list[NotRecordedJson]  #: what the program may have run and the recording does not hold
    kept_calls: int  #: number of the bad calls that GUARD has kept, which [can run again](#replay)
    changed_values: list[ChangedValueJson]  #: the last 1000 values that a debugger changed
    notices: list[NoticeJson]  #: what could not be read


def status(snapshot: Snapshot) -> StatusJson:
    """Return the answer of the route ``status``, which ``tbdbg info`` shows too."""
    hosts = _hosts(snapshot)
    start_time, end_time = _times(snapshot, hosts)
    return {
        "generation": snapshot.generation,
        "described": snapshot.described,
        "num_executions": snapshot.num_executions,
        "num_graph_executions": snapshot.num_graph_executions,
        "num_bad_graph_executions": snapshot.num_bad_graph_executions,
        "num_alerts": len(alert_list(snapshot)),
        "kinds": kinds(snapshot),
        "origins_generation": origins_generation(snapshot),
        "loading": _loading(snapshot),
        "finished": _finished(hosts),
        "tensor_debug_mode": _mode(snapshot, hosts),
        "circular_buffer_size": _buffer_size(hosts),
        "dropped_executions": _dropped(snapshot, hosts, EXECUTION),
        "dropped_graph_executions": _dropped(snapshot, hosts, GRAPH_EXECUTION_TRACES),
        "pinned_executions": _pinned(snapshot, hosts, EXECUTION),
        "pinned_graph_executions": _pinned(snapshot, hosts, GRAPH_EXECUTION_TRACES),
        "tensorflow_version": _first(hosts, "tensorflow_version"),
        "recorder": _recorder(hosts),
        "hosts": [host["name"] for host in hosts],
        "start_time": start_time,
        "end_time": end_time,
        "not_recorded": _not_recorded(snapshot, hosts),
        "kept_calls": len(kept_calls(snapshot.loader.run)),
        "changed_values": changed_values(snapshot),
        "notices": _notices(snapshot),
    }


def _hosts(snapshot: Snapshot) -> list[Json]:
    names = (
        *("name", "start_time", "tensorflow_version", "recorder_version", "mode", "circular_buffer_size"),
        *("seen_executions", "seen_traces", "finished", "failure"),
    )
    rows = snapshot.rows_of("hosts", f"SELECT {', '.join(names)} FROM hosts ORDER BY host")
    hosts = [dict(zip(names, row, strict=True)) for row in rows]
    return [{**host, "name": name} for host, name in zip(hosts, snapshot.catalog.host_names, strict=True)]


def _buffer_size(hosts: list[Json]) -> int | None:
    size: int = max((host["circular_buffer_size"] for host in hosts), default=0)
    return size if size > 0 else None


def _first(hosts: list[Json], name: str) -> str | None:
    return next((host[name] for host in hosts if host[name]), None)


def _recorder(hosts: list[Json]) -> str | None:
    version = _first(hosts, "recorder_version")
    if version:
        return f"tb-debugger-plugin {version}"
    tensorflow = _first(hosts, "tensorflow_version")
    return f"TensorFlow {tensorflow}" if tensorflow else None


def _finished(hosts: list[Json]) -> bool | None:
    states = [host["finished"] for host in hosts]
    if any(state is False for state in states):
        return False
    return True if states and all(states) else None


def _mode(snapshot: Snapshot, hosts: list[Json]) -> str | None:
    mode = next((host["mode"] for host in hosts if host["mode"]), None)
    if mode is None:
        # TensorFlow's own recorder stores the mode in each record only.
        rows = snapshot.rows(
            "(SELECT mode FROM graph_executions WHERE idx = 0)"
            " UNION ALL (SELECT mode FROM executions WHERE idx = 0)"
        )
        mode = next((value for (value,) in rows if value != TensorDebugMode.UNSPECIFIED), None)
    return None if mode is None else mode_name(mode)


def _dropped(snapshot: Snapshot, hosts: list[Json], suffix: str) -> int:
    """Return how many records circular buffers have overwritten.

    A recording writes the number of records now and then, and at its end; in between, its ring counts them.
    """
    return sum(_dropped_by_host(snapshot, hosts, suffix).values())


def _dropped_by_host(snapshot: Snapshot, hosts: list[Json], suffix: str) -> dict[int, int]:
    with_ring = {number for number, host in enumerate(hosts) if host["circular_buffer_size"] > 0}
    with_ring |= bounded_hosts(snapshot)
    if not with_ring:
        return {}
    held = num_held(snapshot, suffix)
    counted = {file.host: file.dropped for file in files(snapshot) if file.suffix == suffix}
    return {
        number: max(num_seen(host, suffix) - held.get(number, 0), counted.get(number, 0))
        for number, host in enumerate(hosts)
        if number in with_ring
    }


def _pinned(snapshot: Snapshot, hosts: list[Json], suffix: str) -> int:
    """Return how many records are kept although later ones fill the circular buffers.

    They are near first bad values, unless the program requested a flush.
    """
    held = num_held(snapshot, suffix)
    return sum(
        max(0, held.get(number, 0) - hosts[number]["circular_buffer_size"])
        for number, dropped in _dropped_by_host(snapshot, hosts, suffix).items()
        if dropped > 0 and hosts[number]["circular_buffer_size"] > 0
    )


def _loading(snapshot: Snapshot) -> LoadingJson | None:
    progress = snapshot.loader.progress
    if progress is None or not progress.more:
        return None
    return {"bytes_done": progress.bytes_done, "bytes_total": progress.bytes_total}


def _times(snapshot: Snapshot, hosts: list[Json]) -> tuple[float | None, float | None]:
    start = min((host["start_time"] for host in hosts), default=None)
    rows = snapshot.rows(
        "SELECT max(wall_time) FROM (SELECT wall_time FROM graph_executions WHERE idx >= ?"
        " UNION ALL SELECT wall_time FROM executions WHERE idx >= ?)",
        [snapshot.num_graph_executions - 1000, snapshot.num_executions - 1000],
    )
    return start, rows[0][0] if rows[0][0] is not None else start


def _not_recorded(snapshot: Snapshot, hosts: list[Json]) -> list[NotRecordedJson]:
    """Return what the program ran, or may have run, and is not recorded: reasons to doubt a clean list."""
    rows = snapshot.rows_of(
        "not_recorded",
        "SELECT host, reason, message, graph_id, list(name ORDER BY name) FILTER (name IS NOT NULL)"
        " FROM not_recorded GROUP BY host, reason, message, graph_id"
        " ORDER BY host, reason, message, graph_id",
    )
    entries: list[NotRecordedJson] = [
        {
            "host": hosts[host]["name"],
            "reason": reason,
            "names": names or [],
            "message": message,
            "graph_id": graph_id,
        }
        for host, reason, message, graph_id, names in rows
    ]
    for host in hosts:
        if host["failure"]:
            message = f"Recording on {host['name']} stopped early: {host['failure']}"
            entries.append(
                {"host": host["name"], "reason": "stopped", "names": [], "message": message, "graph_id": None}
            )
    return entries + missing(snapshot, hosts)


def _notices(snapshot: Snapshot) -> list[NoticeJson]:
    rows = snapshot.rows_of("notices", "SELECT severity, file, position, message FROM notices")
    return [
        {"severity": severity, "file": file, "offset": offset, "message": message}
        for severity, file, offset, message in rows
    ]
