"""The package's exceptions, one small tree.

Everything that this package raises on purpose is a :class:`DebuggerError`, and its text is a sentence for the
user. Each class names who has to act: the caller of the Python API (:class:`UsageError`), whoever keeps the
event files (:class:`FormatError`), or the client of the viewer (:class:`QueryError` and below).
"""

from __future__ import annotations


class DebuggerError(Exception):
    """Base of all exceptions of this package; its text says what is wrong and what to do."""


class UsageError(DebuggerError, ValueError):
    """The Python API was called in a way that cannot work: an unknown mode, a bad dump root."""


class RecordingError(DebuggerError, RuntimeError):
    """Recording cannot start or go on, for a reason outside the program: disk, permissions, a library."""


class FormatError(DebuggerError, ValueError):
    """Bytes that should be a debug event, or a file set, are not."""


class QueryError(DebuggerError):
    """A question asked of the viewer cannot be answered; the base of the reasons below."""


class BadQueryError(QueryError, ValueError):
    """The question itself is wrong: a parameter is missing, malformed or out of range."""


class NotFoundError(QueryError, LookupError):
    """What the question names (run, graph, op, file, frame) is not there."""


class NotReadyError(QueryError):
    """The answer is not known yet because the run is still being read; asking again later helps."""


class UnreadableRunError(QueryError):
    """The run's files cannot be read; asking again helps only once they change."""


def user_message(error: Exception) -> str:
    """What to tell the user of an exception: what it says, and its type where it was not made for users.

    Args:
      error: Any.
    """
    if isinstance(error, (DebuggerError, OSError)):
        return str(error)
    return f"{type(error).__name__}: {error}"
