"""Puts watch ops into the functions of the program.

Takes functions as they are made, and the graphs of sessions, and gives the runtime definitions with watch ops
under the same names.

Invariants: a function that cannot be watched does not keep others from being watched. After `restore()` the
runtime has the program's definitions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from tb_debugger_plugin.capture.engines.grappler.survivors import Survivors
from tb_debugger_plugin.capture.engines.instrument import watch_function, watch_part
from tb_debugger_plugin.capture.engines.xla.functions import CompiledFunctions
from tb_debugger_plugin.capture.graph.called import (
    called_by,
    called_functions,
    callees_first,
    with_callees,
)
from tb_debugger_plugin.capture.graph.copies import Copies
from tb_debugger_plugin.capture.graph.definitions import (
    define,
    definition_in_runtime,
    definition_of,
    library_of,
    restore,
)
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.session_graph import Watches
from tb_debugger_plugin.capture.graph.unwatchable import without_graph
from tb_debugger_plugin.capture.graph.user_names import name_of
from tb_debugger_plugin.capture.graph_records import Graphs, KnownGraph
from tb_debugger_plugin.capture.hooks.original_definitions import OriginalDefinitions
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.plan.coalesce import coalesce
from tb_debugger_plugin.capture.plan.plan import Plan, make_plan, plan_of_session
from tb_debugger_plugin.capture.sinks.native import NativeSink
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: Names of the functions that this process has already logged as not watched.
_LOGGED: set[str] = set()
_NO_LIBRARY = (
    "The debugger does not record the inside of the function {}, which XLA compiles: TensorFlow's own debug "
    "ops cannot, and they are used when the native library or a local dump_root is missing. Leave out "
    "jit_compile=True to record it."
)
_log = logging.getLogger("tb_debugger_plugin")


class Instrumentation:
    """Watches functions. Lives from the beginning of a recording to `remove_hooks()`.

    Args:
      options: What to record.
      sink: Makes the watch ops.
      graphs: Writes the graphs and returns their ids.
      not_recorded: Registers the functions that cannot be watched.
    """

    def __init__(self, options: Options, sink: Sink, graphs: Graphs, not_recorded: NotRecorded) -> None:
        self._not_recorded = not_recorded
        self._options = options
        self._sink = sink
        self._graphs = graphs
        self._all: dict[str, Function] = {}
        self._watched: dict[str, Function] = {}  # the functions with watch ops in the runtime
        self._copies = Copies(self._all.get)
        self._compiled: CompiledFunctions | None = None
        if isinstance(sink, NativeSink):
            self._compiled = CompiledFunctions(
                options, sink, self._add_graph, self._all.get, self._copies, not_recorded
            )
        self._survivors: Survivors | None = None
        if options.keep_graph_optimizations:
            self._survivors = Survivors(sink, self._watched, self._define_watched, not_recorded)
        self._originals = OriginalDefinitions(self._copies.unwatched)

    def watch(self, functions: Iterable[Function]) -> None:
        """Put watch ops into functions that are new.

        Args:
          functions: Functions with complete graphs; they may call each other.

        Raises:
          OSError: A file cannot be written.
        """
        functions = list(functions)
        # All names first: how a call is treated and recorded depends on the function that it calls.
        self._all.update((function.name, function) for function in functions)
        self._watched.update((f.name, f) for f in functions if not f.is_compiled)
        for function in functions:
            self._graphs.announce(function.name, function.graph_of())
        if self._survivors is not None:
            functions = callees_first(functions)
        # Compiled functions first: their callers call the wrappers.
        for function in sorted(functions, key=lambda function: not function.is_compiled):
            self._watch(function)

    def watch_session(self, graph: Any, definition: Any, new: list[Any]) -> Watches:
        """Put watch ops into a part of the graph of a session.

        Args:
          graph: The session's graph.
          definition: Definition of the part that is new to the session. It is changed in place.
          new: The ops of that part.
        """
        if self._survivors is not None:
            self._survivors.report_unwatched("sessions (tf.compat.v1.Session)")
            return Watches()
        plain = type(definition).FromString(definition.SerializeToString())
        known = self._graphs.add(graph)
        library = {function.signature.name: function for function in library_of(plain).function}
        self._report_without_graph([name for op in new for name in called_functions(op)], library.get)
        try:
            plan = plan_of_session(new, known, self._options, supports_inline=self._sink.supports_inline)
            return watch_part(definition, known, plan, self._sink, self._watched.get)
        except OSError:
            definition.CopyFrom(plain)
            raise
        except Exception as error:  # a graph that cannot be watched
            definition.CopyFrom(plain)
            _log.debug("The graph of a session cannot be watched:", exc_info=error)
            message = f"The debugger does not record a tf.compat.v1.Session: {user_message(error)}."
            missing = Missing(NotRecordedReason.NOT_INSTRUMENTED, message, graph_id=known.graph_id)
            self._not_recorded.report(missing)
            return Watches()

    def remove_hooks(self) -> None:
        """Show the program the runtime's definitions again."""
        self._originals.remove()

    def restore(self) -> None:
        """Give the runtime the program's definitions again."""
        for function in self._all.values():
            try:
                restore(function)
            except Exception as error:  # it keeps watch ops that record nothing
                _log.debug("%s keeps its watch ops", function.name, exc_info=error)
        self._copies.remove()

    def _add_graph(self, function: Function) -> KnownGraph:
        return self._graphs.add(function.graph_of())

    def _watch(self, function: Function) -> None:
        known = self._add_graph(function)
        self._originals.keep(function)
        try:
            if function.is_compiled:
                self._watch_compiled(function)
            else:
                self._define_watched(function, known, self._plan(function, known))
        except OSError:
            raise
        except Exception as error:  # a graph that cannot be watched: the others still can
            self._watched.pop(function.name, None)
            _log.debug("%s cannot be watched:", function.name, exc_info=error)
            self._report_unwatched(function, known, error)
            if function.is_compiled:
                self._call_unwatched(function)
        self._report_without_graph(called_by(function), definition_in_runtime)

    def _report_unwatched(self, function: Function, known: KnownGraph, error: Exception) -> None:
        name = name_of(function)
        # Each later recording finds the function again, although the program may no longer use it.
        level = logging.DEBUG if function.name in _LOGGED else logging.WARNING
        _LOGGED.add(function.name)
        message = f"The debugger does not watch the function {function.name} ({name}): {user_message(error)}."
        missing = Missing(NotRecordedReason.NOT_INSTRUMENTED, message, (name,), known.graph_id, level)
        self._not_recorded.report(missing)

    def _report_without_graph(self, called: Iterable[str], definition_of: Callable[[str], Any]) -> None:
        unknown = [name for name in called if name not in self._all]
        if unknown:
            all_unknown = with_callees(unknown, definition_of)
            self._not_recorded.report(without_graph(name for name in all_unknown if name not in self._all))

    def _plan(self, function: Function, known: KnownGraph) -> Plan:
        plan = make_plan(function, known, self._options, supports_inline=self._sink.supports_inline)
        if self._survivors is not None:
            return self._survivors.surviving_part(function, known, plan)
        return coalesce(function, plan) if self._sink.supports_inline else plan

    def _watch_compiled(self, function: Function) -> None:
        if self._survivors is not None:
            name, graph_id = name_of(function), self._graphs.id_of_function(function.name)
            self._survivors.report_unwatched(f"the function {name}, which XLA compiles", name, graph_id)
        elif self._compiled is None:
            name, graph_id = name_of(function), self._graphs.id_of_function(function.name)
            self._not_recorded.report(
                Missing(NotRecordedReason.COMPILED, _NO_LIBRARY.format(name), (name,), graph_id)
            )
        elif self._compiled.watch(function):
            self._watched[function.name] = function
            return
        self._call_unwatched(function)

    def _define_watched(self, function: Function, known: KnownGraph, plan: Plan) -> None:
        watch_function(function, known, plan, self._sink, self._watched.get)

    def _call_unwatched(self, function: Function) -> None:
        definition = definition_of(function)
        if self._copies.call_unwatched(definition):
            define(function, definition)
