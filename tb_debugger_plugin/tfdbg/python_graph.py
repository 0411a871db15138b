"""Writes what Python knows of the graph of a session: where its ops were made, and the source lines.

Takes a graph and appends to the file that :mod:`tb_debugger_plugin.events.dumps.python_graph` reads, beside
the dumps of TensorFlow.
"""

from __future__ import annotations

import threading
from pathlib import Path

from tb_debugger_plugin.capture.stacks.frames import StackFrames, creation_stacks
from tb_debugger_plugin.capture.tf_types import TfGraph
from tb_debugger_plugin.events.dumps.names import PYTHON_GRAPH
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.messages import DebugEvent, Message

_HOST = "localhost"


class PythonGraph:
    """The ops of one graph, as far as they were written. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the following fields, and the order of records
        self._records: list[bytes] = []
        self._frames = StackFrames(self, _HOST, "")
        self._num_ops = 0

    def write(self, suffix: str, *events: Message) -> None:
        """Take source files and frames, which :class:`StackFrames` writes before their ids are used."""
        del suffix
        self._records += [frame(event.SerializeToString()) for event in events]

    def append_to(self, folder: Path, graph: TfGraph) -> None:
        """Append what is new to the file of a session root.

        Args:
          folder: The session root.
          graph: The graph, which may have grown.
        """
        with self._lock:
            done = len(self._records)
            self._describe(graph)
            new = self._records[done:]
            if new:
                with (folder / PYTHON_GRAPH).open("ab") as file:
                    file.write(b"".join(new))

    def write_to(self, folder: Path, graph: TfGraph) -> None:
        """Write all into a folder.

        Args:
          folder: The folder of a call.
          graph: The graph, which may have grown.
        """
        with self._lock:
            self._describe(graph)
            (folder / PYTHON_GRAPH).write_bytes(b"".join(self._records))

    def _describe(self, graph: TfGraph) -> None:
        made = graph.get_operations()
        new = made[self._num_ops :]
        self._num_ops = len(made)
        stacks = creation_stacks(new)
        ids = {stack: self._frames.ids(stack) for stack in set(stacks.values())}
        self._frames.forget_files()
        for name, stack in stacks.items():
            event = DebugEvent()
            event.graph_op_creation.op_name = name
            location = self._frames.code_location(ids[stack])
            event.graph_op_creation.code_location.MergeFromString(location)
            self._records.append(frame(event.SerializeToString()))
