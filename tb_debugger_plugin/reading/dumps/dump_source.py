"""The content of a dump folder of tfdbg v1 for ``DebugDumpDir``.

Takes the folder of a call of ``Session.run``, or a session root with several. Files are listed at once, and
read when their content is wanted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TypeVar

from tb_debugger_plugin.analysis.snapshot import Json, SqlRow
from tb_debugger_plugin.errors import FormatError, UsageError
from tb_debugger_plugin.events.dumps import files
from tb_debugger_plugin.events.dumps.datum import DebugTensorDatum, NoTensor
from tb_debugger_plugin.events.dumps.files import ByteRange, CoreMetadata
from tb_debugger_plugin.events.dumps.folders import CallFiles, below, call_files, call_folders, read_start
from tb_debugger_plugin.events.dumps.graphs import (
    GraphDef,
    PartitionGraph,
    PartitionNode,
    attributes,
    partition_graph,
)
from tb_debugger_plugin.events.dumps.names import PYTHON_GRAPH, DumpName
from tb_debugger_plugin.events.dumps.python_graph import PythonFrame, stacks
from tb_debugger_plugin.events.framing import MAX_PAYLOAD
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.dumps.describe_graph import fingerprint
from tb_debugger_plugin.index.dumps.dump_places import NotDumped, read_dump
from tb_debugger_plugin.reading.dumps.debug_graph import DebugGraph, GraphNode
from tb_debugger_plugin.reading.dumps.dump_contents import Partition

T = TypeVar("T")


class DumpSource:
    """The dumps of one or several calls; lives as long as the object that answers from it.

    Args:
      folder: The folder of a call, or a session root.
      call: Which call: its position, or the name of its folder; None for all.
      graphs: The ``GraphDef`` messages of the call, for devices whose graph is not in the folder.

    Raises:
      UsageError: There is no such call.
    """

    def __init__(
        self, folder: Location, call: int | str | None = None, graphs: Iterable[GraphDef] = ()
    ) -> None:
        self.folder = folder
        self._given = list(graphs)
        self.calls = _chosen(call_folders(folder), call)
        self._files = {name: call_files(below(folder, name)) for name in self.calls}

    @cached_property
    def devices(self) -> list[str]:
        """The devices, in order."""
        names = itertools.chain.from_iterable(found.devices for found in self._files.values())
        return list(dict.fromkeys(names))

    @cached_property
    def data(self) -> list[DebugTensorDatum]:
        """The dumps of all devices in order of time."""
        data = [
            self._datum(call, name, path) for call, found in self._files.items() for name, path in found.dumps
        ]
        return sorted(data, key=lambda datum: (datum.timestamp, datum.extended_timestamp))

    def _datum(self, call: str, name: DumpName, path: str) -> DebugTensorDatum:
        file = below(below(self.folder, call), path)
        return DebugTensorDatum(
            name.node,
            name.slot,
            name.debug_op,
            name.time,
            name.device,
            path.rpartition("_")[2],
            str(file),
            _read=lambda datum: _tensor(file),
        )

    @cached_property
    def partitions(self) -> list[Partition]:
        """The graphs; a graph that several calls have is listed once."""
        found: dict[str, Partition] = {}
        for call, listed in self._files.items():
            for device, path in listed.graphs.items():
                key, partition = self._partition(call, device, path)
                found.setdefault(key, partition)
        has_graph = {partition.device for partition in found.values()}
        for device in self.devices:
            if device not in has_graph:
                found.update(self._given_partition(device))
        return list(found.values())

    def _partition(self, call: str, device: str, path: str) -> tuple[str, Partition]:
        file = below(below(self.folder, call), path)
        return _partition(device, lambda: _content(file), files.graph_place(_content(file)))

    def _given_partition(self, device: str) -> Iterator[tuple[str, Partition]]:
        own = (given for given in self._given if any(node.device == device for node in given.node))
        given = next(own, None)
        if given is not None:
            data = given.SerializeToString()
            yield _partition(device, lambda: data, ByteRange(0, len(data)))

    def traceback(self, node_name: str) -> tuple[SqlRow, ...] | None:
        """Return where a node was made: file, line, function and text of each frame, outermost first.

        Returns:
          None if it is not known: TensorFlow's own wrappers do not write it.
        """
        frames = self._stacks.get(node_name)
        return None if frames is None else tuple(map(tuple, frames))

    @cached_property
    def _stacks(self) -> dict[str, tuple[PythonFrame, ...]]:
        # A call inside a session root has the file of the root above it.
        folders = (self.folder, self.folder.parent)
        return next(filter(None, (stacks(below(one, PYTHON_GRAPH)) for one in folders)), {})

    @cached_property
    def core_metadata(self) -> list[CoreMetadata]:
        """What TensorFlow counted, of each call."""
        return list(self._read_all(lambda found: found.metadata, files.core_metadata))

    @cached_property
    def fetches(self) -> list[str]:
        """The fetches of each call."""
        return list(self._read_all(lambda found: found.fetches, files.log_message))

    @cached_property
    def feeds(self) -> list[str]:
        """The feeds of each call."""
        return list(self._read_all(lambda found: found.feeds, files.log_message))

    def _read_all(self, paths: Callable[[CallFiles], list[str]], read: Callable[[bytes], T]) -> Iterator[T]:
        for call, found in self._files.items():
            for path in paths(found):
                yield read(_content(below(below(self.folder, call), path)))


def _chosen(calls: list[str], call: int | str | None) -> list[str]:
    if call is None:
        return calls
    if isinstance(call, int) and -len(calls) <= call < len(calls):
        return [calls[call]]
    if call in calls:
        return [str(call)]
    raise UsageError(
        f"There is no call {call!r}; there are {len(calls)}, from {calls[0]!r} to {calls[-1]!r}."
    )


def _content(file: Location) -> bytes:
    data, whole = read_start(file, MAX_PAYLOAD)
    if not whole:
        raise FormatError(f"{file} has more than {MAX_PAYLOAD >> 20} MiB.")
    return data


def _partition(device: str, content: Callable[[], bytes], place: ByteRange) -> tuple[str, Partition]:
    """Return the fingerprint of a graph, and the graph.

    Args:
      device: Its device.
      content: Returns the bytes in which it is.
      place: Where its ``GraphDef`` is.
    """
    graph = partition_graph(content(), place)

    def attributes_of(name: str) -> Json:
        return attributes(content(), graph.nodes[name])

    def graph_def() -> GraphDef:
        from tensorboard.compat.proto import graph_pb2

        return graph_pb2.GraphDef.FromString(content()[place.offset : place.offset + place.length])

    def non_debug_graph_def() -> GraphDef:
        definition = graph_def()
        nodes = [node for node in definition.node if node.name in graph.nodes]
        for node in nodes:
            plain = graph.nodes[node.name]
            node.input[:] = [*plain.inputs, *(f"^{name}" for name in plain.controls)]
        kept = [type(node).FromString(node.SerializeToString()) for node in nodes]
        del definition.node[:]
        definition.node.extend(kept)
        return definition

    key = fingerprint(graph, device)
    return key, Partition(device, "", _debug_graph(graph), attributes_of, graph_def, non_debug_graph_def)


def _tensor(file: Location) -> Array | NoTensor:
    value = read_dump(file)
    return NoTensor(value.reason, value.is_initialized) if isinstance(value, NotDumped) else value


def _debug_graph(graph: PartitionGraph) -> DebugGraph:
    def plain(node: PartitionNode) -> GraphNode:
        return GraphNode(node.name, node.op, node.device, node.inputs, node.controls)

    return DebugGraph(map(plain, graph.nodes.values()), graph.copied)
