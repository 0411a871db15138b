"""Finds records that a recording wrote and its files do not hold: incomplete copies, files that were not
copied.

A recording that has ended records how many records it wrote. A recording that has not ended may end inside a
record at any time, which is ordinary and not reported; but three of its files exist from the beginning.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypedDict

from tb_debugger_plugin.analysis.snapshot import Json, Snapshot, remembered
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, OPTIONAL, TAILED
from tb_debugger_plugin.index.source import ReadState

Host = Json

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
_FILES: Final = (
    "SELECT host, suffix, name, state,"
    f" coalesce(state <> '{ReadState.OPEN.value}' OR resume >= size, false), dropped FROM files ORDER BY ALL"
)


class File(NamedTuple):
    """A file of a run.

    Attributes:
      host: The number of the host.
      suffix: The kind of file.
      name: The name.
      state: How far it was read, in a word.
      is_read: Whether it was read to its end.
      dropped: How many records its ring has overwritten.
    """

    host: int
    suffix: str
    name: str
    state: str
    is_read: bool
    dropped: int


@remembered(Snapshot.remember)
def files(snapshot: Snapshot) -> list[File]:
    """Return the files of a run."""
    return list(map(File._make, snapshot.rows(_FILES)))


def num_seen(host: Host, suffix: str) -> int:
    """Return how many records of a long file there were, according to the recording's last count."""
    return host[_SEEN[suffix]] or 0


def num_held(snapshot: Snapshot, suffix: str) -> dict[int, int]:
    """Return how many records of a long file the tables hold, by the number of the host."""
    if len(snapshot.catalog.host_names) == 1:  # mostly; to count takes longer, the longer the run
        is_eager = suffix == EXECUTION
        return {0: snapshot.num_executions if is_eager else snapshot.num_graph_executions}
    counts: dict[int, int] = snapshot.remember(f"held {suffix}", lambda: dict(snapshot.rows(_HELD[suffix])))
    return counts


def bounded_hosts(snapshot: Snapshot) -> set[int]:
    """Return the hosts whose files have reached ``max_bytes`` and have been circular buffers since then."""
    query = "SELECT DISTINCT host FROM not_recorded WHERE reason = 'bounded'"
    return {host for (host,) in snapshot.rows_of("not_recorded", query)}


def is_cut(snapshot: Snapshot) -> bool:
    """Return whether a circular buffer may have dropped a part of a run."""
    return keeping_all(snapshot) is not None


def keeping_all(snapshot: Snapshot) -> str | None:
    """Return the argument that keeps what a circular buffer may have dropped; None if it dropped nothing."""
    ((size,),) = snapshot.rows_of("hosts", "SELECT max(circular_buffer_size) FROM hosts")
    if size is not None and size > 0:
        return "circular_buffer_size=-1"
    return "max_bytes=None" if bounded_hosts(snapshot) else None


class NotRecordedJson(TypedDict):
    """Something that the program ran, or may have run, and that is not recorded."""

    host: str  #: name of the host
    reason: str  #: a word, see below
    names: list[str]  #: what is missing, by name; empty for the whole program
    message: str  #: a sentence: what is missing, why, and what helps
    graph_id: str | None  #: the graph whose tensors are missing, or null


def missing(snapshot: Snapshot, hosts: list[Host]) -> list[NotRecordedJson]:
    """Return an entry of ``not_recorded`` for each incomplete file; nothing until the files are read.

    Args:
      snapshot: The run.
      hosts: Rows of table ``hosts`` by column name, in order.
    """
    progress = snapshot.loader.progress
    if progress is None or progress.more:
        return []  # tables are imported one after another, beginning with those that count the records
    damaged = {name for (name,) in snapshot.rows_of("notices", "SELECT DISTINCT file FROM notices")}
    sentences = (
        (
            hosts[file.host]["name"],
            _sentence(snapshot, hosts, file, ReadState.CORRUPT if file.name in damaged else file.state),
        )
        for file in files(snapshot)
        if file.is_read and file.host in range(len(hosts))
    )
    return [
        {"host": host, "reason": "missing", "names": [], "message": sentence, "graph_id": None}
        for host, sentence in sentences
        if sentence
    ]


def _sentence(snapshot: Snapshot, hosts: list[Host], file: File, state: str) -> str | None:
    """Describe what is missing of a file that was read to its end; None when nothing is known to be."""
    host, suffix, name = hosts[file.host], file.suffix, file.name
    reason = _REASONS.get(state, "is damaged")
    is_over = host["finished"] and not host["failure"]
    if is_over and suffix in TAILED and file.host not in bounded_hosts(snapshot):
        kept, size = num_seen(host, suffix), host["circular_buffer_size"]
        last = ""
        if 0 < size < kept:
            kept, last = size, "the last "
        held = num_held(snapshot, suffix).get(file.host, 0)
        if held < kept:
            whose = f" of {host['name']}" if len(hosts) > 1 else ""
            records = f"{held} of {last}{kept} {_RECORDS[suffix]}{whose} are on record"
            return f"{records}: the file {name} {reason}; copy it again."
    if (is_over and state == ReadState.TRUNCATED) or (
        suffix not in (*TAILED, *OPTIONAL) and state == ReadState.MISSING
    ):
        return f"The file {name} {reason}; copy it again."
    return None
