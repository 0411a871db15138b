"""Reports functions and sessions in which a recording watches nothing."""

from __future__ import annotations

from collections.abc import Callable

from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph.session_graph import NewPart, SessionWatches
from tb_debugger_plugin.capture.graph.user_names import name_of
from tb_debugger_plugin.capture.graph_records import KnownGraph
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

_NO_LIBRARY = (
    "The debugger does not record the inside of the function {}, which XLA compiles: TensorFlow's own debug "
    "ops cannot, and they are used when the native library or a local dump_root is missing. Leave out "
    "jit_compile=True to record it."
)
_OPTIMIZED = (
    "With keep_graph_optimizations=True the debugger watches nothing in {}: leave out "
    "keep_graph_optimizations to record it."
)


def compiled_without_library(name: str, graph_id: str) -> Missing:
    """Return the report of a compiled function for which the native library is missing."""
    return Missing(NotRecordedReason.COMPILED, _NO_LIBRARY.format(name), (name,), graph_id)


def compiled_and_optimized(name: str, graph_id: str) -> Missing:
    """Return the report of a compiled function, which is not optimized by Grappler alone."""
    message = _OPTIMIZED.format(f"the function {name}, which XLA compiles")
    return Missing(NotRecordedReason.OPTIMIZED, message, (name,), graph_id)


class UnwatchedFunctions:
    """An engine that watches nothing: it only reports each function.

    Args:
      missing: Returns the report of a function from its name in the program and the id of its graph.
      functions: The functions of the recording.
      not_recorded: Takes the report.
    """

    def __init__(
        self, missing: Callable[[str, str], Missing], functions: FunctionTable, not_recorded: NotRecorded
    ) -> None:
        self._missing = missing
        self._functions = functions
        self._not_recorded = not_recorded

    def watch(self, function: Function, known: KnownGraph) -> None:
        """Report the function, and let it call functions without watch ops."""
        self._not_recorded.report(self._missing(name_of(function), known.graph_id))
        self._functions.call_unwatched(function)


class UnwatchedSessions:
    """An engine that reports sessions, whose graphs TensorFlow optimizes in another way than functions.

    Args:
      not_recorded: Takes the report.
    """

    def __init__(self, not_recorded: NotRecorded) -> None:
        self._not_recorded = not_recorded

    def watch(self, part: NewPart) -> SessionWatches:
        """Report that sessions are not recorded."""
        message = _OPTIMIZED.format("sessions (tf.compat.v1.Session)")
        self._not_recorded.report(Missing(NotRecordedReason.OPTIMIZED, message))
        return SessionWatches()
