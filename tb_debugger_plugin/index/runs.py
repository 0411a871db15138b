"""Which runs a logdir holds.

In comes a logdir, out come its runs: one for each ``tfdbg_run_id`` in each folder at any depth that holds a
``tfdbg_events.*.metadata``. A run is named by its folder's relative path, as TensorBoard does; programs that
shared a folder get ``name``, ``name (2)``, ... in the order in which they started.

Hosts of one job may each have a folder of their own: folders beside each other whose file sets carry one
``tfdbg_run_id`` but come from different processes are one run, named by the folder above them. A folder of
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
      name: As users see it.
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
        """The name in words: the logdir itself, whose relative path is ``.``, by its own name."""
        if self.name != "." and not self.name.startswith(". ("):
            return self.name
        return (self.folder.resolve().name or str(self.folder)) + self.name[1:]


@dataclass(frozen=True)
class Problem:
    """Something that kept us from seeing all runs there are.

    Attributes:
      place: The folder or file that could not be read.
      message: A sentence.
      is_missing: Whether it is not there, which may change when a program begins.
    """

    place: str
    message: str
    is_missing: bool = False


OnProblem = Callable[[Problem], None]


def _ignore(problem: Problem) -> None:
    pass


def _problem(place: Location, error: OSError) -> Problem:
    if isinstance(error, FileNotFoundError):
        return Problem(str(place), f"{place} does not exist.", is_missing=True)
    reason = error.strerror or str(error)
    message = reason if reason.startswith(str(place)) else f"{place} cannot be read: {reason}"
    return Problem(str(place), f"{message.rstrip('.')}.")


def _walk(logdir: Location, on_problem: OnProblem) -> Iterator[tuple[Location, list[str]]]:
    def on_error(folder: Location, error: OSError) -> None:
        # Below the logdir a folder may have been deleted since the one above was listed.
        if folder == logdir or not isinstance(error, FileNotFoundError):
            on_problem(_problem(folder, error))

    if isinstance(logdir, RemotePath):
        return logdir.walk(on_error)
    return _walk_local(logdir, on_error)


def _walk_local(
    logdir: Path, on_error: Callable[[Location, OSError], None]
) -> Iterator[tuple[Location, list[str]]]:
    # Links are followed, since people collect runs by linking to them; a loop of links is walked once.
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
    """Whether any folder at or below the logdir holds a metadata file, or tables; stops at the first.

    Args:
      logdir: A folder.
      on_problem: Called for what could not be read until then.
    """
    return any(
        name == MANIFEST or parse_metadata_name(folder, name) is not None
        for folder, names in _walk(logdir, on_problem)
        for name in names
    )


def find_runs(logdir: Location, on_problem: OnProblem = _ignore) -> list[Run]:
    """All runs of a logdir, sorted by name.

    Args:
      logdir: A folder; one that does not exist holds no runs.
      on_problem: Called for each folder or file that could not be read, and for a logdir that does not exist.
    """
    found: dict[tuple[Location, str], list[_Member]] = {}
    tables: list[Location] = []
    for folder, names in _walk(logdir, on_problem):
        if MANIFEST in names:
            tables.append(folder)
        if any(parse_metadata_name(folder, name) is not None for name in names):
            for files in find_file_sets(folder):
                identity = _identity(files, on_problem)
                found.setdefault((folder, identity.run_id), []).append(_Member(identity, files))
    runs = list(_named(_joined(found, logdir), logdir))
    runs += _of_tables(tables, logdir, {run.name for run in runs})
    return sorted(runs, key=lambda run: run.name)


def _of_tables(folders: list[Location], logdir: Location, taken: set[str]) -> Iterator[Run]:
    for folder in folders:
        # What is wrong with tables is said when they are opened.
        with contextlib.suppress(OSError):
            status = (folder / MANIFEST).stat()
            name = str(folder.relative_to(logdir))  # type: ignore[arg-type]
            name = f"{name} (tables)" if name in taken else name
            yield Run(name, folder, "tables", (), _start_of(folder, status.st_size, status.st_mtime_ns), True)


@functools.lru_cache(maxsize=4096)
def _start_of(folder: Location, size: int, modified: int) -> float:
    try:
        time = read_manifest(folder).start_time
        return time if math.isfinite(time) else 0.0
    except FormatError:
        return 0.0


def _joined(
    found: dict[tuple[Location, str], list[_Member]], top: Location
) -> dict[Location, list[list[_Member]]]:
    """Members of each run by its folder; folders beside each other that hold one job become one run above."""
    beside: dict[tuple[Location, str], list[Location]] = {}
    for folder, run_id in found:
        if run_id and folder != top:
            beside.setdefault((folder.parent, run_id), []).append(folder)
    jobs: dict[Location, list[list[_Member]]] = {}
    for (parent, run_id), folders in beside.items():
        members = [member for folder in folders for member in found[folder, run_id]]
        # Copies of a recording, and later recordings of the same process, are no other hosts.
        if len(folders) > 1 and len({member.identity.process for member in members}) == len(members):
            jobs.setdefault(parent, []).append(members)
            for folder in folders:
                del found[folder, run_id]
    for (folder, _), members in found.items():
        jobs.setdefault(folder, []).append(members)
    return jobs


def _named(jobs: dict[Location, list[list[_Member]]], logdir: Location) -> Iterator[Run]:
    for folder, runs in jobs.items():
        name = str(folder.relative_to(logdir))  # type: ignore[arg-type]
        for members in runs:
            members.sort()
        for number, members in enumerate(sorted(runs), start=1):
            first = members[0].identity
            sets = tuple(member.files for member in members)
            called = name if number == 1 else f"{name} ({number})"
            yield Run(called, folder, first.run_id, sets, first.start_time)


@dataclass(frozen=True, order=True)
class _Identity:
    """What a metadata record says of its file set: when it began, by which process of which job."""

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
        return _identity_of(files, status.st_size, status.st_mtime_ns)
    except FileNotFoundError:
        pass  # deleted since its folder was listed
    except OSError as error:
        on_problem(_problem(files.path(METADATA), error))
    return _Identity(float(files.start_seconds))


@functools.lru_cache(maxsize=4096)
def _identity_of(files: FileSet, size: int, modified: int) -> _Identity:
    # Size and time of the file are part of the key: a logdir is looked through again and again.
    contents = read_file(files.path(METADATA))
    for record in contents.records:
        if record.event.HasField("debug_metadata"):
            data, time = record.event.debug_metadata, record.event.wall_time
            # A time that is not finite is damage; nobody could sort it or send it as JSON.
            time = time if math.isfinite(time) else 0.0
            return _Identity(time, data.tfdbg_run_id, (data.host_name or files.host, data.process_id))
    return _Identity(float(files.start_seconds))
