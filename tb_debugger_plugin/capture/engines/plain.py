"""Watches every planned tensor of a function, or of the graph of a session."""

from __future__ import annotations

import logging

from tb_debugger_plugin.capture.engines.instrument import watch_function, watch_part
from tb_debugger_plugin.capture.graph.called import called_functions
from tb_debugger_plugin.capture.graph.definitions import library_of
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph.session_graph import NewPart, SessionWatches
from tb_debugger_plugin.capture.graph.unwatchable import called_without_graph
from tb_debugger_plugin.capture.graph_records import GraphRecords, KnownGraph
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.plan.coalesce import coalesce
from tb_debugger_plugin.capture.plan.plan import Plan, make_plan, plan_of_session
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.tf_types import GraphDef, TfOp
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

_log = logging.getLogger("tb_debugger_plugin")


class PlainFunctions:
    """The engine for functions whose graph may change when it is optimized.

    Args:
      options: What to record.
      sink: Makes the watch ops.
      functions: The functions of the recording.
    """

    def __init__(self, options: Options, sink: Sink, functions: FunctionTable) -> None:
        self._options = options
        self._sink = sink
        self._functions = functions

    def watch(self, function: Function, known: KnownGraph) -> None:
        """Watch each tensor that the options choose."""
        watch_function(function, known, self.plan(function, known), self._sink, self._functions.watched.get)

    def plan(self, function: Function, known: KnownGraph) -> Plan:
        """Return how each tensor is watched that the options choose."""
        plan = make_plan(
            function,
            known,
            self._options,
            supports_inline=self._sink.supports_inline,
            isolated=self._functions.isolated,
        )
        return coalesce(function, plan) if self._sink.supports_inline else plan


class PlainSessions:
    """The engine for the graphs of sessions.

    Args:
      options: What to record.
      sink: Makes the watch ops.
      graphs: Writes the graphs and returns their ids.
      functions: The functions of the recording.
      not_recorded: Registers what cannot be watched.
    """

    def __init__(
        self,
        options: Options,
        sink: Sink,
        graphs: GraphRecords,
        functions: FunctionTable,
        not_recorded: NotRecorded,
    ) -> None:
        self._options = options
        self._sink = sink
        self._graphs = graphs
        self._functions = functions
        self._not_recorded = not_recorded

    def watch(self, part: NewPart) -> SessionWatches:
        """Watch each tensor of the part that the options choose; none if that is not possible."""
        definition = part.definition
        plain = type(definition).FromString(definition.SerializeToString())
        known = self._graphs.add(part.graph)
        self._report_without_graph(plain, part.ops)
        try:
            plan = plan_of_session(
                part.ops,
                known,
                self._options,
                supports_inline=self._sink.supports_inline,
                can_rewire=part.can_rewire,
            )
            return watch_part(definition, known, plan, self._sink, self._functions.watched.get)
        except OSError:
            definition.CopyFrom(plain)
            raise
        except Exception as error:  # a graph that cannot be watched
            definition.CopyFrom(plain)
            _log.debug("The graph of a session cannot be watched:", exc_info=error)
            message = f"The debugger does not record a tf.compat.v1.Session: {user_message(error)}."
            missing = Missing(NotRecordedReason.NOT_INSTRUMENTED, message, graph_id=known.graph_id)
            self._not_recorded.report(missing)
            return SessionWatches()

    def _report_without_graph(self, definition: GraphDef, new: list[TfOp]) -> None:
        library = {function.signature.name: function for function in library_of(definition).function}
        called = [name for op in new for name in called_functions(op)]
        missing = called_without_graph(called, library.get, self._functions.all)
        if missing is not None:
            self._not_recorded.report(missing)
