"""Reads and keeps files that belong to one user: no pipe, no link, no file of somebody else."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from tb_debugger_plugin.errors import FormatError


def own_bytes(path: Path, most: int, *, is_private: bool) -> bytes:
    """Read a regular file of this user; never waits, whatever the path names.

    Args:
      path: The file.
      most: The largest file that is read, in bytes.
      is_private: Whether nobody else may read or write it.

    Raises:
      FormatError: It is not such a file.
      OSError: It cannot be read.
    """
    # A pipe must not block, and a link may lead anywhere.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise FormatError("It is no regular file.")
        if status.st_uid != os.geteuid():
            raise FormatError("It belongs to another user.")
        if is_private and status.st_mode & 0o077:
            raise FormatError("Other users may read or write it, so its secret may be known.")
        content = file.read(most + 1)
    if len(content) > most:
        raise FormatError(f"It is larger than {most} bytes.")
    return content


def make_private(path: Path, content: bytes) -> None:
    """Make a file that only this user can read, as a whole, unless there is one.

    Args:
      path: The file.
      content: Its content.

    Raises:
      OSError: It cannot be made.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        with contextlib.suppress(FileExistsError):
            os.link(unfinished, path)
    finally:
        unfinished.unlink()
