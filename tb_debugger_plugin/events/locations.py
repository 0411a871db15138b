"""Locations: folders and files on this machine, or at URLs that fsspec reads.

Converts the text of a location into a path: a ``Path``, or a :class:`RemotePath` for ``memory://``, ``s3://``,
``gs://`` and every other protocol of fsspec. A remote path has the methods of a ``Path`` that readers need.

Invariant: every failure to read a location is an ``OSError``, as on a disk.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

import fsspec

from tb_debugger_plugin.errors import UsageError

_URL: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
#: The names that file systems give to fields that change with a file's content.
_VERSION_FIELDS: Final = (
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "created",
    "ETag",
    "etag",
    "generation",
)


@dataclass(frozen=True)
class RemoteStatus:
    """The result of :meth:`RemotePath.stat`, with names as in ``os.stat_result``.

    Attributes:
      st_size: Size in bytes.
      st_mtime_ns: A number that changes with the content; it is not a time.
      st_ino: 0.
    """

    st_size: int
    st_mtime_ns: int
    st_ino: int = 0


@dataclass(frozen=True, order=True)
class RemotePath:
    """A location that fsspec reads.

    Attributes:
      url: A URL such as ``s3://bucket/logs``, without a slash at the end.
    """

    url: str

    @property
    def name(self) -> str:
        """The last part of the URL."""
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        """The folder that contains this location."""
        return RemotePath(self.url.rpartition("/")[0])

    def __truediv__(self, name: str) -> RemotePath:
        """Return a location directly below this one."""
        return RemotePath(f"{self.url}/{name}")

    def __str__(self) -> str:
        """Return the URL."""
        return self.url

    def resolve(self) -> RemotePath:
        """Return this location unchanged: there are no links."""
        return self

    def relative_to(self, other: RemotePath) -> PurePosixPath:
        """Return the path from a location above to this one.

        Raises:
          ValueError: `other` is not above this location.
        """
        return PurePosixPath("/" + self.url).relative_to("/" + other.url)

    def open(self, mode: str = "rb") -> contextlib.AbstractContextManager[BinaryIO]:
        """Open the file for reading.

        Raises:
          OSError: The file does not exist or cannot be read.
        """
        with _as_os_errors(self.url):
            stream: contextlib.AbstractContextManager[BinaryIO] = self._files.open(self.url, mode)
            return stream

    def stat(self) -> RemoteStatus:
        """Return the size and the version of the file.

        Raises:
          OSError: The file does not exist, or its file system does not answer.
        """
        with _as_os_errors(self.url):
            info: dict[str, str | int | None] = self._files.info(self.url)
        version = repr([info.get(name) for name in _VERSION_FIELDS]).encode()
        number = int.from_bytes(hashlib.sha256(version).digest()[:7], "little")
        return RemoteStatus(int(info.get("size") or 0), number)

    def is_file(self) -> bool:
        """Whether there is a file at this location."""
        with contextlib.suppress(OSError), _as_os_errors(self.url):
            return bool(self._files.isfile(self.url))
        return False

    def iterdir(self) -> Iterator[RemotePath]:
        """List the locations directly below this one.

        Raises:
          OSError: The folder cannot be listed.
        """
        with _as_os_errors(self.url):
            names = [
                str(path).rstrip("/").rpartition("/")[2] for path in self._files.ls(self.url, detail=False)
            ]
        return (self / name for name in names)

    def walk(
        self,
        on_error: Callable[[RemotePath, OSError], None],
        prune: Callable[[str], bool] = lambda name: False,
    ) -> Iterator[tuple[RemotePath, list[str], list[str]]]:
        """List this folder and the folders below it, each with the names of its files and folders, in order.

        Args:
          on_error: Called for each folder that cannot be listed; that folder is left out.
          prune: Whether a folder of a name is not walked.
        """
        try:
            names, folders = self.list_names()
        except OSError as error:
            on_error(self, error)
            return
        yield self, names, folders
        for name in folders:
            if not prune(name):
                yield from (self / name).walk(on_error, prune)

    def list_names(self) -> tuple[list[str], list[str]]:
        """Return the names of the files and of the folders directly below this folder, in order.

        Raises:
          OSError: The folder cannot be listed.
        """
        names: dict[bool, list[str]] = {False: [], True: []}
        with _as_os_errors(self.url):
            top = str(self._files._strip_protocol(self.url)).rstrip("/")
            for entry in self._files.ls(self.url, detail=True):
                path = str(entry["name"]).rstrip("/")
                # Object stores list a folder's marker, or a file treated as a folder, as an entry of itself.
                if path != top:
                    names[entry["type"] == "directory"].append(path.rpartition("/")[2])
        return sorted(names[False]), sorted(names[True])

    @property
    def _files(self) -> fsspec.AbstractFileSystem:
        return _file_system(self.url.partition("://")[0])


Location = Path | RemotePath


@functools.cache
def _file_system(protocol: str) -> object:
    # A logdir grows while it is viewed, so listings must not be cached.
    return fsspec.filesystem(protocol, use_listings_cache=False)


@contextlib.contextmanager
def _as_os_errors(url: str) -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        # Each service raises its own kinds of errors.
        raise OSError(f"{url} cannot be read: {error}") from error


def location(text: str | Path) -> Location:
    """Convert a text into the path that it names.

    Args:
      text: A path, in which ``~`` is the home folder, or a URL.

    Raises:
      UsageError: The package that reads such URLs is missing, or fsspec has no reader for them.
    """
    match = _URL.match(str(text))
    if match is None:
        return Path(text).expanduser()
    if match[1] == "file":
        return Path(str(text)[len("file://") :])
    try:
        _file_system(match[1])
    except (ImportError, ValueError) as error:
        raise UsageError(f"{match[1]}:// cannot be read here: {error}") from error
    except Exception:
        pass  # No credentials or no network: the first read raises this as an OSError.
    return RemotePath(str(text).rstrip("/"))
