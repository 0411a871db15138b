"""Rows about the program that wrote dumps: where it made the ops of its graph, and the times of ops.

Takes the files of ours beside the dumps, and fills the describer. A run of dumps without them has no such
rows.
"""

from __future__ import annotations

import re
from typing import Final

import duckdb

from tb_debugger_plugin.events.dumps.folders import below
from tb_debugger_plugin.events.dumps.names import PYTHON_GRAPH
from tb_debugger_plugin.events.dumps.python_graph import OF_GRAPH, OF_TIMES, records
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.index.describe import Describer

#: The key of the fact that says how much of the file is in the tables.
OFFSET: Final = "python_graph_offset"
_HOST: Final = 0
#: A fed tensor is an op of another name in a partition graph.
_FED: Final = re.compile(r"_arg_(?P<name>.+)_\d+_\d+", re.ASCII | re.DOTALL)


class PythonRows:
    """What is known of the program; lives as long as the importer.

    Args:
      folder: The folder of the run.
      describer: Holds rows until they are written.
      offset: How much of the file is in the tables.

    Attributes:
      offset: The same, when the next commit is made.
    """

    def __init__(self, folder: Location, describer: Describer, offset: int) -> None:
        self.offset = offset
        self._file = below(folder, PYTHON_GRAPH)
        self._describer = describer
        self._locations: dict[str, Message] = {}
        self._frames: set[str] = set()
        self._read = 0
        self._size = 0

    def update(self) -> None:
        """Read what is new in the file."""
        try:
            size = self._file.stat().st_size
        except OSError:
            return
        if size == self._size:
            return
        self._size = size
        for kind, event, end in records(self._file, OF_GRAPH, self._read):
            self._read = end
            if kind == "graph_op_creation":
                creation = event.graph_op_creation
                if self._frames.issuperset(creation.code_location.stack_frame_ids):
                    self._locations[creation.op_name] = creation.code_location
                continue
            if kind == "stack_frame_with_id":
                self._frames.add(event.stack_frame_with_id.id)
            if end > self.offset:
                self._describer.add(_HOST, event)
        self.offset = max(self.offset, self._read)

    def location_of(self, op_name: str) -> Message:
        """Return the stack of an op as a ``CodeLocation``; None if it is not known."""
        found = self._locations.get(op_name)
        fed = _FED.fullmatch(op_name) if found is None else None
        return found if fed is None else self._locations.get(fed["name"])


class TimeRows:
    """The times of calls; lives as long as the importer.

    Args:
      connection: A connection to the run's database.
      describer: Holds rows until they are written.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, describer: Describer) -> None:
        rows = connection.execute("SELECT session, run FROM session_runs").fetchall()
        self._known: set[tuple[int, int]] = set(rows)
        self._describer = describer

    def add(self, file: Location) -> None:
        """Add the times in a file, unless they were added before."""
        found = [event for _, event, _ in records(file, OF_TIMES)]
        runs = [event.session_run for event in found if event.WhichOneof("what") == "session_run"]
        if len(runs) != 1 or (runs[0].session, runs[0].run) in self._known:
            return
        self._known.add((runs[0].session, runs[0].run))
        for event in found:
            self._describer.add(_HOST, event)
