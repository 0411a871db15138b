"""Reports what a recording does not hold although the program ran it, or may have run it.

Each report is a line of the log and a record of the recording, in the same words, so that missing records are
not mistaken for good values.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

from tb_debugger_plugin.capture.options import Options, dtypes_of
from tb_debugger_plugin.capture.stacks.frames import EventWriter
from tb_debugger_plugin.events.messages import DebugEvent
from tb_debugger_plugin.events.not_recorded import NotRecordedReason


def other_backend() -> Missing | None:
    """Return what is not recorded because Keras has another backend; None when its backend is TensorFlow."""
    keras = sys.modules.get("keras")
    get_backend = getattr(getattr(keras, "config", None), "backend", None)
    backend = "tensorflow" if get_backend is None else str(get_backend())
    if backend == "tensorflow":
        return None
    return Missing(
        NotRecordedReason.OTHER_BACKEND,
        f"The debugger only records TensorFlow operations, but Keras computes with {backend}: set the "
        "environment variable KERAS_BACKEND to tensorflow before the program imports Keras.",
    )


def bound_reached(limit: int) -> Missing:
    """Return what is not recorded because the event files are as large as they may become.

    Args:
      limit: `max_bytes`.
    """
    return Missing(
        NotRecordedReason.BOUNDED,
        f"The recording has nearly reached {limit / 1e6:,.0f} MB (max_bytes): what is on record stays, and "
        "from here on only first bad tensors and the end are added. Give a larger max_bytes or None, or "
        "record less: every_n_steps, function_regex, op_regex.",
    )


#: Most names in a sentence; the others are only counted.
_MOST_NAMES = 10
_log = logging.getLogger("tb_debugger_plugin")


@dataclass(frozen=True)
class Missing:
    """Something of the program that a recording does not hold.

    Attributes:
      reason: Why it is missing.
      message: One sentence: what is missing, why, and what helps.
      names: The user's names of the missing things; empty when they are not known or the message covers all.
      graph_id: Id of the graph whose tensors are missing; empty when no graph is recorded.
      level: Level of the line in the log; below a warning when the user has chosen to leave it out.
    """

    reason: NotRecordedReason
    message: str
    names: tuple[str, ...] = ()
    graph_id: str = ""
    level: int = logging.WARNING


class NotRecorded:
    """Registers what one recording does not hold. Thread-safe.

    Args:
      writer: Takes `graphs` records.
    """

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer
        self._lock = threading.Lock()  # guards _reported
        self._reported: set[Hashable] = set()

    def report(self, missing: Missing) -> None:
        """Log something once for each name, and record it once for each name and graph.

        Errors are only logged: the program and the recording go on.

        Args:
          missing: What to report.
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
            except Exception as error:  # a later write ends the recording if the file cannot be written
                _log.debug("The recording does not hold this report: %s", missing.message, exc_info=error)

    def _is_new(self, key: Hashable) -> bool:
        with self._lock:
            is_new = key not in self._reported
            self._reported.add(key)
            return is_new


def left_out(requested: Options, recorded: Options) -> Iterator[Missing]:
    """Yield what the options of a recording leave out, one sentence per option.

    Args:
      requested: The user's options.
      recorded: The part of them that the sink supports.
    """
    for sentence in _filters_in_words(requested):
        yield Missing(NotRecordedReason.FILTERED, sentence, level=logging.INFO)
    unsupported = [name for name in dtypes_of(requested) if name not in dtypes_of(recorded)]
    if unsupported:
        yield Missing(
            NotRecordedReason.FILTERED,
            f"Tensors of {name_list(unsupported)} are not recorded: TensorFlow's own debug ops cannot, and "
            "they are used when the native library or a local dump_root is missing. Install a C++ compiler "
            "and reinstall tb-debugger-plugin.",
            level=logging.INFO,
        )
    if requested.keep_values != recorded.keep_values:
        yield Missing(
            NotRecordedReason.FILTERED,
            "In keep_values, only_bad keeps nothing, and max_total_bytes has no effect: TensorFlow's own "
            "debug ops do not support them, and they are used when the native library or a local dump_root "
            "is missing. Install a C++ compiler and reinstall tb-debugger-plugin.",
        )
    if requested.keep_graph_optimizations:
        yield Missing(
            NotRecordedReason.OPTIMIZED,
            "Only tensors that survive TensorFlow's graph optimizer are recorded (keep_graph_optimizations).",
            level=logging.INFO,
        )


def _filters_in_words(options: Options) -> Iterator[str]:
    if options.op_regex is not None:
        pattern = options.op_regex.pattern
        yield f"Only tensors of ops whose type matches {pattern!r} are recorded (op_regex)."
    if options.function_regex is not None:
        pattern = options.function_regex.pattern
        yield f"Only tensors of functions whose name contains {pattern!r} are recorded (function_regex)."
    if options.name_regex is not None:
        pattern = options.name_regex.pattern
        yield f"Only tensors of graph ops whose name contains {pattern!r} are recorded (name_regex)."
    dtypes = dtypes_of(options)
    if dtypes != dtypes_of(replace(options, tensor_dtypes=None)):
        yield f"Only tensors of {name_list(dtypes) or 'no dtype'} are recorded (tensor_dtypes)."
    if options.every_n_steps > 1:
        yield f"Only one of {options.every_n_steps} steps is recorded (every_n_steps)."
    first, end = options.step_range
    if options.step_range != (0, None):
        steps = f"from {first} on" if end is None else f"{first} to {end - 1}"
        yield f"Only steps {steps} are recorded (step_range)."


def name_list(names: Iterable[str]) -> str:
    """Names for a sentence, each once; when there are many, the first names and the number of the others."""
    names = sorted(set(names))
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
