"""Says what a recording does not hold though the program ran it, or may have.

Each thing is a line of the log and a record of the recording, in the same words, so that whoever looks at the
recording later does not take silence for health.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

from tb_debugger_plugin.capture.frames import EventWriter
from tb_debugger_plugin.capture.options import Options, dtypes_of
from tb_debugger_plugin.events.messages import DebugEvent
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: So many names are given in a sentence; of the others, how many there are.
_MOST_NAMES = 10
_log = logging.getLogger("tb_debugger_plugin")


@dataclass(frozen=True)
class Missing:
    """Something of the program that a recording does not hold.

    Attributes:
      reason: Why.
      message: One sentence: what is missing, why, and what helps.
      names: What is missing, as its author knows it; empty where it is all of the program.
      graph_id: The graph whose tensors are missing, where it is on record.
      level: Of the line in the log; below a warning where the user asked for it.
    """

    reason: NotRecordedReason
    message: str
    names: tuple[str, ...] = ()
    graph_id: str = ""
    level: int = logging.WARNING


class NotRecorded:
    """What one recording does not hold. Thread-safe.

    Args:
      writer: Takes `graphs` records.
    """

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer
        self._lock = threading.Lock()  # guards _said
        self._said: set[Hashable] = set()

    def say(self, missing: Missing) -> None:
        """Log something once for each name, and put it on record once for each name and graph.

        Whatever goes wrong here reaches nobody: the program goes on, and the recording.

        Args:
          missing: What there is to say.
        """
        name = (missing.reason, missing.names or missing.message)
        if self._is_new(name):
            _log.log(missing.level, "%s", missing.message)
        if self._is_new((*name, missing.graph_id)):
            event = DebugEvent()
            event.not_recorded.reason = int(missing.reason)
            event.not_recorded.names.extend(missing.names)
            event.not_recorded.message = missing.message
            event.not_recorded.graph_id = missing.graph_id
            try:
                self._writer.write("graphs", event)
            except Exception as error:  # a file that cannot be written ends the recording where that matters
                _log.debug("This is not on record: %s", missing.message, exc_info=error)

    def _is_new(self, key: Hashable) -> bool:
        with self._lock:
            is_new = key not in self._said
            self._said.add(key)
            return is_new


def left_out(asked: Options, recorded: Options) -> Iterator[Missing]:
    """What the options of a recording leave out, a sentence for each of them.

    Args:
      asked: What the user wants recorded.
      recorded: The part of it that can be.
    """
    for sentence in _filters_in_words(asked):
        yield Missing(NotRecordedReason.FILTERED, sentence, level=logging.INFO)
    cannot_be = [name for name in dtypes_of(asked) if name not in dtypes_of(recorded)]
    if cannot_be:
        yield Missing(
            NotRecordedReason.FILTERED,
            f"Tensors of {joined(cannot_be)} are not recorded: TensorFlow's own debug ops, which record "
            "where the native library or a local dump_root is missing, cannot. Install a C++ compiler and "
            "reinstall tb-debugger-plugin.",
            level=logging.INFO,
        )
    if asked.keep_graph_optimizations:
        yield Missing(
            NotRecordedReason.OPTIMIZED,
            "Only tensors that TensorFlow's graph optimizer leaves are recorded (keep_graph_optimizations).",
            level=logging.INFO,
        )


def _filters_in_words(options: Options) -> Iterator[str]:
    if options.op_regex is not None:
        pattern = options.op_regex.pattern
        yield f"Only tensors of ops whose type matches {pattern!r} are recorded (op_regex)."
    if options.function_regex is not None:
        pattern = options.function_regex.pattern
        yield f"Only tensors of functions in whose name {pattern!r} is found are recorded (function_regex)."
    if options.name_regex is not None:
        pattern = options.name_regex.pattern
        yield f"Only tensors of graph ops in whose name {pattern!r} is found are recorded (name_regex)."
    dtypes = dtypes_of(options)
    if dtypes != dtypes_of(replace(options, tensor_dtypes=None)):
        yield f"Only tensors of {joined(dtypes) or 'no dtype'} are recorded (tensor_dtypes)."
    if options.every_n_steps > 1:
        yield f"Only one of {options.every_n_steps} steps is recorded (every_n_steps)."
    first, end = options.step_range
    if options.step_range != (0, None):
        steps = f"from {first} on" if end is None else f"{first} to {end - 1}"
        yield f"Only steps {steps} are recorded (step_range)."


def joined(names: Iterable[str]) -> str:
    """Names for a sentence, each once, the first of them when there are many."""
    names = sorted(set(names))
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
