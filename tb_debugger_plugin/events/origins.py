"""The origins of source files, as in ``CodeOrigin`` of ``protos/debug_event.proto``."""

from __future__ import annotations

import enum


class CodeOrigin(enum.IntEnum):
    """The origin of a source file: whose code it is."""

    #: Not known: TensorFlow's own recorder does not record it.
    UNKNOWN = 0
    #: The program's own code.
    USER = 1
    #: Code of Python or of an installed package.
    LIBRARY = 2
