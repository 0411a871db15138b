"""The content of a recording for :class:`~tb_debugger_plugin.reading.dumps.dump_dir.DebugDumpDir`.

Takes an open run. The graphs of the program are partitions, and their tensors are data: with the value
where it is kept, and with the counts of the summary elsewhere.
"""

from __future__ import annotations

import functools
from functools import cached_property
from typing import Any

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.sources import stack_frames, stack_of
from tb_debugger_plugin.analysis.values.elements import read_slice
from tb_debugger_plugin.analysis.values.recorded_value import find_value
from tb_debugger_plugin.analysis.values.slicing import slicing_of
from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.events.dumps.files import CoreMetadata
from tb_debugger_plugin.events.dumps.names import IDENTITY
from tb_debugger_plugin.events.modes import TensorDebugMode, mode_name
from tb_debugger_plugin.index.tensors import BAD, NOT_MEASURED
from tb_debugger_plugin.reading.dumps.datum import DebugTensorDatum, NoTensor
from tb_debugger_plugin.reading.dumps.debug_graph import DebugGraph, GraphNode
from tb_debugger_plugin.reading.dumps.dump_contents import Partition
from tb_debugger_plugin.reading.run import Run


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
            self._names = [op.name for op in snapshot.catalog.ops]
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
        with self._run.snapshot() as snapshot:
            graphs = [graph.number for graph in self._graphs]
            rows = snapshot.rows(
                "SELECT t.idx, t.wall_time, t.site, t.mode, t.health FROM graph_executions t"
                " JOIN sites USING (site) WHERE graph IN (SELECT unnest(?::INTEGER[])) ORDER BY t.idx",
                [graphs],
            )
            return [_datum(snapshot, self._tensor, *row) for row in rows]

    def _tensor(self, datum: DebugTensorDatum) -> Any:
        with self._run.snapshot() as snapshot:
            value = find_value(snapshot, graph_execution=datum.index)
            if value.reason is not None:
                return NoTensor(value.reason)
            with value.elements() as elements:
                return read_slice(elements, slicing_of((), elements.shape))

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

    def _attributes(self, graph_id: str, name: str) -> dict[str, Any]:
        """Return the attributes of a node by name, as the texts that are on record."""
        found = self._run.op_info(graph_id, name)["attributes"]
        return {one["name"]: one["value"] for one in found}

    def traceback(self, node_name: str) -> tuple[tuple[Any, ...], ...] | None:
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


def _datum(
    snapshot: Snapshot, read: Any, index: int, wall_time: float, number: int, mode: int, health: int
) -> DebugTensorDatum:
    catalog = snapshot.catalog
    site = catalog.sites[number]
    op = catalog.ops[site.op]
    timestamp = round(wall_time * 1e6)
    return DebugTensorDatum(
        op.name,
        site.slot,
        IDENTITY if mode == TensorDebugMode.FULL_TENSOR else mode_name(mode),
        timestamp,
        site.device or op.device or "",
        str(timestamp),
        graph_id=catalog.graphs[site.graph].graph_id,
        index=index,
        is_bad=None if health == NOT_MEASURED else health == BAD,
        _read=read,
    )


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


def _frames(snapshot: Snapshot, ids: list[str]) -> tuple[tuple[Any, ...], ...]:
    found = stack_frames(snapshot, ids)
    return tuple(
        (path, line, function, details["text"])
        for (_, path, line, function), details in zip(found["stack_frames"], found["details"], strict=True)
    )


def _no_graph_def() -> Any:
    raise NotFoundError("A recording holds no GraphDef; a dump folder does.")
