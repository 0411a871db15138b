"""Finds the runs of a logdir.

Takes a logdir and returns its runs: one for each ``tfdbg_run_id`` in each folder at any depth that holds a
``tfdbg_events.*.metadata``. The name of a run is the relative path of its folder, as in TensorBoard; programs
that shared a folder get ``name``, ``name (2)``, ... in the order in which they started.

Each host of a job may have its own folder: folders beside each other whose file sets have the same
``tfdbg_run_id`` but come from different processes are one run, named after the folder above them. A folder of
Parquet tables is a run, too.

So is a session root of tfdbg v1, with the folders ``run_<time>_<counter>`` of all its calls of
``Session.run``: the calls of a training loop are occurrences of the same tensors, and a list with a run for
each step would help nobody. The folder of one call is a run by itself when it is outside a session root.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.dumps.folders import call_folders, folder_names
from tb_debugger_plugin.events.dumps.names import CORE_METADATA, DEVICE, is_call, parse_call_folder
from tb_debugger_plugin.events.fileset import (
    METADATA,
    FileSet,
    find_file_sets,
    parse_metadata_name,
    read_file,
)
from tb_debugger_plugin.events.locations import Location, RemotePath
from tb_debugger_plugin.events.modes import mode_name
from tb_debugger_plugin.index.parquet import MANIFEST, read_manifest

#: Folders of calls that are looked into to see whether a folder is a session root.
_LOOKED_INTO: Final = 3
#: Digits of a time in microseconds.
_MAX_DIGITS: Final = 16


class RunKind(enum.Enum):
    """What a run was made of."""

    #: Event files.
    EVENTS = "events"
    #: Parquet tables.
    TABLES = "tables"
    #: Dump folders of tfdbg v1.
    DUMPS = "dumps"


@dataclass(frozen=True)
class FoundRun:
    """One run.

    Attributes:
      name: The name that users see.
      folder: Its dump root, or the folder above the dump roots of its hosts.
      run_id: The ``tfdbg_run_id`` that its file sets share; empty when the metadata cannot be read.
      file_sets: One for each host, oldest first.
      start_time: Seconds since the epoch, from the oldest metadata record, else from the file name.
      kind: What it is made of.
      mode: The mode in which it was recorded, as its metadata says; empty where they do not say it.
    """

    name: str
    folder: Location
    run_id: str
    file_sets: tuple[FileSet, ...]
    start_time: float
    kind: RunKind = RunKind.EVENTS
    mode: str = ""

    @property
    def is_of_dumps(self) -> bool:
        """Whether it is made of dump folders of tfdbg v1."""
        return self.kind is RunKind.DUMPS

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
#: Called with the names of the files of each folder.
OnFolder = Callable[[Location, list[str]], None]


def _ignore(problem: Problem) -> None:
    pass


def ignore_folder(folder: Location, names: list[str]) -> None:
    """Do nothing with the names of the files of a folder."""


def is_no_mark(name: str) -> bool:
    """Whether a file of a name marks its folder: none does."""
    return False


def _problem(path: Location, error: OSError) -> Problem:
    if isinstance(error, FileNotFoundError):
        return Problem(str(path), f"{path} does not exist.", is_missing=True)
    reason = error.strerror or str(error)
    message = reason if reason.startswith(str(path)) else f"{path} cannot be read: {reason}"
    return Problem(str(path), f"{message.rstrip('.')}.")


_Listing = tuple[Location, list[str], list[str]]


def _is_device(name: str) -> bool:
    return name.startswith(DEVICE)


def _walk(logdir: Location, on_problem: OnProblem) -> Iterator[_Listing]:
    """List the folders at and below the logdir, with the names of their files and of the folders in them.

    Folders of devices, in which tfdbg v1 makes a file for each tensor, are named but not walked.
    """

    def on_error(folder: Location, error: OSError) -> None:
        # Below the logdir, a folder may have been deleted since the folder above was listed.
        if folder == logdir or not isinstance(error, FileNotFoundError):
            on_problem(_problem(folder, error))

    if isinstance(logdir, RemotePath):
        return logdir.walk(on_error, _is_device)
    return _walk_local(logdir, on_error)


def _walk_local(logdir: Path, on_error: Callable[[Location, OSError], None]) -> Iterator[_Listing]:
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
        names_below = sorted(subfolders)
        calls = [name for name in names_below if parse_call_folder(name)]
        is_root = _holds_calls(Path(folder), calls)
        # The folders of calls are not walked, because a session root may have thousands of them.
        subfolders[:] = [
            name for name in names_below if not _is_device(name) and not (is_root and name in set(calls))
        ]
        yield Path(folder), names, names_below


def _holds_calls(folder: Location, calls: list[str]) -> bool:
    """Whether a folder is a session root, as far as its first and last call show."""
    looked_into = dict.fromkeys([*calls[:_LOOKED_INTO], *calls[-_LOOKED_INTO:]])
    return any(is_call(*folder_names(folder / name)) for name in looked_into)


def has_debug_events(
    logdir: Location, on_problem: OnProblem = _ignore, is_mark: Callable[[str], bool] = is_no_mark
) -> bool:
    """Whether any folder at or below the logdir holds a metadata file, tables or dumps; stops at the first.

    Args:
      logdir: A folder.
      on_problem: Called for each folder that could not be read until then.
      is_mark: Whether a file of a name counts, too.
    """
    return any(
        _dump_root(folder, names, folders, logdir) is not None
        or any(_is_found(folder, name) or is_mark(name) for name in names)
        for folder, names, folders in _walk(logdir, on_problem)
    )


def _is_found(folder: Location, name: str) -> bool:
    return name == MANIFEST or parse_metadata_name(folder, name) is not None


def find_runs(
    logdir: Location, on_problem: OnProblem = _ignore, on_folder: OnFolder = ignore_folder
) -> list[FoundRun]:
    """Return all runs of a logdir, sorted by name.

    Args:
      logdir: A folder; a folder that does not exist holds no runs.
      on_problem: Called for each folder or file that could not be read, and for a logdir that does not exist.
      on_folder: Called for each folder.
    """
    members: dict[tuple[Location, str], list[_Member]] = {}
    tables: list[Location] = []
    dumps: dict[Location, None] = {}
    for folder, names, folders in _walk(logdir, on_problem):
        on_folder(folder, names)
        root = _dump_root(folder, names, folders, logdir)
        if root is not None:
            dumps[root] = None
        if MANIFEST in names:
            tables.append(folder)
        if any(parse_metadata_name(folder, name) is not None for name in names):
            for files in find_file_sets(folder):
                identity = _identity(files, on_problem)
                members.setdefault((folder, identity.run_id), []).append(_Member(identity, files))
    runs = list(_named(_group_by_run(members, logdir), logdir))
    runs += _table_runs(tables, logdir, {run.name for run in runs})
    runs += _dump_runs(dumps, logdir, {run.name for run in runs})
    return sorted(runs, key=lambda run: run.name)


def _dump_root(folder: Location, names: list[str], folders: list[str], logdir: Location) -> Location | None:
    """Return the folder of the run of dumps that a folder shows: itself, or its session root."""
    if is_call(names, folders):
        is_inside = folder != logdir and parse_call_folder(folder.name) is not None
        return folder.parent if is_inside else folder
    calls = sorted(name for name in folders if parse_call_folder(name))
    return folder if calls and _holds_calls(folder, calls) else None


def name_below(folder: Location, logdir: Location) -> str:
    """Return the path from a folder to a location in it."""
    # Both are local paths, or both are remote ones.
    return str(folder.relative_to(logdir))  # type: ignore[arg-type]


def _dump_runs(folders: Iterable[Location], logdir: Location, taken: set[str]) -> Iterator[FoundRun]:
    for folder in folders:
        name = name_below(folder, logdir)
        name = f"{name} (dumps)" if name in taken else name
        yield FoundRun(name, folder, "dumps", (), _first_time(folder), RunKind.DUMPS)


def _first_time(folder: Location) -> float:
    """Return when the first call of a run of dumps began, from the names of its files."""
    (first, *_) = call_folders(folder) or ["."]
    call = parse_call_folder(first)
    if call is not None:
        return call.time / 1e6
    digits = [name.rpartition("_")[2] for name in folder_names(folder)[0] if name.startswith(CORE_METADATA)]
    times = [int(text) for text in digits if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS]
    return min(times, default=0) / 1e6


def _table_runs(folders: list[Location], logdir: Location, taken: set[str]) -> Iterator[FoundRun]:
    for folder in folders:
        # Opening the tables reports what is wrong with them.
        with contextlib.suppress(OSError):
            status = (folder / MANIFEST).stat()
            name = name_below(folder, logdir)
            name = f"{name} (tables)" if name in taken else name
            start_time = _start_time(folder, status.st_size, status.st_mtime_ns)
            yield FoundRun(name, folder, "tables", (), start_time, RunKind.TABLES)


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
    """Group members into runs, by folder; sibling folders with one job become one run of their parent."""
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


def _named(jobs: dict[Location, list[list[_Member]]], logdir: Location) -> Iterator[FoundRun]:
    for folder, runs in jobs.items():
        name = name_below(folder, logdir)
        for members in runs:
            members.sort()
        for number, members in enumerate(sorted(runs), start=1):
            first = members[0].identity
            sets = tuple(member.files for member in members)
            mode = next((member.identity.mode for member in members if member.identity.mode), "")
            run_name = name if number == 1 else f"{name} ({number})"
            yield FoundRun(run_name, folder, first.run_id, sets, first.start_time, mode=mode)


@dataclass(frozen=True, order=True)
class _Identity:
    """The start time, job, process and mode of a file set, from its metadata record."""

    start_time: float
    run_id: str = ""
    process: tuple[str, int] = ("", 0)
    mode: str = ""


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
            process = (data.host_name or files.host, data.process_id)
            # TensorFlow's own recorder stores the mode in each record only.
            mode = mode_name(data.tensor_debug_mode) if data.tensor_debug_mode else ""
            return _Identity(time, data.tfdbg_run_id, process, mode)
    return _Identity(float(files.start_seconds))
