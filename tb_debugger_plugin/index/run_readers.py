"""What reads a run of each kind into its database.

Takes a run and returns its reader: an object that imports what is new commit by commit, for a loader to
drive. A new kind of run is a row in :data:`READERS`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import duckdb

from tb_debugger_plugin.events.dumps.folders import below, call_folders
from tb_debugger_plugin.events.fileset import SUFFIXES
from tb_debugger_plugin.index.dumps.dump_importer import DumpImporter
from tb_debugger_plugin.index.importer import Importer
from tb_debugger_plugin.index.indexer import Indexer, Progress
from tb_debugger_plugin.index.runs import FoundRun, RunKind
from tb_debugger_plugin.index.source import SetFile, stat_signature

Signature = tuple[tuple[int, ...], ...]


class Reader(Protocol):
    """Keeps the database of a run up to date; lives in one thread until :meth:`close`."""

    @property
    def finished(self) -> bool:
        """Whether nothing is expected to come, so that files are checked less often."""
        ...

    def signature(self) -> Signature:
        """Return a value that changes when there may be something new."""
        ...

    def was_replaced(self) -> bool:
        """Whether everything must be read again."""
        ...

    def reset(self) -> None:
        """Forget all rows."""
        ...

    def advance(self) -> Progress:
        """Read and commit what is new, up to a limit."""
        ...

    def close(self) -> None:
        """Stop reading."""
        ...


@dataclass(frozen=True)
class RunReader:
    """How runs of a kind are read.

    Attributes:
      open: Opens a reader of a run, on a connection to its database; the number is about how many bytes of
        each file a commit has.
      signature: Returns a value that changes when the files of a run do, whether or not they can be read.
    """

    open: Callable[[FoundRun, duckdb.DuckDBPyConnection, int], Reader]
    signature: Callable[[FoundRun], list[tuple[int, ...]]]


def _event_files(run: FoundRun) -> list[tuple[int, ...]]:
    return [SetFile(files, suffix).signature() for files in run.file_sets for suffix in SUFFIXES]


def _table_files(run: FoundRun) -> list[tuple[int, ...]]:
    with contextlib.suppress(OSError):
        names = sorted(path.name for path in run.folder.iterdir())
        return [stat_signature(run.folder / name) for name in names]
    return []


def _dump_folders(run: FoundRun) -> list[tuple[int, ...]]:
    return [stat_signature(below(run.folder, name)) for name in call_folders(run.folder)]


READERS: Final = {
    RunKind.EVENTS: RunReader(lambda run, db, size: Indexer(run, db, commit_bytes=size), _event_files),
    RunKind.TABLES: RunReader(lambda run, db, size: Importer(run, db), _table_files),
    RunKind.DUMPS: RunReader(lambda run, db, size: DumpImporter(run, db, commit_bytes=size), _dump_folders),
}
