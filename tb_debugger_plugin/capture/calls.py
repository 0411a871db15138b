"""Knows whether a call in the program still runs, however it is left."""

from __future__ import annotations

import sys
import threading
from types import FrameType

#: What Keras calls callbacks from.
_OF_KERAS = ("fit", "evaluate", "predict")


class Call:
    """A call that runs in this thread. It keeps the frame, and with it the arguments, until it was left.

    Args:
      frame: Of the call.
    """

    def __init__(self, frame: FrameType) -> None:
        self._frame: FrameType | None = frame
        self._thread = threading.get_ident()

    def is_running(self) -> bool:
        """Whether it has neither returned nor raised."""
        if self._frame is not None and not self._is_on_its_stack():
            self._frame = None
        return self._frame is not None

    def _is_on_its_stack(self) -> bool:
        here = self._thread == threading.get_ident()
        frame = sys._getframe() if here else sys._current_frames().get(self._thread)
        while frame is not None and frame is not self._frame:
            frame = frame.f_back
        return frame is not None


def of_keras() -> Call | None:
    """The innermost call of Keras's `fit`, `evaluate` or `predict` in this thread; None without one."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frame.f_code.co_name in _OF_KERAS and package in ("keras", "tf_keras"):
            return Call(frame)
        frame = frame.f_back
    return None
