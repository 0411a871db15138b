"""Which runs a logdir holds.

In comes a logdir, out come its runs: one for each ``tfdbg_run_id`` in each folder at any depth that holds a
``tfdbg_events.*.metadata``. A run is named by its folder's relative path, as TensorBoard does; programs that
shared a folder get ``name``, ``name (2)``, ... in the order in which they started.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tb_debugger_plugin.events.fileset import (
    METADATA,
    FileSet,
    find_file_sets,
    parse_metadata_name,
    read_file,
)
from tb_debugger_plugin.events.places import Place, RemotePath


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
      name: As users see it.
      folder: Its dump root.
      run_id: The ``tfdbg_run_id`` that its file sets share; empty when the metadata cannot be read.
      file_sets: One for each host, oldest first.
      start_time: Seconds since the epoch, from the oldest metadata record, else from the file name.
    """

    name: str
    folder: Place
    run_id: str
    file_sets: tuple[FileSet, ...]
    start_time: float


def _walk(logdir: Place) -> Iterator[tuple[Place, list[str]]]:
    if isinstance(logdir, Path):
        return _walk_local(logdir)
    return _walk_remote(logdir)


def _walk_remote(logdir: RemotePath) -> Iterator[tuple[Place, list[str]]]:
    # A place that cannot be listed holds no runs, as a folder that is not there.
    with contextlib.suppress(OSError):
        yield from logdir.walk()


def _walk_local(logdir: Path) -> Iterator[tuple[Place, list[str]]]:
    # Links are followed, since people collect runs by linking to them; a loop of links is walked once.
    seen: set[str] = set()
    for folder, subfolders, names in os.walk(logdir, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            subfolders.clear()
            continue
        seen.add(real)
        subfolders.sort()
        yield Path(folder), names


def has_debug_events(logdir: Place) -> bool:
    """Whether any folder at or below the logdir holds a metadata file; stops at the first."""
    return any(
        parse_metadata_name(folder, name) is not None for folder, names in _walk(logdir) for name in names
    )


def find_runs(logdir: Place) -> list[Run]:
    """All runs of a logdir, sorted by name.

    Args:
      logdir: A folder; one that does not exist holds no runs.
    """
    runs: list[Run] = []
    for folder, names in _walk(logdir):
        if any(parse_metadata_name(folder, name) is not None for name in names):
            runs.extend(_runs_of(folder, str(folder.relative_to(logdir))))  # type: ignore[arg-type]
    return sorted(runs, key=lambda run: run.name)


def _runs_of(folder: Place, name: str) -> Iterator[Run]:
    groups: dict[str, list[tuple[float, FileSet]]] = {}
    for files in find_file_sets(folder):
        run_id, start_time = _identity(files)
        groups.setdefault(run_id, []).append((start_time, files))
    ordered = sorted(groups.items(), key=lambda item: min(item[1])[0])
    for number, (run_id, members) in enumerate(ordered, start=1):
        members.sort()
        sets = tuple(files for _, files in members)
        yield Run(name if number == 1 else f"{name} ({number})", folder, run_id, sets, members[0][0])


def _identity(files: FileSet) -> tuple[str, float]:
    try:
        status = files.path(METADATA).stat()
        return _identity_of(files, status.st_size, status.st_mtime_ns)
    except OSError:
        return "", float(files.start_seconds)


@functools.lru_cache(maxsize=4096)
def _identity_of(files: FileSet, size: int, modified: int) -> tuple[str, float]:
    # Size and time of the file are part of the key: a logdir is looked through again and again.
    contents = read_file(files.path(METADATA))
    for record in contents.records:
        if record.event.HasField("debug_metadata"):
            time = record.event.wall_time
            # A time that is not finite is damage; nobody could sort it or send it as JSON.
            return record.event.debug_metadata.tfdbg_run_id, time if math.isfinite(time) else 0.0
    return "", float(files.start_seconds)
