"""Reads lines of library files, for the frames of a stack.

Takes a path and line numbers and returns the lines. Python's `linecache` keeps every file, with a string for
each line: 10 MB for the stacks of one Keras model. This module keeps the bytes of a file, and only until
`forget`.
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
      encoding: Encoding of the bytes.
      ends: Offset of the end of each line.
    """

    data: bytes
    encoding: str
    ends: np.ndarray[tuple[int], np.dtype[np.int64]]

    def lines(self, first: int, last: int) -> list[str]:
        """Return the lines of the file, which must have them; the first line is 1."""
        begin = int(self.ends[first - 2]) + 1 if first > 1 else 0
        return self.data[begin : int(self.ends[last - 1])].decode(self.encoding, "replace").split("\n")


class LibraryLines:
    """The library files that were read since the last `forget`."""

    def __init__(self) -> None:
        self._texts: dict[str, _Text] = {}

    def between(self, path: str, first: int, last: int) -> list[str]:
        """Return some lines of a file, without line breaks; empty when the file cannot be read.

        Args:
          path: The path of a frame.
          first: Number of the first line, from 1.
          last: Number of the last line; it may be after the end of the file.
        """
        text = self._texts.get(path)
        if text is None:
            text = self._texts[path] = _read(path)
        last = min(last, text.ends.size)
        return [line.rstrip("\r") for line in text.lines(first, last)] if first <= last else []

    def forget(self) -> None:
        """Drop all files; they are read again when they are needed."""
        self._texts.clear()


def _read(path: str) -> _Text:
    try:
        with open(path, "rb") as file:
            data = file.read()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (OSError, SyntaxError):
        # A file in an archive, or no file.
        data, encoding = "".join(linecache.getlines(path)).encode(), "utf-8"
    if data and not data.endswith(b"\n"):
        data += b"\n"
    return _Text(data, encoding, np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")))
