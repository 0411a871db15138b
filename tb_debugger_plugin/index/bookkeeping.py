"""Writes the tables about the files themselves: ``files``, ``hosts`` and ``notices``.

Takes rows and a connection inside the caller's transaction. ``files`` and ``hosts`` are short, so each commit
replaces them; notices are appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import duckdb

from tb_debugger_plugin.index.columns import insert_rows
from tb_debugger_plugin.index.source import FileState, Notice

#: Notices of one file; a file that is damaged everywhere must not fill the page.
MAX_NOTICES: Final = 20
_FILE_KINDS: Final = {
    **{"host": "i4", "suffix": "O", "name": "O", "fingerprint": "O", "resume": "i8", "size": "i8"},
    **{"state": "O", "dropped": "i8"},
}
HOST_KINDS: Final = {
    **{"host": "i4", "name": "O", "file_prefix": "O", "start_time": "f8", "tensorflow_version": "O"},
    **{"file_version": "O", "recorder_version": "O", "mode": "u1", "circular_buffer_size": "i8"},
    **{"process_id": "i8", "program": "O", "seen_executions": "i8", "seen_traces": "i8", "finished": "?"},
    **{"failure": "O"},
}


def file_row(host: int, suffix: str, name: str, state: FileState, dropped: int) -> tuple[Any, ...]:
    """Returns a row of ``files``."""
    return (host, suffix, name, state.fingerprint, state.resume, state.size, state.state, dropped)


def replace_files(connection: duckdb.DuckDBPyConnection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Replace the rows of ``files`` by rows from :func:`file_row`."""
    connection.execute("DELETE FROM files")
    insert_rows(connection, "files", _FILE_KINDS, rows)


def replace_hosts(connection: duckdb.DuckDBPyConnection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Replace the rows of ``hosts`` by rows from :meth:`~tb_debugger_plugin.index.describe.Host.fields`."""
    connection.execute("DELETE FROM hosts")
    insert_rows(connection, "hosts", HOST_KINDS, rows)


class Notices:
    """Appends to ``notices``, up to :data:`MAX_NOTICES` for each file; lives as long as the indexer.

    Args:
      counts: The number of notices so far, by name of the file.
    """

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts

    def save(self, connection: duckdb.DuckDBPyConnection, notices: Iterable[Notice]) -> None:
        """Append notices, except those over the limit of their file."""
        rows = []
        for notice in notices:
            count = self._counts[notice.file] = self._counts.get(notice.file, 0) + 1
            if count <= MAX_NOTICES:
                rows.append(("warning", notice.file, notice.position, notice.message))
        kinds = {"severity": "O", "file": "O", "position": "i8", "message": "O"}
        insert_rows(connection, "notices", kinds, rows)
