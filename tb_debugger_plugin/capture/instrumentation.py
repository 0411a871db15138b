"""The functions of the program, and the watch ops in them.

In come functions as they are made, and what sessions run; the runtime gets definitions with watch ops under
their names. Rules: a function that is not understood does not keep the others from being watched; after
`restore()` the runtime has the program's own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from tb_debugger_plugin.capture.functions.called import (
    called_by,
    called_functions,
    callees_first,
    with_all_they_call,
)
from tb_debugger_plugin.capture.functions.copies import Copies
from tb_debugger_plugin.capture.functions.definitions import (
    define,
    definition_in_runtime,
    definition_of,
    library_of,
    restore,
)
from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.functions.original_definitions import OriginalDefinitions
from tb_debugger_plugin.capture.functions.unwatchable import without_graph
from tb_debugger_plugin.capture.functions.user_names import name_of
from tb_debugger_plugin.capture.graphs import Graphs, KnownGraph
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.session_graph import Watches
from tb_debugger_plugin.capture.sinks.native import NativeSink
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.watching.coalesce import coalesce
from tb_debugger_plugin.capture.watching.instrument import watch_function, watch_part
from tb_debugger_plugin.capture.watching.plan import Plan, make_plan, plan_of_session
from tb_debugger_plugin.capture.watching.survivors import Survivors
from tb_debugger_plugin.capture.xla.functions import CompiledFunctions
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: Names of functions of which the log has said in this process that they are not watched.
_SAID_OF: set[str] = set()
_NO_LIBRARY = (
    "The debugger sees nothing inside the function {}, which XLA compiles: TensorFlow's own debug ops, which "
    "record where the native library or a local dump_root is missing, cannot. Leave jit_compile=True out to "
    "have it recorded."
)
_log = logging.getLogger("tb_debugger_plugin")


class Instrumentation:
    """Watches functions. Lives from the beginning of a recording to `stop_showing()`.

    Args:
      options: What to record.
      sink: Makes the watch ops.
      graphs: Writes the graphs, and knows their ids.
      not_recorded: Takes the functions that cannot be watched.
    """

    def __init__(self, options: Options, sink: Sink, graphs: Graphs, not_recorded: NotRecorded) -> None:
        self._not_recorded = not_recorded
        self._options = options
        self._sink = sink
        self._graphs = graphs
        self._all: dict[str, Function] = {}
        self._watched: dict[str, Function] = {}  # those that have watch ops in the runtime
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
        # A call of a compiled function is treated as one of the wrapper that it gets.
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
        plain = type(definition).FromString(definition.SerializeToString())
        known = self._graphs.add(graph)
        brought = {function.signature.name: function for function in library_of(plain).function}
        self._say_what_has_no_graph([name for op in new for name in called_functions(op)], brought.get)
        try:
            plan = plan_of_session(new, known, self._options, passes_through=self._sink.passes_through)
            return watch_part(definition, known, plan, self._sink, self._watched.get)
        except OSError:
            definition.CopyFrom(plain)
            raise
        except Exception as error:  # a graph that we do not understand
            definition.CopyFrom(plain)
            _log.debug("What went wrong:", exc_info=error)
            message = f"The debugger does not record what a tf.compat.v1.Session runs: {user_message(error)}."
            missing = Missing(NotRecordedReason.NOT_INSTRUMENTED, message, graph_id=known.graph_id)
            self._not_recorded.say(missing)
            return Watches()

    def stop_showing(self) -> None:
        """Let the program see the runtime's functions as they are."""
        self._originals.remove()

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
        self._originals.keep(function)
        try:
            if function.is_compiled:
                self._watch_compiled(function)
            else:
                self._define_watched(function, known, self._plan(function, known))
        except OSError:
            raise
        except Exception as error:  # a graph that we do not understand: the others are still worth having
            self._watched.pop(function.name, None)
            _log.debug("What went wrong:", exc_info=error)
            self._say_that_it_is_not_watched(function, known, error)
            if function.is_compiled:
                self._call_unwatched(function)
        self._say_what_has_no_graph(called_by(function), definition_in_runtime)

    def _say_that_it_is_not_watched(self, function: Function, known: KnownGraph, error: Exception) -> None:
        name = name_of(function)
        # A function is found again by each later recording, though the program may be done with it.
        level = logging.DEBUG if function.name in _SAID_OF else logging.WARNING
        _SAID_OF.add(function.name)
        message = f"The debugger does not watch the function {function.name} ({name}): {user_message(error)}."
        missing = Missing(NotRecordedReason.NOT_INSTRUMENTED, message, (name,), known.graph_id, level)
        self._not_recorded.say(missing)

    def _say_what_has_no_graph(self, called: Iterable[str], definition_of: Callable[[str], Any]) -> None:
        unknown = [name for name in called if name not in self._all]
        if unknown:
            all_unknown = with_all_they_call(unknown, definition_of)
            self._not_recorded.say(without_graph(name for name in all_unknown if name not in self._all))

    def _plan(self, function: Function, known: KnownGraph) -> Plan:
        plan = make_plan(function, known, self._options, passes_through=self._sink.passes_through)
        if self._survivors is not None:
            return self._survivors.left_of(function, known, plan)
        return coalesce(function, plan) if self._sink.passes_through else plan

    def _watch_compiled(self, function: Function) -> None:
        if self._survivors is not None:
            name, graph_id = name_of(function), self._graphs.id_of_function(function.name)
            self._survivors.leave_out(f"the function {name}, which XLA compiles", name, graph_id)
        elif self._compiled is None:
            name, graph_id = name_of(function), self._graphs.id_of_function(function.name)
            self._not_recorded.say(
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
