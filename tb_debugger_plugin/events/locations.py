"""Folders and files on this machine or elsewhere.

In comes the text of a place, out comes a path: an ordinary one, or for ``memory://``, ``s3://``, ``gs://``
and whatever else fsspec knows a :class:`RemotePath`, which has what reading needs of an ordinary path.

Rule: whatever goes wrong on the way is an ``OSError``, as on a disk.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

import fsspec

from tb_debugger_plugin.errors import UsageError

_URL: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
#: What file systems call the fields that change with a file's content.
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
    """What :meth:`RemotePath.stat` tells: names as in ``os.stat_result``.

    Attributes:
      st_size: Bytes.
      st_mtime_ns: Changes with the content; no time of any clock.
      st_ino: 0.
    """

    st_size: int
    st_mtime_ns: int
    st_ino: int = 0


@dataclass(frozen=True, order=True)
class RemotePath:
    """A place that fsspec reads.

    Attributes:
      url: Such as ``s3://bucket/logs``, without a slash at the end.
    """

    url: str

    @property
    def name(self) -> str:
        """The last part."""
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        """The place above."""
        return RemotePath(self.url.rpartition("/")[0])

    def __truediv__(self, name: str) -> RemotePath:
        """A place below."""
        return RemotePath(f"{self.url}/{name}")

    def __str__(self) -> str:
        """The URL."""
        return self.url

    def resolve(self) -> RemotePath:
        """The place itself; there are no links."""
        return self

    def relative_to(self, other: RemotePath) -> PurePosixPath:
        """How to get here from a place above.

        Raises:
          ValueError: It is not above.
        """
        return PurePosixPath("/" + self.url).relative_to("/" + other.url)

    def open(self, mode: str = "rb") -> contextlib.AbstractContextManager[BinaryIO]:
        """Open for reading.

        Raises:
          OSError: It is not there or cannot be read.
        """
        with _as_os_errors(self.url):
            stream: contextlib.AbstractContextManager[BinaryIO] = self._files.open(self.url, mode)
            return stream

    def stat(self) -> RemoteStatus:
        """Size and version.

        Raises:
          OSError: It is not there or cannot be asked.
        """
        with _as_os_errors(self.url):
            found: dict[str, Any] = self._files.info(self.url)
        version = repr([found.get(name) for name in _VERSION_FIELDS]).encode()
        number = int.from_bytes(hashlib.sha256(version).digest()[:7], "little")
        return RemoteStatus(int(found.get("size") or 0), number)

    def is_file(self) -> bool:
        """Whether there is a file."""
        with contextlib.suppress(OSError), _as_os_errors(self.url):
            return bool(self._files.isfile(self.url))
        return False

    def iterdir(self) -> Iterator[RemotePath]:
        """The places directly below.

        Raises:
          OSError: It cannot be listed.
        """
        with _as_os_errors(self.url):
            names = [
                str(path).rstrip("/").rpartition("/")[2] for path in self._files.ls(self.url, detail=False)
            ]
        return (self / name for name in names)

    def walk(self, on_error: Callable[[RemotePath, OSError], None]) -> Iterator[tuple[RemotePath, list[str]]]:
        """Folders at and below this one, each with the names of its files, in order.

        Args:
          on_error: Called for each folder that cannot be listed, which is then left out.
        """
        try:
            names, folders = self._listed()
        except OSError as error:
            on_error(self, error)
            return
        yield self, names
        for name in folders:
            yield from (self / name).walk(on_error)

    def _listed(self) -> tuple[list[str], list[str]]:
        """The names of the files and of the folders directly below, in order."""
        names: dict[bool, list[str]] = {False: [], True: []}
        with _as_os_errors(self.url):
            top = str(self._files._strip_protocol(self.url)).rstrip("/")
            for entry in self._files.ls(self.url, detail=True):
                path = str(entry["name"]).rstrip("/")
                # Object stores list what marks a folder, and a file that was taken for one, as below itself.
                if path != top:
                    names[entry["type"] == "directory"].append(path.rpartition("/")[2])
        return sorted(names[False]), sorted(names[True])

    @property
    def _files(self) -> Any:
        return _file_system(self.url.partition("://")[0])


Location = Path | RemotePath


@functools.cache
def _file_system(protocol: str) -> Any:
    # A log grows while it is looked at, so listings must not be remembered.
    return fsspec.filesystem(protocol, use_listings_cache=False)


@contextlib.contextmanager
def _as_os_errors(url: str) -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        # Each service has errors of its own.
        raise OSError(f"{url} cannot be read: {error}") from error


def location(text: str | Path) -> Location:
    """The path that a text means.

    Args:
      text: A path, in which ``~`` is the home folder, or a URL.

    Raises:
      UsageError: The package that reads such URLs is missing, or nobody reads them.
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
        pass  # no credentials, or no network: whoever reads there gets it as an OSError
    return RemotePath(str(text).rstrip("/"))
