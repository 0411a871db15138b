"""The content of a recording for :class:`~tb_debugger_plugin.reading.dumps.dump_dir.DebugDumpDir`.

Takes an open run. The graphs of the program are partitions, and their tensors are data: with the value
where it is kept, and with the counts of the summary elsewhere. Graph executions are also chosen by a function
of a datum and its value, as tfdbg's tensor filters are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from tb_debugger_plugin.analysis.snapshot import Json, Snapshot, SqlRow
from tb_debugger_plugin.analysis.source.sources import stack_frames, stack_of
from tb_debugger_plugin.analysis.values.elements import read_slice
from tb_debugger_plugin.analysis.values.recorded_value import find_value
from tb_debugger_plugin.analysis.values.slicing import slicing_of
from tb_debugger_plugin.errors import NotFoundError, QueryError, UsageError, user_message
from tb_debugger_plugin.events.dumps.datum import DebugTensorDatum, NoTensor, Predicate
from tb_debugger_plugin.events.dumps.files import CoreMetadata
from tb_debugger_plugin.events.dumps.names import IDENTITY
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.reading.dumps.debug_graph import DebugGraph, GraphNode
from tb_debugger_plugin.reading.dumps.dump_contents import Partition
from tb_debugger_plugin.reading.rows import GraphExecution
from tb_debugger_plugin.reading.run import Run

_WHOLE = TensorDebugMode.FULL_TENSOR.name


class RecordingSource:
    """The graphs and tensors of a run; what was read is kept as long as this object lives.

    Args:
      run: The run.
      graph_id: Only this graph; None for all.

    Raises:
      UsageError: There is no such graph.
    """

    def __init__(self, run: Run, graph_id: str | None = None) -> None:
        self._run = run
        with run.snapshot() as snapshot:
            graphs = snapshot.catalog.graphs
            self._graphs = [graph for graph in graphs if graph_id in (None, graph.graph_id)]
        if not self._graphs and graph_id is not None:
            raise UsageError(f"There is no graph {graph_id!r}; there are {len(graphs)}.")

    @cached_property
    def devices(self) -> list[str]:
        """The devices of tensors and nodes, in order."""
        names = {datum.device_name for datum in self.data}
        for partition in self.partitions:
            names.update(node.device for node in partition.graph.nodes.values())
        return sorted(names - {""})

    @cached_property
    def data(self) -> list[DebugTensorDatum]:
        """The tensors of the graphs in the order of their list."""
        graphs = {graph.graph_id for graph in self._graphs}
        return [_datum(row, self._tensor) for row in self._run.graph_executions() if row.graph_id in graphs]

    def _tensor(self, datum: DebugTensorDatum) -> Array | NoTensor:
        with self._run.snapshot() as snapshot:
            return _tensor(snapshot, datum)

    @cached_property
    def partitions(self) -> list[Partition]:
        """The graphs of the program."""
        with self._run.snapshot() as snapshot:
            nodes = _nodes(snapshot)
        return [
            Partition(
                "",
                graph.graph_id,
                DebugGraph(nodes.get(graph.number, ())),
                functools.partial(self._attributes, graph.graph_id),
                _no_graph_def,
                _no_graph_def,
            )
            for graph in self._graphs
        ]

    def _attributes(self, graph_id: str, name: str) -> Json:
        """Return the attributes of a node by name, as the texts that are on record."""
        found = self._run.op_info(graph_id, name)["attributes"]
        return {one["name"]: one["value"] for one in found}

    def traceback(self, node_name: str) -> tuple[SqlRow, ...] | None:
        """Return the stack that made a node, outermost frame first."""
        numbers = {graph.number for graph in self._graphs}
        with self._run.snapshot() as snapshot:
            ops = [op for op in snapshot.catalog.ops if op.name == node_name and op.graph in numbers]
            if not ops:
                raise KeyError(f"There is no node {node_name!r} in the recording.")
            stack = next((op.stack for op in ops if op.stack >= 0), -1)
            _, ids = stack_of(snapshot, stack)
            return _frames(snapshot, ids) if ids else None

    @property
    def core_metadata(self) -> list[CoreMetadata]:
        """Nothing: only TensorFlow's sessions count their calls."""
        return []

    @property
    def fetches(self) -> list[str]:
        """Nothing."""
        return []

    @property
    def feeds(self) -> list[str]:
        """Nothing."""
        return []


def _datum(row: GraphExecution, read: Callable[[DebugTensorDatum], Array | NoTensor]) -> DebugTensorDatum:
    timestamp = round(row.wall_time * 1e6)
    return DebugTensorDatum(
        row.op_name,
        row.slot,
        IDENTITY if row.mode == _WHOLE else row.mode,
        timestamp,
        row.device or "",
        str(timestamp),
        graph_id=row.graph_id,
        index=row.index,
        is_bad=None if row.health is None else row.health == "bad",
        _read=read,
    )


def _tensor(snapshot: Snapshot, datum: DebugTensorDatum) -> Array | NoTensor:
    value = find_value(snapshot, graph_execution=datum.index)
    if value.reason is not None:
        return NoTensor(value.reason)
    with value.elements() as elements:
        return read_slice(elements, slicing_of((), elements.shape))


def passing(
    run: Run, rows: Iterable[GraphExecution], predicate: Predicate, name: str
) -> Iterator[GraphExecution]:
    """Yield the graph executions that pass a filter.

    Args:
      run: Their run.
      rows: The graph executions.
      predicate: Says of a datum and its value whether it passes. Without a value it gets a
        :class:`~tb_debugger_plugin.events.dumps.datum.NoTensor`.
      name: The name of the filter, for the message if it fails.

    Raises:
      UsageError: The predicate raised something.
    """
    with run.snapshot() as snapshot:
        for row in rows:
            datum = _datum(row, lambda asked: _readable(snapshot, asked))
            tensor = datum.get_tensor()
            try:
                passes = bool(predicate(datum, tensor))
            except Exception as error:  # the filter is the user's
                where = f"{row.name} (#{row.index})"
                message = " ".join(user_message(error).split())
                raise UsageError(f"The tensor filter {name!r} failed at {where}: {message}.") from error
            if passes:
                yield row


def _readable(snapshot: Snapshot, datum: DebugTensorDatum) -> Array | NoTensor:
    if datum.debug_op != IDENTITY:
        return NoTensor(f"The recording holds the summary of mode {datum.debug_op}, but not the value.")
    try:
        return _tensor(snapshot, datum)
    except QueryError as error:  # cut off or damaged
        return NoTensor(str(error))


def _nodes(snapshot: Snapshot) -> dict[int, list[GraphNode]]:
    """Return the described nodes of each graph, in the order in which they were described."""
    catalog = snapshot.catalog
    inputs = _grouped(snapshot, "SELECT op, source_op, source_slot FROM edges ORDER BY op, input_slot")
    controls = _grouped(snapshot, "SELECT op, source_op FROM control_edges ORDER BY op, rowid")
    nodes: dict[int, list[GraphNode]] = {}
    for op in catalog.ops:
        if op.known:
            sites = catalog.op_sites.get(op.number, ())
            device = next((site.device for site in sites if site.device), op.device)
            tensors = [
                _tensor_name(catalog.ops[source].name, slot) for source, slot in inputs.get(op.number, ())
            ]
            waits = [catalog.ops[source].name for (source,) in controls.get(op.number, ())]
            nodes.setdefault(op.graph, []).append(
                GraphNode(op.name, op.type or "", device or "", tensors, waits)
            )
    return nodes


def _grouped(snapshot: Snapshot, query: str) -> dict[int, list[tuple[int, ...]]]:
    groups: dict[int, list[tuple[int, ...]]] = {}
    for op, *fields in snapshot.rows(query):
        groups.setdefault(op, []).append(tuple(fields))
    return groups


def _tensor_name(node: str, slot: int) -> str:
    # As in a GraphDef, slot 0 has no number.
    return f"{node}:{slot}" if slot else node


def _frames(snapshot: Snapshot, ids: list[str]) -> tuple[SqlRow, ...]:
    found = stack_frames(snapshot, ids)
    return tuple(
        (path, line, function, details["text"])
        for (_, path, line, function), details in zip(found["stack_frames"], found["details"], strict=True)
    )


def _no_graph_def() -> object:
    raise NotFoundError("A recording holds no GraphDef; a dump folder does.")
