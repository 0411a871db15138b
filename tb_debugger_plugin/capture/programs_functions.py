"""The functions of the program, and the watch ops in them.

In come functions as they are made, and what sessions run; the runtime gets definitions with watch ops under
their names. Rules: a function that is not understood does not keep the others from being watched; after
`restore()` the runtime has the program's own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from tb_debugger_plugin.capture.functions.called import callees_first
from tb_debugger_plugin.capture.functions.copies import Copies
from tb_debugger_plugin.capture.functions.definitions import define, definition_of, restore
from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.functions.programs_view import ProgramsView
from tb_debugger_plugin.capture.graphs import Graphs, KnownGraph
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.session_graph import Watches
from tb_debugger_plugin.capture.sinks.native import NativeSink
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.watching.gathered import gathered
from tb_debugger_plugin.capture.watching.instrument import watch_function, watch_part
from tb_debugger_plugin.capture.watching.plan import Plan, make_plan, plan_of_session
from tb_debugger_plugin.capture.watching.survivors import Survivors
from tb_debugger_plugin.capture.xla.functions import CompiledFunctions
from tb_debugger_plugin.errors import in_words

_log = logging.getLogger("tb_debugger_plugin")


class ProgramsFunctions:
    """Watches functions. Lives from the beginning of a recording to `stop_showing()`.

    Args:
      options: What to record.
      sink: Makes the watch ops.
      graphs: Writes the graphs, and knows their ids.
    """

    def __init__(self, options: Options, sink: Sink, graphs: Graphs) -> None:
        self._options = options
        self._sink = sink
        self._graphs = graphs
        self._all: dict[str, Function] = {}
        self._watched: dict[str, Function] = {}  # those that have watch ops in the runtime
        self._copies = Copies(self._all.get)
        self._compiled: CompiledFunctions | None = None
        if isinstance(sink, NativeSink):
            self._compiled = CompiledFunctions(options, sink, self._add_graph, self._all.get, self._copies)
        self._survivors: Survivors | None = None
        if options.keep_graph_optimizations:
            self._survivors = Survivors(sink, self._watched, self._define_watched)
        self._view = ProgramsView(self._copies.unwatched)

    def watch(self, functions: Iterable[Function]) -> None:
        """Put watch ops into functions that are new.

        Args:
          functions: With complete graphs; a function may call others of them.

        Raises:
          OSError: A file cannot be written.
        """
        functions = list(functions)
        # All names first: how a call is treated and described depends on what it calls.
        self._all.update((function.name, function) for function in functions)
        self._watched.update((f.name, f) for f in functions if not f.is_compiled)
        for function in functions:
            self._graphs.announce(function.name, function.graph_of())
        if self._survivors is not None:
            functions = callees_first(functions)
        # A call of a compiled function is treated as one of the shell that it gets.
        for function in sorted(functions, key=lambda function: not function.is_compiled):
            self._watch(function)

    def watch_session(self, graph: Any, definition: Any, new: list[Any]) -> Watches:
        """Put watch ops into what a session runs.

        Args:
          graph: The session's.
          definition: Of the part that is new to the session. It is changed.
          new: The ops of that part.
        """
        if self._survivors is not None:
            self._survivors.leave_out("sessions (tf.compat.v1.Session)")
            return Watches()
        known = self._graphs.add(graph)
        plan = plan_of_session(new, known, self._options, passes_through=self._sink.passes_through)
        return watch_part(definition, known, plan, self._sink, self._watched.get)

    def stop_showing(self) -> None:
        """Let the program see the runtime's functions as they are."""
        self._view.remove()

    def restore(self) -> None:
        """Give the runtime back the program's own functions."""
        for function in self._all.values():
            try:
                restore(function)
            except Exception as error:  # it goes on with watch ops that are silent
                _log.debug("%s keeps its watch ops", function.name, exc_info=error)
        self._copies.remove()

    def _add_graph(self, function: Function) -> KnownGraph:
        return self._graphs.add(function.graph_of())

    def _watch(self, function: Function) -> None:
        known = self._add_graph(function)
        self._view.keep(function)
        try:
            if function.is_compiled:
                self._watch_compiled(function)
            else:
                self._define_watched(function, known, self._plan(function, known))
        except OSError:
            raise
        except Exception as error:  # a graph that we do not understand: the others are still worth having
            self._watched.pop(function.name, None)
            _log.warning("The debugger does not watch the function %s: %s.", function.name, in_words(error))
            _log.debug("What went wrong:", exc_info=error)
            if function.is_compiled:
                self._call_unwatched(function)

    def _plan(self, function: Function, known: KnownGraph) -> Plan:
        plan = make_plan(function, known, self._options, passes_through=self._sink.passes_through)
        if self._survivors is not None:
            return self._survivors.left_of(function, known, plan)
        return gathered(function, plan) if self._sink.passes_through else plan

    def _watch_compiled(self, function: Function) -> None:
        if self._survivors is not None:
            self._survivors.leave_out("functions that XLA compiles", function.name)
        elif self._compiled is not None and self._compiled.watch(function):
            self._watched[function.name] = function
            return
        self._call_unwatched(function)

    def _define_watched(self, function: Function, known: KnownGraph, plan: Plan) -> None:
        watch_function(function, known, plan, self._sink, self._watched.get)

    def _call_unwatched(self, function: Function) -> None:
        definition = definition_of(function)
        if self._copies.call_unwatched(definition):
            define(function, definition)
