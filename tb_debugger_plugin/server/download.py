"""A file that is made while it is sent, so that it is never whole in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Download:
    """An answer that the browser saves as a file.

    Attributes:
      name: The name of the file; letters, digits, ``_``, ``-`` and ``.``.
      content_type: The MIME type.
      size: The number of bytes.
      chunks: The bytes, one part after another.
      close: Called after the last part, or when the client has gone.
    """

    name: str
    content_type: str
    size: int
    chunks: Iterator[bytes]
    close: Callable[[], None]
