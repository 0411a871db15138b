"""Chooses the engines of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tb_debugger_plugin.capture.engines.grappler.survivors import OptimizedFunctions
from tb_debugger_plugin.capture.engines.plain import PlainFunctions, PlainSessions
from tb_debugger_plugin.capture.engines.unwatched import (
    UnwatchedFunctions,
    UnwatchedSessions,
    compiled_and_optimized,
    compiled_without_library,
)
from tb_debugger_plugin.capture.engines.xla.functions import CompiledFunctions
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph.session_graph import NewPart, SessionWatches
from tb_debugger_plugin.capture.graph_records import GraphRecords, KnownGraph
from tb_debugger_plugin.capture.not_recorded import NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks.protocol import Sink

# Describes engines. An engine puts watch ops into functions of one kind, or into the graphs of sessions.
#
# A recording has one engine for each kind, which `choose` selects. `plain` watches every planned tensor,
# `grappler` only those that change no optimized graph, `xla` measures tensors inside compiled functions, and
# `unwatched` reports what cannot be recorded.


class FunctionEngine(Protocol):
    """Puts watch ops into functions of one kind."""

    def watch(self, function: Function, known: KnownGraph) -> None:
        """Give the runtime a definition of a function that records its tensors.

        Args:
          function: A function that is in the `FunctionTable`, after those that it calls.
          known: Ids of its graph and tensors.

        Raises:
          OSError: A file cannot be written.
          Exception: The function cannot be watched; the runtime still has the old definition.
        """


class SessionEngine(Protocol):
    """Puts watch ops into the graphs of TF1-style sessions."""

    def watch(self, part: NewPart) -> SessionWatches:
        """Put watch ops into a part of the graph of a session.

        Args:
          part: The part. Its definition is changed in place.

        Raises:
          OSError: A file cannot be written.
        """


@dataclass(frozen=True)
class Engines:
    """The engines of a recording.

    Attributes:
      plain: For functions that XLA does not compile.
      compiled: For functions that XLA compiles.
      sessions: For the graphs of sessions.
    """

    plain: FunctionEngine
    compiled: FunctionEngine
    sessions: SessionEngine

    def of(self, function: Function) -> FunctionEngine:
        """Return the engine for a function."""
        return self.compiled if function.is_compiled else self.plain


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
