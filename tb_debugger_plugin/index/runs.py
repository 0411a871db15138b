"""Finds the runs of a logdir.

Takes a logdir and returns its runs: one for each ``tfdbg_run_id`` in each folder at any depth that holds a
``tfdbg_events.*.metadata``. The name of a run is the relative path of its folder, as in TensorBoard; programs
that shared a folder get ``name``, ``name (2)``, ... in the order in which they started.

Each host of a job may have its own folder: folders beside each other whose file sets have the same
``tfdbg_run_id`` but come from different processes are one run, named after the folder above them. A folder of
Parquet tables is a run, too.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.fileset import (
    METADATA,
    FileSet,
    find_file_sets,
    parse_metadata_name,
    read_file,
)
from tb_debugger_plugin.events.locations import Location, RemotePath
from tb_debugger_plugin.index.parquet import MANIFEST, read_manifest


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
      name: The name that users see.
      folder: Its dump root, or the folder above the dump roots of its hosts.
      run_id: The ``tfdbg_run_id`` that its file sets share; empty when the metadata cannot be read.
      file_sets: One for each host, oldest first.
      start_time: Seconds since the epoch, from the oldest metadata record, else from the file name.
      is_tables: Whether the folder holds Parquet tables in place of event files.
    """

    name: str
    folder: Location
    run_id: str
    file_sets: tuple[FileSet, ...]
    start_time: float
    is_tables: bool = False

    @property
    def title(self) -> str:
        """The name for display: in place of ``.``, which is the logdir itself, the name of the logdir."""
        if self.name != "." and not self.name.startswith(". ("):
            return self.name
        return (self.folder.resolve().name or str(self.folder)) + self.name[1:]


@dataclass(frozen=True)
class Problem:
    """A folder or file that could not be read, so that runs may be missing.

    Attributes:
      location: The folder or file.
      message: A sentence.
      is_missing: Whether it does not exist, which may change when a program begins.
    """

    location: str
    message: str
    is_missing: bool = False


OnProblem = Callable[[Problem], None]


def _ignore(problem: Problem) -> None:
    pass


def _problem(path: Location, error: OSError) -> Problem:
    if isinstance(error, FileNotFoundError):
        return Problem(str(path), f"{path} does not exist.", is_missing=True)
    reason = error.strerror or str(error)
    message = reason if reason.startswith(str(path)) else f"{path} cannot be read: {reason}"
    return Problem(str(path), f"{message.rstrip('.')}.")


def _walk(logdir: Location, on_problem: OnProblem) -> Iterator[tuple[Location, list[str]]]:
    def on_error(folder: Location, error: OSError) -> None:
        # Below the logdir, a folder may have been deleted since the folder above was listed.
        if folder == logdir or not isinstance(error, FileNotFoundError):
            on_problem(_problem(folder, error))

    if isinstance(logdir, RemotePath):
        return logdir.walk(on_error)
    return _walk_local(logdir, on_error)


def _walk_local(
    logdir: Path, on_error: Callable[[Location, OSError], None]
) -> Iterator[tuple[Location, list[str]]]:
    # Links are followed, because people collect runs by linking to them; a loop of links is walked once.
    seen: set[str] = set()

    def failed(error: OSError) -> None:
        on_error(Path(error.filename), error)

    for folder, subfolders, names in os.walk(logdir, onerror=failed, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            subfolders.clear()
            continue
        seen.add(real)
        subfolders.sort()
        yield Path(folder), names


def has_debug_events(logdir: Location, on_problem: OnProblem = _ignore) -> bool:
    """Whether any folder at or below the logdir holds a metadata file or tables; stops at the first.

    Args:
      logdir: A folder.
      on_problem: Called for each folder that could not be read until then.
    """
    return any(
        name == MANIFEST or parse_metadata_name(folder, name) is not None
        for folder, names in _walk(logdir, on_problem)
        for name in names
    )


def find_runs(logdir: Location, on_problem: OnProblem = _ignore) -> list[Run]:
    """Returns all runs of a logdir, sorted by name.

    Args:
      logdir: A folder; a folder that does not exist holds no runs.
      on_problem: Called for each folder or file that could not be read, and for a logdir that does not exist.
    """
    members: dict[tuple[Location, str], list[_Member]] = {}
    tables: list[Location] = []
    for folder, names in _walk(logdir, on_problem):
        if MANIFEST in names:
            tables.append(folder)
        if any(parse_metadata_name(folder, name) is not None for name in names):
            for files in find_file_sets(folder):
                identity = _identity(files, on_problem)
                members.setdefault((folder, identity.run_id), []).append(_Member(identity, files))
    runs = list(_named(_group_by_run(members, logdir), logdir))
    runs += _table_runs(tables, logdir, {run.name for run in runs})
    return sorted(runs, key=lambda run: run.name)


def _table_runs(folders: list[Location], logdir: Location, taken: set[str]) -> Iterator[Run]:
    for folder in folders:
        # Opening the tables reports what is wrong with them.
        with contextlib.suppress(OSError):
            status = (folder / MANIFEST).stat()
            name = str(folder.relative_to(logdir))  # type: ignore[arg-type]
            name = f"{name} (tables)" if name in taken else name
            start_time = _start_time(folder, status.st_size, status.st_mtime_ns)
            yield Run(name, folder, "tables", (), start_time, True)


@functools.lru_cache(maxsize=4096)
def _start_time(folder: Location, size: int, modified: int) -> float:
    try:
        time = read_manifest(folder).start_time
        return time if math.isfinite(time) else 0.0
    except FormatError:
        return 0.0


def _group_by_run(
    members: dict[tuple[Location, str], list[_Member]], top: Location
) -> dict[Location, list[list[_Member]]]:
    """Groups members into runs, by folder; sibling folders with one job become one run of their parent."""
    beside: dict[tuple[Location, str], list[Location]] = {}
    for folder, run_id in members:
        if run_id and folder != top:
            beside.setdefault((folder.parent, run_id), []).append(folder)
    jobs: dict[Location, list[list[_Member]]] = {}
    for (parent, run_id), folders in beside.items():
        run_members = [member for folder in folders for member in members[folder, run_id]]
        # Copies of a recording, and later recordings of the same process, are not other hosts.
        if len(folders) > 1 and len({member.identity.process for member in run_members}) == len(run_members):
            jobs.setdefault(parent, []).append(run_members)
            for folder in folders:
                del members[folder, run_id]
    for (folder, _), run_members in members.items():
        jobs.setdefault(folder, []).append(run_members)
    return jobs


def _named(jobs: dict[Location, list[list[_Member]]], logdir: Location) -> Iterator[Run]:
    for folder, runs in jobs.items():
        name = str(folder.relative_to(logdir))  # type: ignore[arg-type]
        for members in runs:
            members.sort()
        for number, members in enumerate(sorted(runs), start=1):
            first = members[0].identity
            sets = tuple(member.files for member in members)
            run_name = name if number == 1 else f"{name} ({number})"
            yield Run(run_name, folder, first.run_id, sets, first.start_time)


@dataclass(frozen=True, order=True)
class _Identity:
    """The start time, job and process of a file set, from its metadata record."""

    start_time: float
    run_id: str = ""
    process: tuple[str, int] = ("", 0)


@dataclass(frozen=True, order=True)
class _Member:
    identity: _Identity
    files: FileSet


def _identity(files: FileSet, on_problem: OnProblem) -> _Identity:
    try:
        status = files.path(METADATA).stat()
        return _read_identity(files, status.st_size, status.st_mtime_ns)
    except FileNotFoundError:
        pass  # the file was deleted since its folder was listed
    except OSError as error:
        on_problem(_problem(files.path(METADATA), error))
    return _Identity(float(files.start_seconds))


@functools.lru_cache(maxsize=4096)
def _read_identity(files: FileSet, size: int, modified: int) -> _Identity:
    # Size and time of the file are part of the cache's key, because a logdir is searched again and again.
    contents = read_file(files.path(METADATA))
    for record in contents.records:
        if record.event.HasField("debug_metadata"):
            data, time = record.event.debug_metadata, record.event.wall_time
            # A time that is not finite is damage; it can be neither sorted nor sent as JSON.
            time = time if math.isfinite(time) else 0.0
            return _Identity(time, data.tfdbg_run_id, (data.host_name or files.host, data.process_id))
    return _Identity(float(files.start_seconds))
