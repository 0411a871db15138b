"""Acts on an alert: raises, ends the recording, or calls the user's function.

Takes the number of a ring, from an eager op that has just finished or from the message of a graph that
failed, or what has broken an alert rule. Exceptions from here are meant for the program, unlike all other
exceptions of the recorder.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable
from typing import Final, Protocol

import tensorflow as tf

from tb_debugger_plugin import errors
from tb_debugger_plugin.capture.on_alert import AlertAction, OnAlert
from tb_debugger_plugin.capture.sinks.protocol import FirstBad
from tb_debugger_plugin.capture.stacks.frames import RecordedFrame, is_library
from tb_debugger_plugin.events.tensorflow_names import display_name

#: What the native library puts into the message of an op that fails.
_NUMBER: Final = re.compile(r"\[tb_debugger_plugin (\d+)\]")
_log = logging.getLogger("tb_debugger_plugin")


class BadValueReason(Protocol):
    """Why a value is bad; see `tb_debugger_plugin.reading.alerts.Explanation`."""

    @property
    def headline(self) -> str:
        """One line, such as "Log in cross_entropy, train.py:68"."""

    @property
    def sentences(self) -> list[str]:
        """What the value is, why, on which line, and what helps."""


class Broken(Protocol):
    """What has broken an alert rule; see `tb_debugger_plugin.reading.rules_of_recording.BrokenRule`."""

    @property
    def headline(self) -> str:
        """The rule, what was measured, the tensor and the line."""

    @property
    def dump_root(self) -> str:
        """The folder of the recording."""


class BadValue:
    """A value with NaN or an infinity that a program has just computed.

    Use::

        with tb_debugger_plugin.record("/path/to/logdir", on_alert=lambda bad: print(bad.why())):
            model.fit(...)

    Args:
      first: What its record says.
      stack: The stack that made its op, outermost frame first.
      dump_root: The folder of the recording.
      find_reason: Reads the recording and explains the value.

    Attributes:
      op_type: Type of the op, or name of a function.
      op_name: Name of the op in its graph; empty for an eager op.
      slot: Number of the output; of an eager op, 0.
      kind: `"NaN"`, `"infinity"`, or `"NaN or infinity"` in a mode that does not distinguish them.
      headline: The op and the line, such as "Log in cross_entropy, train.py:68".
      line: The line of the program, such as "/path/to/train.py:68"; empty if it is not known.
      dump_root: The folder of the recording.
    """

    def __init__(
        self,
        first: FirstBad,
        stack: list[RecordedFrame],
        dump_root: str,
        find_reason: Callable[[BadValue], BadValueReason | None],
    ) -> None:
        self.op_type, self.op_name, self.slot, self.kind = (
            first.op_type,
            first.op_name,
            first.slot,
            first.kind,
        )
        self.graph_id = first.graph_id
        own = [frame for frame in stack if not is_library(frame.path)]
        innermost = (own or stack)[-1:]
        self.headline = display_name(first.op_type) + "".join(map(_where, innermost))
        self.line = "".join(f"{frame.path}:{frame.line}" for frame in innermost)
        self.dump_root = dump_root
        self._find_reason = find_reason
        self._reason: BadValueReason | None = None

    def why(self) -> BadValueReason | None:
        """Explain the value from what is recorded until now: the op, its inputs, the line, and what helps.

        Returns:
          None if the recording does not explain it.
        """
        if self._reason is None:
            try:
                self._reason = self._find_reason(self)
            except Exception as error:  # the facts are there without a reason
                _log.debug("A bad value cannot be explained:", exc_info=error)
        return self._reason

    def __str__(self) -> str:
        """Return the headline and the explanation, a paragraph each."""
        reason = self.why()
        headline = self.headline if reason is None else reason.headline
        what = f"{self.kind[0].upper()}{self.kind[1:]} in the output of {headline}."
        return "\n".join([what, *(reason.sentences if reason else ())])


def _where(frame: RecordedFrame) -> str:
    function = f" in {frame.function}" if frame.function else ""  # AutoGraph's lambdas have no name
    return f"{function}, {os.path.basename(frame.path)}:{frame.line}"


class NumericsError(errors.NumericsError, tf.errors.InvalidArgumentError):
    """A `tb_debugger_plugin.NumericsError` that `except tf.errors.InvalidArgumentError` catches too."""

    def __init__(self, message: str, bad: BadValue | None = None, broken: Broken | None = None) -> None:
        tf.errors.InvalidArgumentError.__init__(self, None, None, message)
        self.bad_value, self.broken_rule = bad, broken

    def __reduce__(self) -> tuple[type[NumericsError], tuple[str]]:
        return NumericsError, (self.message,)


class Alarm:
    """What follows the alerts of a recording.

    Args:
      on_alert: What the user wants.
      find: Returns the bad value of a ring; None if it was too long ago.
      end: Ends the recording.
    """

    def __init__(
        self, on_alert: OnAlert, find: Callable[[int], BadValue | None], end: Callable[[], None]
    ) -> None:
        self._on_alert = on_alert
        self._find = find
        self._end = end
        self._raised: NumericsError | None = None
        self._thread = threading.local()
        #: Whether it has ended the recording.
        self.has_stopped = False

    @property
    def raises(self) -> bool:
        """Whether alerts raise."""
        return self._on_alert.action is AlertAction.RAISE

    @property
    def is_calling(self) -> bool:
        """Whether this thread is inside of the user's function."""
        return bool(getattr(self._thread, "is_calling", False))

    def act_on_rules(self, take: Callable[[], Broken | None], *, is_last: bool = False) -> None:
        """Act on what has broken alert rules.

        An error and the end of the recording stand for all that waits, and name the most urgent one. The
        function of the user is called with each.

        Args:
          take: Returns what has broken a rule, the most urgent first; None if nothing waits.
          is_last: Whether the recording has ended.

        Raises:
          NumericsError: The user wants it.
          Exception: What the user's function raises.
        """
        if self._on_alert.action is AlertAction.CALL:
            while (one := take()) is not None:
                self._call_with(one)
            return
        found = list(iter(take, None))
        if not found or found[0] is None:
            return
        others = f" There are {len(found)} such alerts." if len(found) > 1 else ""
        if self.raises:
            self._raised = NumericsError(f"{found[0]}{others}", broken=found[0])
            raise self._raised
        _log.warning("Stopped at an alert in %s. %s.%s", found[0].dump_root, found[0].headline, others)
        self.has_stopped = True
        if not is_last:
            self._end()

    def handle(self, number: int) -> None:
        """Act on a ring.

        Args:
          number: Its number.

        Raises:
          NumericsError: The user wants it.
          Exception: What the user's function raises.
        """
        if self._on_alert.action is AlertAction.STOP:
            self.has_stopped = True
            return self._end()
        if self.raises:
            raise self._error(number)
        return self._call(number)

    def _call(self, number: int) -> None:
        bad = self._find(number)
        if bad is not None and not self.is_calling:  # ops that the user's function runs do not call it again
            self._call_with(bad)

    def _call_with(self, alert: BadValue | Broken) -> None:
        assert self._on_alert.function is not None
        self._thread.is_calling = True
        try:
            self._on_alert.function(alert)
        finally:
            self._thread.is_calling = False

    def translated(self, error: BaseException) -> BaseException:
        """Return the exception that the program gets: a `NumericsError` for a graph with a bad value.

        Args:
          error: What TensorFlow raises.
        """
        if isinstance(error, NumericsError) or not self.raises:
            return error
        message = str(error)
        numbers = _NUMBER.findall(message)
        if numbers:
            return self._error(int(numbers[0]))
        # An eager op inside tf.py_function: TensorFlow puts the text of our exception into its own.
        raised = self._raised
        return raised if raised is not None and str(raised) in message else error

    def _error(self, number: int) -> NumericsError:
        bad = self._find(number)
        text = "A tensor has an infinity or NaN." if bad is None else str(bad)
        self._raised = NumericsError(text, bad)
        return self._raised
