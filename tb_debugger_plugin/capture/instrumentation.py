"""Puts watch ops into the functions of the program.

Takes functions as they are made, and the graphs of sessions, and hands each to the engine for its kind, which
gives the runtime a definition with watch ops under the same name.

Invariants: a function that cannot be watched does not keep others from being watched. After `restore()` the
runtime has the program's definitions.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import replace

from tensorflow.python.eager.polymorphic_function import attributes

from tb_debugger_plugin.capture.engines.choose import Engines, choose_engines
from tb_debugger_plugin.capture.graph.called import CallGraph, called_by, callees_first
from tb_debugger_plugin.capture.graph.definitions import definition_in_runtime
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph.redefinitions import Redefinitions
from tb_debugger_plugin.capture.graph.session_graph import NewPart, OfRun, SessionWatches
from tb_debugger_plugin.capture.graph.unwatchable import called_without_graph
from tb_debugger_plugin.capture.graph.user_names import name_of
from tb_debugger_plugin.capture.graph_records import GraphRecords, KnownGraph
from tb_debugger_plugin.capture.hooks.original_definitions import OriginalDefinitions
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.watched import WatchedTensors
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: Names of the functions that this process has already logged as not watched.
_LOGGED: set[str] = set()
#: The attribute of a function that XLA compiles.
_COMPILE = attributes.XLA_COMPILE
_log = logging.getLogger("tb_debugger_plugin")


class Instrumentation:
    """Watches functions. Lives from the beginning of a recording to `restore()`.

    Args:
      options: What to record.
      sink: Makes the watch ops.
      graphs: Writes the graphs and returns their ids.
      not_recorded: Registers the functions that cannot be watched.
      tensors: Describes the watched tensors.
    """

    #: Each run of a session runs the watch ops of what it needs.
    of_session_run: OfRun | None = None

    def __init__(
        self,
        options: Options,
        sink: Sink,
        graphs: GraphRecords,
        not_recorded: NotRecorded,
        tensors: WatchedTensors,
    ) -> None:
        self._options = options
        self._sink = sink
        self._has_sessions = False
        self._is_interactive = options.is_interactive and sink.gate is not None
        # Optimized graphs must not change, so their watch ops stay as they are.
        self._can_isolate = self._is_interactive and not options.keep_graph_optimizations
        self._tensors = tensors
        self._redefinitions = Redefinitions()
        #: Runs functions, also while they get other definitions: see `Redefinitions.call`.
        self.around_calls = self._redefinitions.call
        self._defining = threading.RLock()  # held while functions of an interactive recording are defined
        self._graphs = graphs
        self._not_recorded = not_recorded
        self._functions = FunctionTable()
        self._engines = self._choose_engines()
        self._originals = OriginalDefinitions(self._functions.copies.unwatched)
        self._stepped_into: set[str] = set()  # functions with isolated tensors, and their callers

    def _choose_engines(self) -> Engines:
        return choose_engines(self._options, self._sink, self._graphs, self._functions, self._not_recorded)

    def watch_existing(self, functions: Iterable[Function]) -> None:
        """Put watch ops into functions that the program may be calling: see `watch`."""
        with self._redefinitions.change():
            self.watch(functions)

    def watch(self, functions: Iterable[Function]) -> None:
        """Put watch ops into functions that are new.

        Args:
          functions: Functions with complete graphs; they may call each other.

        Raises:
          OSError: A file cannot be written.
        """
        functions = callees_first(functions)
        with self._defining:
            self._watch_all(functions)
        if self._is_interactive:
            has_compiled = any(function.is_compiled for function in functions)
            self._tensors.add_new(self._compiled_graphs() if has_compiled else ())

    def _watch_all(self, functions: list[Function]) -> None:
        # All names first: how a call is treated and recorded depends on the function that it calls.
        self._functions.add(functions)
        for function in functions:
            self._graphs.announce(function.name, function.graph)
        # Compiled functions first: their callers call the wrappers.
        for function in sorted(functions, key=lambda function: not function.is_compiled):
            self._watch(function)

    def watch_session(self, part: NewPart) -> SessionWatches:
        """Put watch ops into a part of the graph of a session: see `SessionEngine.watch`."""
        self._has_sessions = True
        watches = self._engines.sessions.watch(part)
        if self._is_interactive:
            self._tensors.add_new()
        return watches

    def make_interactive(self) -> tuple[str, ...]:
        """Let a debugger stop at tensors of graphs, also of those that exist, from the next call on.

        Returns:
          What does not stop at its tensors: it exists already, and cannot be defined again.
        """
        if self._is_interactive or self._sink.gate is None:
            return ()
        if self._options.keep_graph_optimizations:
            return ("functions, whose optimizations are kept",)
        self._options = replace(self._options, is_interactive=True)
        with self._defining:
            self._sink.make_interactive()
            self._is_interactive = self._can_isolate = True
            self._engines = self._choose_engines()
            graphs = [(one, one.graph_of()) for one in self._functions.all.values()]  # keeps them
            functions = callees_first([one for one, graph in graphs if graph is not None])
            with self._redefinitions.change():
                # Compiled functions first: see `_watch_all`.
                for function in sorted(functions, key=lambda one: not one.is_compiled):
                    self._redefine(function)
            has_pipelines = any(self._graphs.add(one.graph).in_pipeline for one in functions)
        self._tensors.add_new(self._compiled_graphs())
        named = (
            ("sessions made before", self._has_sessions),
            ("input pipelines made before", has_pipelines),
        )
        return tuple(name for name, exists in named if exists)

    def isolate(self, tensor_ids: frozenset[int]) -> frozenset[int]:
        """Give tensors watch ops of their own, which the next call runs: see `Recording`."""
        if not self._can_isolate:
            return frozenset()
        with self._defining:
            isolated = self._isolate(tensor_ids)
        self._tensors.add_new()
        constants = {tensor.tensor_id for tensor in self._tensors.all() if tensor.is_constant}
        return isolated - constants

    def _isolate(self, tensor_ids: frozenset[int]) -> frozenset[int]:
        before, self._functions.isolated = self._functions.isolated, tensor_ids
        functions = list(self._functions.all.values())
        graphs = {function.name: function.graph_of() for function in functions}  # keeps them
        calls = CallGraph(functions)
        inside = {
            function.name: self._graphs.tensors_of(graphs[function.name]) for function in calls.functions
        }
        changed = {name for name, ids in inside.items() if (ids & before) != (ids & tensor_ids)}
        # A compiled function runs what it calls as its own code.
        stepped_into = calls.with_callers({name for name, ids in inside.items() if ids & tensor_ids})
        was_stepped_into, self._stepped_into = self._stepped_into, stepped_into
        changed |= {
            function.name
            for function in calls.functions
            if function.is_compiled and (function.name in stepped_into) != (function.name in was_stepped_into)
        }
        # Callers too: the runtime forgets how it ran a function only when that gets a new definition.
        redefined = calls.with_callers(changed)
        with self._redefinitions.change():
            for function in calls.functions:
                if function.name in redefined:
                    self._redefine(function)
        return tensor_ids & frozenset().union(*inside.values())

    def _redefine(self, function: Function) -> None:
        known = self._graphs.add(function.graph)
        try:
            if function.is_compiled and function.name in self._stepped_into:
                attrs = {name: value for name, value in function.attrs.items() if name != _COMPILE}
                self._engines.plain.watch(replace(function, attrs=attrs), known)
            else:
                self._engines.of(function).watch(function, known)
        except OSError:
            raise
        except Exception as error:  # it keeps the definition that it has
            _log.debug("%s cannot be defined again:", function.name, exc_info=error)

    def _compiled_graphs(self) -> set[str]:
        """Return the ids of the graphs that run as code that XLA compiled."""
        compiled = {function.name for function in self._functions.all.values() if function.is_compiled}
        if not compiled:
            return set()
        calls = CallGraph(self._functions.all.values())
        return {self._graphs.id_of_function(name) for name in calls.only_below(compiled)}

    def remove_hooks(self) -> None:
        """Show the program the runtime's definitions again."""
        self._originals.remove()

    def restore(self) -> None:
        """Give the runtime the program's definitions again. Calls of other threads wait, if they pass through
        `around_calls`.
        """
        with self._redefinitions.change():
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
