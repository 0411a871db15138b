"""What the program runs at this moment: lines of a thread, and whether a call is still running."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import NamedTuple

#: The Keras functions that call callbacks.
_KERAS_FUNCTIONS = ("fit", "evaluate", "predict")


class RunningLine(NamedTuple):
    """A line of the program that a thread runs.

    Attributes:
      path: The source file.
      line: The line.
      frame: Its frame.
      callee: The frame that it has called, another one each time; its own if it is the innermost.
    """

    path: str
    line: int
    frame: FrameType
    callee: FrameType


class RunningCall:
    """A call that runs in this thread. Holds the frame, and with it the arguments, until the call has ended.

    Args:
      frame: The frame of the call.
    """

    def __init__(self, frame: FrameType) -> None:
        self._frame: FrameType | None = frame
        self._thread = threading.get_ident()

    def is_running(self) -> bool:
        """Whether it has neither returned nor raised."""
        if self._frame is not None and not self._is_on_stack():
            self._frame = None
        return self._frame is not None

    def _is_on_stack(self) -> bool:
        is_this_thread = self._thread == threading.get_ident()
        frame = sys._getframe() if is_this_thread else sys._current_frames().get(self._thread)
        while frame is not None and frame is not self._frame:
            frame = frame.f_back
        return frame is not None


def keras_call() -> RunningCall | None:
    """Return this thread's innermost call of Keras's `fit`, `evaluate` or `predict`, or None."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frame.f_code.co_name in _KERAS_FUNCTIONS and package in ("keras", "tf_keras"):
            return RunningCall(frame)
        frame = frame.f_back
    return None
