"""The exceptions of this package.

Every error that this package raises on purpose is a :class:`DebuggerError`, and its text is a sentence for
the user. The class shows who has to act: the caller of the Python API (:class:`UsageError`), the person who
keeps the event files (:class:`FormatError`), or the client of the viewer (:class:`QueryError` and its
subclasses).
"""

from __future__ import annotations

import re
from typing import Final

#: Where the texts of TensorFlow's errors name an op.
_FAILING: Final = (
    re.compile(r"\{\{(?:function_)?node ([^}\s]+)\}\}"),
    re.compile(r"\[\[node ([^\s\]]+)"),
    re.compile(r"Original stack trace for '([^']+)'"),
)


class DebuggerError(Exception):
    """Base class of all exceptions of this package; its text names the problem and what to do about it."""


class UsageError(DebuggerError, ValueError):
    """The Python API was called in a way that cannot work: an unknown mode, a bad dump root."""


class RecordingError(DebuggerError, RuntimeError):
    """Recording cannot start or go on, for a reason outside the program: disk, permissions, a library."""


class FormatError(DebuggerError, ValueError):
    """Some bytes are not the debug event, or the file set, that they should be."""


class NumericsError(DebuggerError, ArithmeticError):
    """A program with `check_numerics()`, or a recording with `on_alert="raise"`, has computed a bad value.

    Or it has broken one of the rules in `alert_rules`. Its text says which op made the value, on which line,
    from which inputs, and why. It is also a `tf.errors.InvalidArgumentError`, which
    `tf.debugging.enable_check_numerics` raises.

    Args:
      message: The text.
      bad_value: The value, a `tb_debugger_plugin.BadValue`; None if it is not known.
      broken_rule: What broke a rule, a `tb_debugger_plugin.BrokenRule`; None if it is about a bad value.
    """

    def __init__(self, message: str, bad_value: object = None, broken_rule: object = None) -> None:
        super().__init__(message)
        self.bad_value = bad_value
        self.broken_rule = broken_rule


class QueryError(DebuggerError):
    """The viewer cannot answer a query; base class of the reasons below."""


class BadQueryError(QueryError, ValueError):
    """The query itself is wrong: a parameter is missing, malformed or out of range."""


class NotFoundError(QueryError, LookupError):
    """The query names a run, graph, op, file or frame that does not exist."""


class NotReadyError(QueryError):
    """The answer is not known yet because the run is still being read; a later query gets it."""


class UnreadableRunError(QueryError):
    """The run's files cannot be read; queries fail until the files change."""


class ForbiddenError(QueryError):
    """The viewer does not change a program for this request: it may be forged, or the viewer is read-only."""


class KeyNeededError(ForbiddenError):
    """The request needs the key of the viewer, which its user has."""


class TooLargeError(QueryError):
    """The body of the request is larger than the viewer reads."""


def user_message(error: Exception) -> str:
    """Return the text of an exception for the user, after its type if the text was not written for users.

    Args:
      error: Any exception.
    """
    if isinstance(error, (DebuggerError, OSError)):
        return str(error)
    return f"{type(error).__name__}: {error}"


def failing_node(error: BaseException) -> str | None:
    """Return the name of the op that an error of TensorFlow is about; None if it does not say."""
    op = getattr(error, "op", None)
    name = getattr(op, "name", None)
    if isinstance(name, str) and name:
        return name
    found = (pattern.findall(str(error)) for pattern in _FAILING)
    return next((names[-1] for names in found if names), None)
