"""Which steps of the program are recorded.

A step is what runs between two calls of `tb_debugger_plugin.step()`; the first one, number 0, begins with the
recording. In come those calls; out goes to the sink whether the step that begins is wanted.
"""

from __future__ import annotations

import threading

from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks.protocol import Sink


class Steps:
    """Counts the steps of one recording. Thread-safe.

    Args:
      options: Say which steps are wanted.
      sink: Is told about each step.

    Attributes:
      wanted: Whether what runs now is recorded.
    """

    def __init__(self, options: Options, sink: Sink) -> None:
        self._options = options
        self._sink = sink
        self._lock = threading.Lock()  # guards _number, and the order of what the sink is told
        self._number = -1
        self.wanted = True
        self.end_one()

    def end_one(self) -> None:
        """The next step begins."""
        with self._lock:
            self._number += 1
            self.wanted = self._options.wants_step(self._number)
            self._sink.set_wanted(self.wanted)

    @property
    def never_marked(self) -> bool:
        """Whether the user chose steps of a program that marks none."""
        return self._options.chooses_steps and self._number == 0
