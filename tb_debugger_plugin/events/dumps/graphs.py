"""Partition graphs: what ran on one device in a call, without the ops that the debugger put in.

Takes the bytes of a ``GraphDef`` and returns its nodes by name. The debugger puts a copy op and debug ops
behind each watched tensor; consumers take the copy, and wait for the debug ops. Here they take the tensor
itself again.

Invariant: any bytes give nodes or a :class:`~tb_debugger_plugin.errors.FormatError`; attributes are not read
until somebody asks for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.dumps.files import ByteRange
from tb_debugger_plugin.events.wire import BYTES, fields

if TYPE_CHECKING:
    from tensorboard.compat.proto import attr_value_pb2, graph_pb2

GraphDef: TypeAlias = "graph_pb2.GraphDef"

#: Numbers of fields of ``GraphDef`` and ``NodeDef``.
_NODE: Final = 1
_NAME: Final = 1
_OP: Final = 2
_INPUT: Final = 3
_DEVICE: Final = 4

_COPY: Final = "__copy_"
_DEBUG: Final = "__dbg_"
_SENDS: Final = frozenset({"_Send", "_Retval"})
_WATCH: Final = re.compile(rf"{_DEBUG}(?P<node>[^:]+):(?P<slot>\d{{1,9}})_\d+_[A-Za-z0-9]+", re.ASCII)
_SLASHES: Final = re.compile("/{2,}")

#: A larger graph is damage: a program with as many nodes does not run under the debugger.
MAX_NODES: Final = 1 << 19
MAX_INPUTS: Final = 1 << 21
_TOO_LARGE: Final = f"The graph has more than {MAX_NODES} nodes, or {MAX_INPUTS} inputs."


@dataclass(frozen=True)
class PartitionNode:
    """A node of a partition graph.

    Attributes:
      name: Its name, with scopes.
      op: Its op type.
      device: Its device; empty when the graph does not say it.
      inputs: Tensors that it takes, such as ``a`` and ``b:1``.
      controls: Names of the nodes that it waits for.
      place: Its ``NodeDef`` in the file.
    """

    name: str
    op: str
    device: str
    inputs: tuple[str, ...]
    controls: tuple[str, ...]
    place: ByteRange


@dataclass(frozen=True)
class PartitionGraph:
    """The graph of a device.

    Attributes:
      nodes: The nodes by name, in the order of the graph, without the debugger's.
      watched: The watched slots of each node.
      copied: The nodes that send or return a watched tensor.
    """

    nodes: dict[str, PartitionNode]
    watched: dict[str, set[int]] = field(default_factory=dict)
    copied: frozenset[str] = frozenset()

    @property
    def ops(self) -> list[tuple[str, str]]:
        """Name and op type of each node."""
        return [(node.name, node.op) for node in self.nodes.values()]


def partition_graph(data: bytes, place: ByteRange) -> PartitionGraph:
    """Read a partition graph.

    Args:
      data: The bytes of the file.
      place: Where the ``GraphDef`` is.

    Raises:
      FormatError: The bytes are not a graph, or it is too large.
    """
    nodes: dict[str, PartitionNode] = {}
    watched: dict[str, set[int]] = {}
    num_inputs = 0
    for node in _all_nodes(data, place):
        watch = _WATCH.fullmatch(node.name)
        if watch is not None:
            watched.setdefault(watch["node"], set()).add(int(watch["slot"]))
        elif node.name and not node.name.startswith(_DEBUG):
            nodes[node.name] = node
            num_inputs += len(node.inputs) + len(node.controls)
        if len(nodes) > MAX_NODES or num_inputs > MAX_INPUTS:
            raise FormatError(_TOO_LARGE)
    copied = frozenset(
        node.name
        for node in nodes.values()
        if node.op in _SENDS and any(name.startswith(_COPY) for name in node.inputs)
    )
    original = {name: _without_debugger(node, nodes) for name, node in nodes.items() if not _is_copy(name)}
    return PartitionGraph(original, watched, copied)


def _is_copy(name: str) -> bool:
    return name.startswith(_COPY)


def _without_debugger(node: PartitionNode, nodes: dict[str, PartitionNode]) -> PartitionNode:
    inputs = tuple(_original(name, nodes) for name in node.inputs)
    controls = tuple(name for name in node.controls if not name.startswith(_DEBUG))
    return PartitionNode(node.name, node.op, node.device, inputs, controls, node.place)


def _original(name: str, nodes: dict[str, PartitionNode]) -> str:
    copy = nodes.get(name) if _is_copy(name) else None
    return copy.inputs[0] if copy is not None and copy.inputs else name


def _all_nodes(data: bytes, place: ByteRange) -> Iterator[PartitionNode]:
    for entry in fields(data, place.offset, place.offset + place.length):
        if entry.number == _NODE and entry.kind == BYTES:
            yield _node(data, entry.begin, entry.end)


def _node(data: bytes, begin: int, end: int) -> PartitionNode:
    texts: dict[int, str] = {}
    inputs: list[str] = []
    for entry in fields(data, begin, end):
        if entry.kind != BYTES or entry.number > _DEVICE:
            continue
        text = data[entry.begin : entry.end].decode("utf-8", "replace")
        if entry.number == _INPUT:
            inputs.append(_SLASHES.sub("/", text))
            if len(inputs) > MAX_INPUTS:
                raise FormatError(_TOO_LARGE)
        else:
            texts[entry.number] = text
    return PartitionNode(
        _SLASHES.sub("/", texts.get(_NAME, "")),
        texts.get(_OP, ""),
        texts.get(_DEVICE, ""),
        tuple(name for name in inputs if not name.startswith("^")),
        tuple(name[1:] for name in inputs if name.startswith("^")),
        ByteRange(begin, end - begin),
    )


def attributes(data: bytes, node: PartitionNode) -> dict[str, attr_value_pb2.AttrValue]:
    """Return the attributes of a node by name, as TensorBoard's ``AttrValue`` messages.

    Args:
      data: The bytes of the file of the graph.
      node: A node of this graph.

    Raises:
      FormatError: The bytes are not a node.
    """
    # TensorBoard's messages take a moment to import, and only this function needs them.
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.node_def_pb2 import NodeDef

    payload = data[node.place.offset : node.place.offset + node.place.length]
    try:
        return dict(NodeDef.FromString(payload).attr)
    except DecodeError as error:
        raise FormatError(f"The attributes of {node.name} cannot be read: {error}") from error
