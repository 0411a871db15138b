"""Reads and writes the tables about the files themselves: ``files``, ``hosts`` and ``notices``.

Rows are written inside the caller's transaction. ``files`` and ``hosts`` are short, so a commit
that changes them replaces them; notices are appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import duckdb

from tb_debugger_plugin.index.columns import insert_rows
from tb_debugger_plugin.index.rows import FileRow, HostRow, NoticeRow, kinds_of
from tb_debugger_plugin.index.source import FileState, Notice

#: Notices of one file; a file that is damaged everywhere must not fill the page.
MAX_NOTICES: Final = 20


def file_row(host: int, suffix: str, name: str, state: FileState, dropped: int) -> FileRow:
    """Return a row of ``files``."""
    reached = state.state.value
    return FileRow(host, suffix, name, state.fingerprint, state.resume, state.size, reached, dropped)


def load_files(connection: duckdb.DuckDBPyConnection) -> list[FileRow]:
    """Return the rows of ``files``; none before the first commit."""
    query = f"SELECT {', '.join(FileRow._fields)} FROM files"
    return list(map(FileRow._make, connection.execute(query).fetchall()))


def replace_files(connection: duckdb.DuckDBPyConnection, rows: Sequence[FileRow]) -> None:
    """Replace the rows of ``files``."""
    connection.execute("DELETE FROM files")
    insert_rows(connection, "files", kinds_of(FileRow), rows)


def load_hosts(connection: duckdb.DuckDBPyConnection) -> list[HostRow]:
    """Return the rows of ``hosts`` by number; none before the first commit."""
    query = f"SELECT {', '.join(HostRow._fields)} FROM hosts ORDER BY host"
    return list(map(HostRow._make, connection.execute(query).fetchall()))


def replace_hosts(connection: duckdb.DuckDBPyConnection, rows: Sequence[HostRow]) -> None:
    """Replace the rows of ``hosts``."""
    connection.execute("DELETE FROM hosts")
    insert_rows(connection, "hosts", kinds_of(HostRow), rows)


class FileNotices:
    """Appends to ``notices``, up to :data:`MAX_NOTICES` for each file; lives as long as the indexer.

    Args:
      counts: The number of notices so far, by name of the file.
    """

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts

    def save(self, connection: duckdb.DuckDBPyConnection, notices: Iterable[Notice]) -> bool:
        """Append notices, except those over the limit of their file; return whether there were any."""
        rows = []
        for notice in notices:
            count = self._counts[notice.file] = self._counts.get(notice.file, 0) + 1
            if count <= MAX_NOTICES:
                rows.append(NoticeRow("warning", notice.file, notice.position, notice.message))
        insert_rows(connection, "notices", kinds_of(NoticeRow), rows)
        return bool(rows)


def load_notices(connection: duckdb.DuckDBPyConnection) -> FileNotices:
    """Return notices that count on from the last commit."""
    return FileNotices(
        dict(connection.execute("SELECT file, count(*) FROM notices GROUP BY file").fetchall())
    )
