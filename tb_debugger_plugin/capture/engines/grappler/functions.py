"""Watches the tensors of functions that do not change the optimized graph."""

from __future__ import annotations

from tb_debugger_plugin.capture.engines.grappler.survivors import Survivors
from tb_debugger_plugin.capture.engines.instrument import watch_function
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph_records import KnownGraph
from tb_debugger_plugin.capture.not_recorded import NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.plan.plan import Plan, make_plan
from tb_debugger_plugin.capture.sinks.protocol import Sink


class OptimizedFunctions:
    """The engine for functions whose optimized graph must not change.

    Args:
      options: What to record.
      sink: Makes the watch ops.
      functions: The functions of the recording. Those that lose all watch ops are no longer watched.
      not_recorded: Registers what cannot be watched.
    """

    def __init__(
        self, options: Options, sink: Sink, functions: FunctionTable, not_recorded: NotRecorded
    ) -> None:
        self._options = options
        self._sink = sink
        self._functions = functions
        self._survivors = Survivors(sink, functions.watched, self._define, not_recorded)

    def watch(self, function: Function, known: KnownGraph) -> None:
        """Watch the tensors that TensorFlow's graph optimizer leaves."""
        plan = make_plan(function, known, self._options, supports_inline=self._sink.supports_inline)
        self._define(function, known, self._survivors.surviving_part(function, known, plan))

    def _define(self, function: Function, known: KnownGraph, plan: Plan) -> None:
        watch_function(function, known, plan, self._sink, self._functions.watched.get)
