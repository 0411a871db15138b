"""The part of ``DebugDumpDir`` that asks for graphs: nodes, their neighbours, and paths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tb_debugger_plugin.reading.debug_graph import DebugGraph
from tb_debugger_plugin.reading.dump_contents import DumpContents, Partition
from tb_debugger_plugin.reading.dump_names import check_device, check_one


class DumpedGraphs:
    """The graphs of the dumps; see :class:`~tb_debugger_plugin.reading.dump_dir.DebugDumpDir`.

    Args:
      contents: What was dumped.
    """

    def __init__(self, contents: DumpContents) -> None:
        self._contents = contents

    def devices(self) -> list[str]:
        """Returns the names of the devices."""
        return list(self._contents.devices)

    def loaded_partition_graphs(self) -> bool:
        """Whether there are graphs: a call that failed early may have none."""
        return bool(self._contents.partitions)

    def _partitions(self) -> Iterable[Partition]:
        if not self._contents.partitions:
            raise LookupError("There are no graphs: the call failed before it had any.")
        return self._contents.partitions

    def partition_graphs(self) -> list[Any]:
        """Returns the graphs of a dump folder as TensorBoard's ``GraphDef``, with the debugger's nodes.

        Raises:
          LookupError: There are none, as in a recording.
        """
        return [partition.graph_def() for partition in self._partitions()]

    def reconstructed_non_debug_partition_graphs(self) -> dict[str, Any]:
        """Returns the graphs of a dump folder as TensorBoard's ``GraphDef``, without the debugger's nodes.

        Returns:
          The graph of each device, by the name of the device. Of several calls, the last one.

        Raises:
          LookupError: There are none, as in a recording.
        """
        return {partition.device: partition.non_debug_graph_def() for partition in self._partitions()}

    def nodes(self, device_name: str | None = None) -> list[str]:
        """Returns the names of all nodes.

        Args:
          device_name: Only those on this device.

        Raises:
          LookupError: There are no graphs.
          ValueError: There is no such device.
        """
        check_device(self._contents, device_name)
        return [
            name
            for partition in self._partitions()
            for name in partition.graph.nodes
            if device_name in (None, partition.device_of(name))
        ]

    def _holders(self, node_name: str, device_name: str | None = None) -> list[Partition]:
        check_device(self._contents, device_name)
        return [
            partition
            for partition in self._partitions()
            if node_name in partition.graph.nodes and device_name in (None, partition.device_of(node_name))
        ]

    def node_exists(self, node_name: str, device_name: str | None = None) -> bool:
        """Whether there is a node of a name.

        Args:
          node_name: The name.
          device_name: Only on this device.
        """
        return bool(self._holders(node_name, device_name))

    def node_device(self, node_name: str) -> str | list[str]:
        """Returns the device of a node; a list if nodes of this name are on several.

        Raises:
          ValueError: There is no such node.
        """
        holders = self._holders(node_name)
        if not holders:
            raise ValueError(f"There is no node {node_name!r}.")
        devices = list(dict.fromkeys(partition.device_of(node_name) for partition in holders))
        return devices[0] if len(devices) == 1 else devices

    def _holder(self, node_name: str, device_name: str | None) -> Partition:
        """Returns the only graph that has a node."""
        holders = self._holders(node_name, device_name)
        if not holders:
            where = f" on {device_name}" if device_name else ""
            raise ValueError(f"There is no node {node_name!r}{where}.")
        what = f"a node {node_name!r}"
        check_one(what, "device_name", {partition.device_of(node_name) for partition in holders})
        check_one(what, "graph_id", {partition.graph_id for partition in holders})
        if len(holders) > 1:
            raise ValueError(
                f"{len(holders)} different graphs of the session have {what}; choose one with call=..."
            )
        return holders[0]

    def _graph(self, node_name: str, device_name: str | None) -> DebugGraph:
        return self._holder(node_name, device_name).graph

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """Returns the op type of a node.

        Args:
          node_name: The node.
          device_name: Needed if several devices have such a node.

        Raises:
          LookupError: There are no graphs.
          ValueError: There is no such node, or there are several.
        """
        return self._graph(node_name, device_name).nodes[node_name].op

    def node_attributes(self, node_name: str, device_name: str | None = None) -> dict[str, Any]:
        """Returns the attributes of a node by name.

        Of a dump folder, they are TensorBoard's ``AttrValue``; of a recording, the texts of the route
        ``graphs/op_info``.

        Arguments and exceptions are those of :meth:`node_op_type`.
        """
        return self._holder(node_name, device_name).attributes(node_name)

    def node_inputs(
        self, node_name: str, is_control: bool = False, device_name: str | None = None
    ) -> list[str]:
        """Returns the inputs of a node: ``a`` is the output 0 of ``a``, ``a:1`` its output 1.

        Args:
          node_name: The node.
          is_control: Return the nodes that it waits for instead.
          device_name: Needed if several devices have such a node.

        Raises:
          LookupError: There are no graphs.
          ValueError: There is no such node, or there are several.
        """
        node = self._graph(node_name, device_name).nodes[node_name]
        return list(node.controls if is_control else node.inputs)

    def node_recipients(
        self, node_name: str, is_control: bool = False, device_name: str | None = None
    ) -> list[str]:
        """Returns the nodes that take the outputs of a node, or that wait for it.

        Arguments and exceptions are those of :meth:`node_inputs`.
        """
        graph = self._graph(node_name, device_name)
        return list((graph.control_recipients if is_control else graph.recipients)[node_name])

    def transitive_inputs(
        self,
        node_name: str,
        include_control: bool = True,
        include_reversed_ref: bool = False,
        device_name: str | None = None,
    ) -> list[str]:
        """Returns the inputs of a node, their inputs, and so on, depth first.

        The walk does not go through ``Merge`` nodes, where loops begin, and stays on the device.

        Args:
          node_name: The node.
          include_control: Whether nodes that are waited for count as inputs.
          include_reversed_ref: Whether who takes a reference counts as an input of the variable, which it may
            have written to. TensorFlow's method then turns every edge around, also those without references.
          device_name: Needed if several devices have such a node.

        Raises:
          LookupError: There are no graphs.
          ValueError: There is no such node, or there are several.
        """
        graph = self._graph(node_name, device_name)
        return graph.walk(node_name, control=include_control, reversed_ref=include_reversed_ref)[0]

    def find_some_path(
        self,
        src_node_name: str,
        dst_node_name: str,
        include_control: bool = True,
        include_reversed_ref: bool = False,
        device_name: str | None = None,
    ) -> list[str] | None:
        """Returns a path from a node to another one along the edges; None if there is none.

        Args:
          src_node_name: The node at which the path begins.
          dst_node_name: The node at which it ends, on the same device.
          include_control: Whether the path may follow control edges.
          include_reversed_ref: As for :meth:`transitive_inputs`.
          device_name: Needed if several devices have such nodes.

        Raises:
          LookupError: There are no graphs.
          ValueError: There are no such nodes, there are several, or they are in different graphs.
        """
        source = self._holder(src_node_name, device_name)
        target = self._holder(dst_node_name, device_name)
        if source is not target:
            raise ValueError(
                f"{src_node_name!r} and {dst_node_name!r} are not in one graph: paths do not lead from device"
                " to device, or from function to function."
            )
        return target.graph.walk(
            dst_node_name, control=include_control, reversed_ref=include_reversed_ref, until=src_node_name
        )[1]
