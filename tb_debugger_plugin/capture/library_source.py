"""Lines of library files, for the frames of a stack.

In come places in files, out come the lines there. Python's `linecache` keeps what it was asked for, a string
for each line: 10 MB for the stacks of one Keras model. Here a file is kept as it is, and only until it is
forgotten.
"""

from __future__ import annotations

import io
import linecache
import tokenize
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class _Text:
    """A file.

    Attributes:
      data: Its bytes.
      encoding: Of the bytes.
      ends: Where each line ends.
    """

    data: bytes
    encoding: str
    ends: np.ndarray[tuple[int], np.dtype[np.int64]]

    def lines(self, first: int, last: int) -> list[str]:
        """Lines that the file has; its first one is 1."""
        begin = int(self.ends[first - 2]) + 1 if first > 1 else 0
        return self.data[begin : int(self.ends[last - 1])].decode(self.encoding, "replace").split("\n")


class LibraryLines:
    """What was read of library files, until it is forgotten."""

    def __init__(self) -> None:
        self._texts: dict[str, _Text] = {}

    def between(self, path: str, first: int, last: int) -> list[str]:
        """Some lines of a file, without their ends; none where it cannot be read.

        Args:
          path: As in a stack.
          first: Number of the first line, from 1.
          last: Number of the last line; what lies behind the end of the file is left out.
        """
        text = self._texts.get(path)
        if text is None:
            text = self._texts[path] = _read(path)
        last = min(last, text.ends.size)
        return [line.rstrip("\r") for line in text.lines(first, last)] if first <= last else []

    def forget(self) -> None:
        """Let go of all files; they are read again when need be."""
        self._texts.clear()


def _read(path: str) -> _Text:
    try:
        with open(path, "rb") as file:
            data = file.read()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (OSError, SyntaxError):
        # In an archive, or no file at all.
        data, encoding = "".join(linecache.getlines(path)).encode(), "utf-8"
    if data and not data.endswith(b"\n"):
        data += b"\n"
    return _Text(data, encoding, np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")))
