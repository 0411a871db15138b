"""The folders of a run of dumps: which calls of ``Session.run`` it holds, and which files each call has.

Takes a location and returns relative paths. Links inside a dump folder are not followed, and only regular
files count.

Invariant: a folder that cannot be listed, or has gone, has no files.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tb_debugger_plugin.events.dumps.names import (
    CALL_TIMES,
    CORE_METADATA,
    DEVICE,
    FEEDS,
    FETCHES,
    GRAPH,
    DumpName,
    is_call,
    parse_call_folder,
    parse_device_folder,
    parse_dump_path,
)
from tb_debugger_plugin.events.locations import Location, RemotePath

#: Scopes inside scopes; TensorFlow's own limit on the length of a path comes earlier.
_MAX_DEPTH: Final = 500


@dataclass
class CallFiles:
    """The files of a call of ``Session.run``, as relative paths with ``/``.

    Attributes:
      dumps: The dumps in order of time, then of the path; with what their names say.
      graphs: The file of the partition graph of each device, the latest.
      devices: The devices, in order.
      metadata: The files of core metadata, in order.
      fetches: The files that name the fetches.
      feeds: The files that name the feeds.
      times: The file with the times of a call that was profiled.
      changed: When an entry was last added, in nanoseconds since 1970; 0 if not known.
    """

    dumps: list[tuple[DumpName, str]] = field(default_factory=list)
    graphs: dict[str, str] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    fetches: list[str] = field(default_factory=list)
    feeds: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    changed: int = 0


def below(folder: Location, path: str) -> Location:
    """Return the location of a relative path with ``/``; ``.`` is the folder itself."""
    return folder if path == "." else folder / path


def call_folders(folder: Location) -> list[str]:
    """Return the folders of the calls of a run, in the order of the calls.

    Args:
      folder: A session root, which has a folder for each call; or the folder of one call.

    Returns:
      Their paths relative to the folder; ``.`` if it holds the dumps of a call itself.
    """
    files, folders = folder_names(folder)
    if is_call(files, folders):
        return ["."]
    calls = [(call, name) for name in folders if (call := parse_call_folder(name)) is not None]
    return [name for _, name in sorted(calls)]


def call_files(folder: Location) -> CallFiles:
    """List the files of a call.

    Args:
      folder: The folder of the call.
    """
    found = CallFiles(changed=_changed(folder))
    names, folders = folder_names(folder)
    for name in sorted(names):
        for prefix, paths in (
            (CORE_METADATA, found.metadata),
            (FETCHES, found.fetches),
            (FEEDS, found.feeds),
            (CALL_TIMES, found.times),
        ):
            if name.startswith(prefix):
                paths.append(name)
    for name in sorted(folders):
        device = parse_device_folder(name)
        if device is not None:
            found.devices.append(device)
            _list_device(folder, name, device, found)
    found.dumps.sort(key=_in_time)
    return found


def _changed(folder: Location) -> int:
    # The times of remote folders are no times.
    with contextlib.suppress(OSError):
        return 0 if isinstance(folder, RemotePath) else folder.stat().st_mtime_ns
    return 0


def _in_time(dump: tuple[DumpName, str]) -> tuple[int, int, str]:
    name, path = dump
    return name.time, name.again, path


def _list_device(folder: Location, top: str, device: str, found: CallFiles) -> None:
    for path in _files_below(folder, top, found):
        if path.rpartition("/")[2].startswith(GRAPH):
            found.graphs[device] = max(path, found.graphs.get(device, ""), key=_graph_time)
            continue
        name = parse_dump_path(path)
        if name is not None:
            found.dumps.append((name, path))


def _graph_time(path: str) -> tuple[int, str]:
    digits = path.rpartition("_")[2]
    return (int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 20 else -1), path


def _files_below(folder: Location, top: str, found: CallFiles) -> Iterator[str]:
    if isinstance(folder, RemotePath):
        root = folder / top
        for place, names, _ in root.walk(lambda place, error: None):
            inner = str(place.relative_to(folder))
            yield from (f"{inner}/{name}" for name in names)
        return
    waiting = [(top, 0)]
    while waiting:
        path, depth = waiting.pop()
        try:
            with os.scandir(folder / path) as entries:
                found.changed = max(found.changed, os.stat(folder / path).st_mtime_ns)
                for entry in entries:
                    # Names that are not UTF-8 are none of TensorFlow's, and have no place in the tables.
                    if not _is_text(entry.name):
                        continue
                    if entry.is_file(follow_symlinks=False):
                        yield f"{path}/{entry.name}"
                    elif depth < _MAX_DEPTH and entry.is_dir(follow_symlinks=False):
                        waiting.append((f"{path}/{entry.name}", depth + 1))
        except OSError:
            continue


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in name)


def folder_names(folder: Location) -> tuple[list[str], list[str]]:
    """Return the names of the files and of the folders in a folder, in any order."""
    if isinstance(folder, RemotePath):
        with contextlib.suppress(OSError):
            return folder.list_names()
        return [], []
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if _is_text(entry.name):
                    (folders if _is_folder(entry) else files).append(entry.name)
    except OSError:
        return [], []
    return files, folders


def _is_folder(entry: os.DirEntry[str]) -> bool:
    # People collect calls by linking to them; only what is inside a device's folder must not be a link.
    return entry.is_dir(follow_symlinks=not entry.name.startswith(DEVICE))


def read_start(file: Location, limit: int) -> tuple[bytes, bool]:
    """Return the first bytes of a file, and whether they are all of it.

    Args:
      file: The file.
      limit: Most bytes.

    Raises:
      OSError: The file cannot be read.
    """
    if isinstance(file, RemotePath):
        with file.open("rb") as remote:
            data = remote.read(limit + 1)
    else:
        with file.open("rb", buffering=0) as stream:
            # Reading up to a limit makes room for all of it, which takes longer than reading a small file.
            size = os.fstat(stream.fileno()).st_size
            data = stream.read(min(size, limit) + 1) or b""
    return data[:limit], len(data) <= limit
