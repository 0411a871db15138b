"""Rows about the calls of ``Session.run`` in a run of dumps: fetches, feeds, core metadata and graphs.

Takes the files of a call and fills the describer and rows of ``dump_calls`` and ``dump_graphs``. What cannot
be read is left out, with a notice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import duckdb

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.dumps import files
from tb_debugger_plugin.events.dumps.folders import below, read_start
from tb_debugger_plugin.events.dumps.graphs import partition_graph
from tb_debugger_plugin.events.framing import MAX_PAYLOAD
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.bounds import bounded_text
from tb_debugger_plugin.index.columns import insert_rows
from tb_debugger_plugin.index.describe import Describer
from tb_debugger_plugin.index.dumps.calls import DumpCall
from tb_debugger_plugin.index.dumps.describe_graph import GraphDescriber
from tb_debugger_plugin.index.dumps.python_rows import PythonRows, TimeRows
from tb_debugger_plugin.index.rows import DumpCallRow, DumpGraphRow, kinds_of
from tb_debugger_plugin.index.source import Notice

T = TypeVar("T")

#: Files about a call that are read; more are none of TensorFlow's.
_MAX_FILES: Final = 100
#: The graph of a tensor whose device has no graph that can be read.
_NO_GRAPH: Final = "no graph of "


@dataclass
class _Described:
    """What is known of a call.

    Attributes:
      files: The files that were read.
      row: Its row of ``dump_calls``.
      graphs: By device: the file and the id of the graph, and the nodes that have other names in the tables.
    """

    files: tuple[str, ...]
    row: DumpCallRow
    graphs: dict[str, tuple[str, str, dict[str, str]]] = field(default_factory=dict)


class CallRows:
    """Describes calls; lives as long as the importer.

    Args:
      folder: The folder of the run.
      describer: Holds rows of graphs and ops until they are written.
      python: Knows where ops were made.
      times: Takes the times of calls.
    """

    def __init__(self, folder: Location, describer: Describer, python: PythonRows, times: TimeRows) -> None:
        self._folder = folder
        self._registry = describer.registry
        self._python = python
        self._times = times
        self._graphs = GraphDescriber(describer, python.location_of)
        self._described: dict[int, _Described] = {}
        self._changed: set[int] = set()
        self._notices: list[Notice] = []

    def describe(self, call: DumpCall) -> list[Notice]:
        """Read the files about a call, unless they were read before.

        Returns:
          What could not be read.
        """
        found = call.files
        paths = (*found.metadata, *found.fetches, *found.feeds, *found.times, *found.graphs.values())
        known = self._described.get(call.number)
        if known is not None and known.files == paths and not call.hot:
            return []
        self._notices = []
        self._python.update()
        for path in found.times:
            self._times.add(below(below(self._folder, call.name), path))
        row = DumpCallRow(
            call.number,
            call.name,
            self._texts(call, found.fetches),
            self._texts(call, found.feeds),
            json.dumps([data._asdict() for data in self._all(call, found.metadata, files.core_metadata)]),
            False,
        )
        described = self._described[call.number] = _Described(paths, row)
        for device, path in found.graphs.items():
            for data in self._all(call, [path], bytes):
                self._add_graph(described, call, device, path, data)
        self._changed.add(call.number)
        return self._notices

    def _texts(self, call: DumpCall, paths: list[str]) -> str | None:
        texts = self._all(call, paths, files.log_message)
        return "\n".join(map(bounded_text, texts)) if texts else None

    def _all(self, call: DumpCall, paths: Iterable[str], read: Callable[[bytes], T]) -> list[T]:
        values = []
        for path in list(paths)[:_MAX_FILES]:
            try:
                data, whole = read_start(below(below(self._folder, call.name), path), MAX_PAYLOAD)
                if not whole:
                    raise FormatError("it is too long")
                values.append(read(data))
            except (FormatError, OSError) as error:
                self._note(call, path, error)
        return values

    def _note(self, call: DumpCall, path: str, error: Exception) -> None:
        # A file that is being written is read again.
        if not call.hot:
            message = f"The file cannot be read: {error}"
            self._notices.append(Notice(f"{call.name}/{path}", None, message))

    def _add_graph(self, described: _Described, call: DumpCall, device: str, path: str, data: bytes) -> None:
        try:
            graph = partition_graph(data, files.graph_place(data))
            described.graphs[device] = (path, *self._graphs.add(graph, device, data))
        except FormatError as error:
            self._note(call, path, error)

    def graph_of(self, call: DumpCall, device: str) -> tuple[str, dict[str, str]]:
        """Return the id of the graph of a device in a call, and the nodes that have other names in it."""
        described = self._described.get(call.number)
        graph = None if described is None else described.graphs.get(device)
        return (_NO_GRAPH + device, {}) if graph is None else graph[1:]

    def save(
        self, connection: duckdb.DuckDBPyConnection, calls: Iterable[DumpCall], waiting: set[int]
    ) -> None:
        """Write the rows that have changed, inside the caller's transaction.

        Args:
          connection: A connection to the run's database.
          calls: The calls that were listed.
          waiting: Numbers of the calls that have dumps without rows.
        """
        rows = []
        for call in calls:
            described = self._described.get(call.number)
            if described is None:
                continue
            row = described.row._replace(settled=call.settled and call.number not in waiting)
            if row != described.row or call.number in self._changed:
                described.row = row
                rows.append(row)
        numbers = [row.call for row in rows]
        for table in ("dump_calls", "dump_graphs"):
            connection.execute(f"DELETE FROM {table} WHERE call IN (SELECT unnest(?::INTEGER[]))", [numbers])
        insert_rows(connection, "dump_calls", kinds_of(DumpCallRow), rows)
        graphs = [row for number in numbers for row in self._graph_rows(number)]
        insert_rows(connection, "dump_graphs", kinds_of(DumpGraphRow), graphs)
        self._changed.clear()
        for row in rows:
            if row.settled:
                del self._described[row.call]

    def _graph_rows(self, number: int) -> Iterable[DumpGraphRow]:
        for device, (path, graph_id, _) in self._described[number].graphs.items():
            yield DumpGraphRow(number, device, path, self._registry.graph(0, graph_id))
