"""Finds records that a recording wrote and its files do not hold: incomplete copies, files that were not
copied.

A recording that has ended records how many records it wrote. A recording that has not ended may end inside a
record at any time, which is ordinary and not reported; but three of its files exist from the beginning.
"""

from __future__ import annotations

from typing import Any, Final

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, OPTIONAL, TAILED
from tb_debugger_plugin.index.source import ReadState

Host = dict[str, Any]

_SEEN: Final = {EXECUTION: "seen_executions", GRAPH_EXECUTION_TRACES: "seen_traces"}
_HELD: Final = {
    EXECUTION: "SELECT host, count(*) FROM executions GROUP BY host",
    GRAPH_EXECUTION_TRACES: "SELECT host, count(*) FROM graph_executions"
    " JOIN sites USING (site) GROUP BY host",
}
_RECORDS: Final = {EXECUTION: "executions", GRAPH_EXECUTION_TRACES: "graph executions"}
#: The reason why records are missing, by the state of the file. The tables are imported as they are, so a
#: state may be any text.
_REASONS: Final[dict[str, str]] = {
    ReadState.OPEN: "ends early",
    ReadState.TRUNCATED: "ends early",
    ReadState.CORRUPT: "is damaged",
    ReadState.MISSING: "is missing",
}
#: The state of each file that was read to its end; a file with notices is damaged.
_FILES: Final = (
    f"SELECT host, suffix, f.name, CASE WHEN n.file IS NULL THEN state ELSE '{ReadState.CORRUPT.value}' END"
    " FROM files f LEFT JOIN (SELECT DISTINCT file FROM notices) n ON n.file = f.name"
    f" WHERE host BETWEEN 0 AND ? AND (state <> '{ReadState.OPEN.value}' OR resume >= size) ORDER BY ALL"
)


def num_seen(host: Host, suffix: str) -> int:
    """Returns how many records of a long file there were, according to the recording's last count."""
    return host[_SEEN[suffix]] or 0


def num_held(snapshot: Snapshot, suffix: str) -> dict[int, int]:
    """Returns how many records of a long file the tables hold, by the number of the host."""
    counts: dict[int, int] = snapshot.remember(f"held {suffix}", lambda: dict(snapshot.rows(_HELD[suffix])))
    return counts


def is_cut(snapshot: Snapshot) -> bool:
    """Returns whether a circular buffer may have dropped the beginning of a run."""
    ((size,),) = snapshot.rows("SELECT max(circular_buffer_size) FROM hosts")
    return size is not None and size > 0


def missing(snapshot: Snapshot, hosts: list[Host]) -> list[dict[str, Any]]:
    """Returns an entry of ``not_recorded`` for each incomplete file; nothing until the files are read.

    Args:
      snapshot: The run.
      hosts: Rows of table ``hosts`` by column name, in order.
    """
    progress = snapshot.loader.progress
    if progress is None or progress.more:
        return []  # tables are imported one after another, beginning with those that count the records
    files = snapshot.rows(_FILES, [len(hosts) - 1])
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
    """Describes what is missing of a file that was read to its end; None when nothing is known to be."""
    host = hosts[number]
    reason = _REASONS.get(state, "is damaged")
    is_over = host["finished"] and not host["failure"]
    if is_over and suffix in TAILED:
        kept, size = num_seen(host, suffix), host["circular_buffer_size"]
        last = ""
        if 0 < size < kept:
            kept, last = size, "the last "
        held = num_held(snapshot, suffix).get(number, 0)
        if held < kept:
            whose = f" of {host['name']}" if len(hosts) > 1 else ""
            records = f"{held} of {last}{kept} {_RECORDS[suffix]}{whose} are on record"
            return f"{records}: the file {name} {reason}; copy it again."
    if (is_over and state == ReadState.TRUNCATED) or (
        suffix not in (*TAILED, *OPTIONAL) and state == ReadState.MISSING
    ):
        return f"The file {name} {reason}; copy it again."
    return None
