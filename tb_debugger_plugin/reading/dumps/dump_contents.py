"""What :class:`~tb_debugger_plugin.reading.dumps.dump_dir.DebugDumpDir` answers from: graphs and data.

A dump folder and a recording each have a class that provides it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tb_debugger_plugin.analysis.snapshot import Json, SqlRow
from tb_debugger_plugin.events.dumps.datum import DebugTensorDatum
from tb_debugger_plugin.events.dumps.files import CoreMetadata
from tb_debugger_plugin.reading.dumps.debug_graph import DebugGraph


@dataclass(frozen=True)
class Partition:
    """A graph whose nodes have distinct names.

    Attributes:
      device: The device on which it ran; empty for the graph of a function, whose nodes have devices.
      graph_id: The id of the graph of a function; empty in a dump folder.
      graph: Its nodes.
      attributes: Returns the attributes of a node.
      graph_def: Returns TensorBoard's ``GraphDef``.
      non_debug_graph_def: Returns it without the debugger's nodes.
    """

    device: str
    graph_id: str
    graph: DebugGraph
    attributes: Callable[[str], Json] = field(compare=False)
    graph_def: Callable[[], Any] = field(compare=False)
    non_debug_graph_def: Callable[[], Any] = field(compare=False)

    def device_of(self, name: str) -> str:
        """Return the device of a node."""
        return self.graph.nodes[name].device or self.device


class DumpContents(Protocol):
    """Graphs and data of a dump folder or of a recording."""

    @property
    def devices(self) -> list[str]:
        """The devices, in order."""
        ...

    @property
    def data(self) -> list[DebugTensorDatum]:
        """The data of all devices in order of time."""
        ...

    @property
    def partitions(self) -> Sequence[Partition]:
        """The graphs."""
        ...

    @property
    def core_metadata(self) -> list[CoreMetadata]:
        """What TensorFlow counted, of each call of ``Session.run``."""
        ...

    @property
    def fetches(self) -> list[str]:
        """The fetches of each call."""
        ...

    @property
    def feeds(self) -> list[str]:
        """The feeds of each call."""
        ...

    def traceback(self, node_name: str) -> tuple[SqlRow, ...] | None:
        """Return where a node was made: file, line, function and text of each frame, outermost first.

        Returns:
          None if no stack is on record.

        Raises:
          KeyError: There is no such node.
        """
        ...
