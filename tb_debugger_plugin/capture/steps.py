"""Counts the steps of the program and decides which are recorded.

A step is what the program does between two calls of `tb_debugger_plugin.step()`. Step 0 begins with the
recording. At each call, the sink gets the decision for the next step. While the recording is paused, nothing
is recorded.
"""

from __future__ import annotations

import threading

from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks.protocol import Sink


class Steps:
    """Counts the steps of one recording. Thread-safe.

    Args:
      options: Choose the steps.
      sink: Gets the decision for each step.

    Attributes:
      is_recorded: Whether what the program computes now is recorded.
    """

    def __init__(self, options: Options, sink: Sink) -> None:
        self._options = options
        self._sink = sink
        self._lock = threading.Lock()  # guards _number and _is_paused, and the order of calls of the sink
        self._number = -1
        self._is_paused = False
        self.is_recorded = True
        self.end()

    def end(self) -> None:
        """End the current step and begin the next one."""
        with self._lock:
            self._number += 1
            self._decide()

    def pause(self, is_paused: bool) -> None:
        """Record nothing from now on, or go on."""
        with self._lock:
            self._is_paused = is_paused
            self._decide()

    def _decide(self) -> None:
        self.is_recorded = not self._is_paused and self._options.records_step(self._number)
        self._sink.set_wanted(self.is_recorded)

    @property
    def never_marked(self) -> bool:
        """Whether the user chose steps, but the program has marked none."""
        return self._options.chooses_steps and self._number == 0
