"""Describes engines. An engine puts watch ops into functions of one kind, or into the graphs of sessions.

A recording has one engine for each kind, which `choose` selects. `plain` watches every planned tensor,
`grappler` only those that change no optimized graph, `xla` measures tensors inside compiled functions, and
`unwatched` reports what cannot be recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.session_graph import NewPart, Watches
from tb_debugger_plugin.capture.graph_records import KnownGraph


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

    def watch(self, part: NewPart) -> Watches:
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
