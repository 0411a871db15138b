"""Whose code a source file is: the words of ``Origin`` in ``protos/debug_event.proto``."""

from __future__ import annotations

import enum


class Origin(enum.IntEnum):
    """Whose code a source file is."""

    #: TensorFlow's own recorder does not say.
    UNKNOWN = 0
    #: The program's own.
    USER = 1
    #: Python's, or an installed package's.
    LIBRARY = 2
