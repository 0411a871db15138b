"""Describes the partition graphs of dump folders: one graph for each device and each set of nodes.

Takes partition graphs and adds graphs, ops and edges as the records of a recording would. A graph that
several calls of ``Session.run`` have is one graph, so that its tensors have a history over the calls.
TensorFlow numbers the ops that send tensors between devices anew for each call; here they keep their first
names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.dumps.graphs import PartitionGraph, PartitionNode, attributes
from tb_debugger_plugin.events.messages import DebugEvent, Message
from tb_debugger_plugin.events.tensorflow_names import op_and_slot
from tb_debugger_plugin.index.bounds import bounded_text, brief
from tb_debugger_plugin.index.describe import Describer

#: Ops of a session that hand tensors from device to device.
_TRANSFERS: Final = frozenset({"_Send", "_Recv", "_HostSend", "_HostRecv"})
_NUMBERED: Final = re.compile(r"(?P<name>.*/_)(?P<number>\d{1,18})", re.ASCII | re.DOTALL)
_OUTPUT_SHAPES: Final = "_output_shapes"
_MAX_SLOTS: Final = 1 << 16


def numbered_names(ops: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return names that do not depend on how often the session has run, for the ops that send tensors.

    Args:
      ops: Name and type of each op of a partition graph.
    """
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for name, op_type in ops:
        match = _NUMBERED.fullmatch(name) if op_type in _TRANSFERS else None
        if match is not None:
            groups.setdefault((match["name"], op_type), []).append((int(match["number"]), name))
    return {
        name: f"{prefix}{op_type} {position}"
        for (prefix, op_type), names in groups.items()
        for position, (_, name) in enumerate(sorted(names))
    }


def fingerprint(graph: PartitionGraph, device: str) -> str:
    """Return a hash that is equal for the partition graphs of equal calls.

    Args:
      graph: A partition graph.
      device: Its device.
    """
    stable = numbered_names(graph.ops)
    digest = hashlib.sha256(device.encode("utf-8", "replace"))
    for line in sorted(_line(node, stable) for node in graph.nodes.values()):
        digest.update(line.encode("utf-8", "replace") + b"\n")
    return digest.hexdigest()[:32]


def _line(node: PartitionNode, stable: Mapping[str, str]) -> str:
    inputs = [f"{stable.get(name, name)}:{slot}" for name, slot in map(op_and_slot, node.inputs)]
    controls = sorted(stable.get(name, name) for name in node.controls)
    return "\0".join([stable.get(node.name, node.name), node.op, node.device, *inputs, "", *controls])


class GraphDescriber:
    """Adds partition graphs to a describer; lives as long as it.

    Args:
      describer: Holds the rows until they are written.
      location_of: Returns the stack of an op as a ``CodeLocation``; None if it is not known.
    """

    def __init__(
        self, describer: Describer, location_of: Callable[[str], Message] = lambda op_name: None
    ) -> None:
        self._describer = describer
        self._location_of = location_of
        # By graph: the names in the tables of the ops that send tensors, by their stable names.
        self._first_names: dict[str, dict[str, str]] = {}

    def add(self, graph: PartitionGraph, device: str, data: bytes) -> tuple[str, dict[str, str]]:
        """Describe a partition graph, unless it was described before.

        Args:
          graph: The graph.
          device: Its device.
          data: The bytes of its file, for attributes.

        Returns:
          The id of the graph, and the names in the tables of the nodes that have other names there.
        """
        graph_id = fingerprint(graph, device)
        stable = numbered_names(graph.ops)
        first = self._first_names.get(graph_id)
        if first is None:
            first = self._first_names[graph_id] = self._known_names(graph_id, stable)
        renamed = {name: first[key] for name, key in stable.items() if first.get(key, name) != name}
        if not self._is_described(graph_id):
            self._describe(graph, graph_id, device, data)
        return graph_id, renamed

    def _is_described(self, graph_id: str) -> bool:
        number = self._describer.registry.graphs.numbers.get((0, graph_id))
        return number is not None and self._describer.registry.graphs.rows[number].known

    def _known_names(self, graph_id: str, stable: Mapping[str, str]) -> dict[str, str]:
        if self._is_described(graph_id):
            # In an earlier life of this importer: its ops are in the registry.
            registry = self._describer.registry
            number = registry.graph(0, graph_id)
            stable = numbered_names(
                (op.name, op.type or "") for op in registry.ops.rows if op.graph == number
            )
        return {key: name for name, key in stable.items()}

    def _describe(self, graph: PartitionGraph, graph_id: str, device: str, data: bytes) -> None:
        event = DebugEvent()
        event.debugged_graph.graph_id = graph_id
        self._describer.add(0, event)
        outputs = _num_outputs(graph)
        for node in graph.nodes.values():
            event = _creation(node, graph_id, device, outputs.get(node.name, 0), data)
            location = self._location_of(node.name)
            if location is not None:
                event.graph_op_creation.code_location.CopyFrom(location)
            self._describer.add(0, brief(event))


def _num_outputs(graph: PartitionGraph) -> dict[str, int]:
    """Return how many outputs each node has at least: those that are watched or taken."""
    outputs = {name: max(slots) + 1 for name, slots in graph.watched.items() if slots}
    taken: Iterable[tuple[str, int]] = (
        op_and_slot(text) for node in graph.nodes.values() for text in node.inputs
    )
    for name, slot in taken:
        outputs[name] = max(outputs.get(name, 0), slot + 1)
    return {name: min(count, _MAX_SLOTS) for name, count in outputs.items()}


def _creation(node: PartitionNode, graph_id: str, device: str, num_outputs: int, data: bytes) -> Message:
    event = DebugEvent()
    creation = event.graph_op_creation
    creation.graph_id = graph_id
    creation.op_name = bounded_text(node.name)
    creation.op_type = bounded_text(node.op)
    creation.device_name = bounded_text(node.device or device)
    creation.num_outputs = num_outputs
    creation.input_names.extend(
        f"{bounded_text(name)}:{slot}" for name, slot in map(op_and_slot, node.inputs)
    )
    creation.control_input_names.extend(map(bounded_text, node.controls))
    for dims in _static_shapes(node, data):
        output = creation.outputs.add()
        if dims is None:
            output.unknown_rank = True
        else:
            output.dims.extend(dims)
    return event


def _static_shapes(node: PartitionNode, data: bytes) -> list[list[int] | None]:
    place = node.place
    # Attributes are rarely wanted and slow to read.
    if data.find(_OUTPUT_SHAPES.encode(), place.offset, place.offset + place.length) < 0:
        return []
    try:
        values = attributes(data, node)
    except FormatError:
        return []
    shapes = values[_OUTPUT_SHAPES].list.shape if _OUTPUT_SHAPES in values else []
    return [None if shape.unknown_rank else [max(dim.size, -1) for dim in shape.dim] for shape in shapes]
