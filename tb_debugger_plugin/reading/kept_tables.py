"""The tables that are kept of runs: which there are, and how they are deleted.

Nothing is lost with them: whoever opens the run makes them again. Tables that a viewer has open stay.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.cache import (
    Cached,
    cache_limit,
    database_path,
    databases,
    is_in_use,
    remove_unused,
)
from tb_debugger_plugin.index.runs import find_runs


class Cleaned(NamedTuple):
    """What has become of tables.

    Attributes:
      deleted: Those that were deleted, or would be.
      in_use: Those that a viewer has open.
    """

    deleted: list[Cached]
    in_use: list[Cached]

    @property
    def limit(self) -> int:
        """How many bytes of tables may be kept."""
        return cache_limit()


def clean(logdir: Location | None = None, *, dry_run: bool = False) -> Cleaned:
    """Delete the tables of the runs of a logdir, including runs that no longer exist.

    Args:
      logdir: The logdir; None = all tables.
      dry_run: Whether nothing is deleted.
    """
    cached = databases() if logdir is None else _databases_of(logdir)
    is_free = (lambda path: not is_in_use(path)) if dry_run else remove_unused
    deleted = [database for database in cached if is_free(database.path)]
    return Cleaned(deleted, [database for database in cached if database not in deleted])


def _databases_of(logdir: Location) -> list[Cached]:
    paths = {database_path(run) for run in find_runs(logdir)}
    # Not resolve(), which raises in older Pythons for a link that leads to itself.
    top = os.path.realpath(logdir) if isinstance(logdir, Path) else str(logdir)
    return [
        database
        for database in databases()
        if database.path in paths or f"{database.folder}/".startswith(f"{top}/")
    ]


def delete_tables(folder: Path) -> None:
    """Delete the tables of the runs in a folder that is about to go, or to change."""
    with contextlib.suppress(OSError):
        for run in find_runs(folder):
            tables = database_path(run)
            if tables.exists():
                remove_unused(tables)
