"""What a recording wrote and its files do not hold: copies that ended early, files that were left behind.

A recording that has ended says how many records it wrote. One that has not may end inside a record at any
time, which is ordinary, so nothing is said of it; but three of its files are there from the beginning.
"""

from __future__ import annotations

from typing import Any, Final

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, TAILED

Host = dict[str, Any]

_SEEN: Final = {EXECUTION: "seen_executions", GRAPH_EXECUTION_TRACES: "seen_traces"}
_HELD: Final = {
    EXECUTION: "SELECT host, count(*) FROM executions GROUP BY host",
    GRAPH_EXECUTION_TRACES: "SELECT host, count(*) FROM graph_executions"
    " JOIN sites USING (site) GROUP BY host",
}
_RECORDS: Final = {EXECUTION: "executions", GRAPH_EXECUTION_TRACES: "graph executions"}
#: By the state of a file: what is the matter with it when records are missing.
_MATTERS: Final = {
    "open": "ends early",
    "truncated": "ends early",
    "corrupt": "is damaged",
    "missing": "is missing",
}


def num_seen(host: Host, suffix: str) -> int:
    """How many records of a long file there were, as far as the recording has said."""
    return host[_SEEN[suffix]] or 0


def num_held(snapshot: Snapshot, suffix: str) -> dict[int, int]:
    """How many records of a long file the tables hold, by the number of the host."""
    found: dict[int, int] = snapshot.remember(f"held {suffix}", lambda: dict(snapshot.rows(_HELD[suffix])))
    return found


def missing(snapshot: Snapshot, hosts: list[Host]) -> list[dict[str, Any]]:
    """An entry of ``not_recorded`` for each file of which something is missing; none until they are read.

    Args:
      snapshot: The run.
      hosts: Rows of table ``hosts`` by name of column, in order.
    """
    progress = snapshot.loader.progress
    if progress is None or progress.more:
        return []  # imported tables come one after another, those that count the records first
    files = snapshot.rows(
        "SELECT host, suffix, f.name, CASE WHEN n.file IS NULL THEN state ELSE 'corrupt' END"
        " FROM files f LEFT JOIN (SELECT DISTINCT file FROM notices) n ON n.file = f.name"
        " WHERE host BETWEEN 0 AND ? AND (state <> 'open' OR resume >= size) ORDER BY ALL",
        [len(hosts) - 1],
    )
    sentences = (
        (hosts[number]["name"], _sentence(snapshot, hosts, number, suffix, name, state))
        for number, suffix, name, state in files
    )
    return [
        {"host": host, "reason": "missing", "names": [], "message": sentence, "graph_id": None}
        for host, sentence in sentences
        if sentence
    ]


def _sentence(
    snapshot: Snapshot, hosts: list[Host], number: int, suffix: str, name: str, state: str
) -> str | None:
    """What is missing of a file that has been read to its end; None when nothing is, or nobody knows."""
    host = hosts[number]
    matter = _MATTERS.get(state, "is damaged")
    is_over = host["finished"] and not host["failure"]
    if is_over and suffix in TAILED:
        kept, size = num_seen(host, suffix), host["circular_buffer_size"]
        last = ""
        if 0 < size < kept:
            kept, last = size, "the last "
        have = num_held(snapshot, suffix).get(number, 0)
        if have < kept:
            whose = f" of {host['name']}" if len(hosts) > 1 else ""
            records = f"{have} of {last}{kept} {_RECORDS[suffix]}{whose} are on record"
            return f"{records}: the file {name} {matter}; copy it again."
    if (is_over and state == "truncated") or (suffix not in TAILED and state == "missing"):
        return f"The file {name} {matter}; copy it again."
    return None
