"""Puts watch ops into the functions of the program.

Takes functions as they are made, and the graphs of sessions, and hands each to the engine for its kind, which
gives the runtime a definition with watch ops under the same name.

Invariants: a function that cannot be watched does not keep others from being watched. After `restore()` the
runtime has the program's definitions.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from tb_debugger_plugin.capture.engines.choose import choose_engines
from tb_debugger_plugin.capture.graph.called import called_by, callees_first
from tb_debugger_plugin.capture.graph.definitions import definition_in_runtime
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph.session_graph import Watches
from tb_debugger_plugin.capture.graph.unwatchable import called_without_graph
from tb_debugger_plugin.capture.graph.user_names import name_of
from tb_debugger_plugin.capture.graph_records import GraphRecords, KnownGraph
from tb_debugger_plugin.capture.hooks.original_definitions import OriginalDefinitions
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.tf_types import GraphDef, TfGraph, TfOp
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: Names of the functions that this process has already logged as not watched.
_LOGGED: set[str] = set()
_log = logging.getLogger("tb_debugger_plugin")


class Instrumentation:
    """Watches functions. Lives from the beginning of a recording to `restore()`.

    Args:
      options: What to record.
      sink: Makes the watch ops.
      graphs: Writes the graphs and returns their ids.
      not_recorded: Registers the functions that cannot be watched.
    """

    def __init__(self, options: Options, sink: Sink, graphs: GraphRecords, not_recorded: NotRecorded) -> None:
        self._graphs = graphs
        self._not_recorded = not_recorded
        self._functions = FunctionTable()
        self._engines = choose_engines(options, sink, graphs, self._functions, not_recorded)
        self._originals = OriginalDefinitions(self._functions.copies.unwatched)

    def watch(self, functions: Iterable[Function]) -> None:
        """Put watch ops into functions that are new.

        Args:
          functions: Functions with complete graphs; they may call each other.

        Raises:
          OSError: A file cannot be written.
        """
        functions = callees_first(functions)
        # All names first: how a call is treated and recorded depends on the function that it calls.
        self._functions.add(functions)
        for function in functions:
            self._graphs.announce(function.name, function.graph)
        # Compiled functions first: their callers call the wrappers.
        for function in sorted(functions, key=lambda function: not function.is_compiled):
            self._watch(function)

    def watch_session(self, graph: TfGraph, definition: GraphDef, new: list[TfOp]) -> Watches:
        """Put watch ops into a part of the graph of a session: see `SessionEngine.watch`."""
        return self._engines.sessions.watch(graph, definition, new)

    def remove_hooks(self) -> None:
        """Show the program the runtime's definitions again."""
        self._originals.remove()

    def restore(self) -> None:
        """Give the runtime the program's definitions again."""
        self._functions.restore()

    def _watch(self, function: Function) -> None:
        known = self._graphs.add(function.graph)
        self._originals.keep(function)
        try:
            self._engines.of(function).watch(function, known)
        except OSError:
            raise
        except Exception as error:  # a graph that cannot be watched: the others still can
            self._functions.watched.pop(function.name, None)
            _log.debug("%s cannot be watched:", function.name, exc_info=error)
            self._report_unwatched(function, known, error)
            if function.is_compiled:
                self._functions.call_unwatched(function)
        missing = called_without_graph(called_by(function), definition_in_runtime, self._functions.all)
        if missing is not None:
            self._not_recorded.report(missing)

    def _report_unwatched(self, function: Function, known: KnownGraph, error: Exception) -> None:
        name = name_of(function)
        # Each later recording finds the function again, although the program may no longer use it.
        level = logging.DEBUG if function.name in _LOGGED else logging.WARNING
        _LOGGED.add(function.name)
        message = f"The debugger does not watch the function {function.name} ({name}): {user_message(error)}."
        missing = Missing(NotRecordedReason.NOT_INSTRUMENTED, message, (name,), known.graph_id, level)
        self._not_recorded.report(missing)
