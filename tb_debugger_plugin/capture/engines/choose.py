"""Chooses the engines of a recording."""

from __future__ import annotations

from tb_debugger_plugin.capture.engines.engine import Engines, FunctionEngine
from tb_debugger_plugin.capture.engines.grappler.functions import OptimizedFunctions
from tb_debugger_plugin.capture.engines.plain import PlainFunctions, PlainSessions
from tb_debugger_plugin.capture.engines.unwatched import (
    UnwatchedFunctions,
    UnwatchedSessions,
    compiled_and_optimized,
    compiled_without_library,
)
from tb_debugger_plugin.capture.engines.xla.functions import CompiledFunctions
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph_records import GraphRecords
from tb_debugger_plugin.capture.not_recorded import NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks.protocol import Sink


def choose_engines(
    options: Options, sink: Sink, graphs: GraphRecords, functions: FunctionTable, not_recorded: NotRecorded
) -> Engines:
    """Return the engines for the options and the sink of a recording.

    Args:
      options: What to record.
      sink: Makes the watch ops.
      graphs: Writes the graphs and returns their ids.
      functions: The functions of the recording.
      not_recorded: Registers what cannot be watched.
    """
    if options.keep_graph_optimizations:
        return Engines(
            OptimizedFunctions(options, sink, functions, not_recorded),
            UnwatchedFunctions(compiled_and_optimized, functions, not_recorded),
            UnwatchedSessions(not_recorded),
        )
    compiled: FunctionEngine = UnwatchedFunctions(compiled_without_library, functions, not_recorded)
    if sink.for_compiled is not None:
        compiled = CompiledFunctions(options, sink.for_compiled, graphs, functions, not_recorded)
    return Engines(
        PlainFunctions(options, sink, functions),
        compiled,
        PlainSessions(options, sink, graphs, functions, not_recorded),
    )
