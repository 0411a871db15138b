"""``DebugDumpDir``: dumped tensors and their graphs, with the methods that scripts for tfdbg v1 use.

Takes a dump folder of tfdbg v1, or a recording of this package. TensorFlow is not needed: values are NumPy
arrays, attributes are TensorBoard's messages. What differs from TensorFlow's class is in the docstrings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from tb_debugger_plugin.analysis.snapshot import Json, SqlRow
from tb_debugger_plugin.errors import FormatError, NotFoundError, UsageError
from tb_debugger_plugin.events.dumps.datum import DebugTensorDatum, NoTensor, Predicate
from tb_debugger_plugin.events.dumps.files import CoreMetadata
from tb_debugger_plugin.events.locations import Location, location
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.dumps.debug_graph import DebugGraph, node_of
from tb_debugger_plugin.reading.dumps.dump_contents import DumpContents, Partition
from tb_debugger_plugin.reading.dumps.dump_source import DumpSource
from tb_debugger_plugin.reading.dumps.recording_source import RecordingSource
from tb_debugger_plugin.reading.run import Run

T = TypeVar("T")

#: Names that an error message shows.
_NAMES: Final = 5


class MissingDumpRootError(NotFoundError, FileNotFoundError):
    """There is no folder of the name that was given as a dump root."""


class WatchKeyDoesNotExistInDebugDumpDirError(NotFoundError, ValueError):
    """Nothing was dumped under a watch key."""


class DebugDumpDir:
    """Dumped tensors and their graphs, as tfdbg v1 gives them to scripts.

    Use::

        dump = DebugDumpDir("dumps/run_1700000000000000_0")
        for datum in dump.find(has_inf_or_nan, first_n=1):
            print(datum.node_name, dump.node_inputs(datum.node_name), datum.get_tensor())

    Of a recording of this package, the graphs of functions take the place of the graphs of devices. A name
    that several of them have is refused: choose a graph with ``graph_id``.

    Args:
      dump_root: The folder of one call of ``Session.run`` (``run_<time>_<counter>``), a session root with
        several, the folder of a recording; or a run from ``open_run``. An empty folder has no dumps.
      partition_graphs: The ``GraphDef`` messages of the call (``RunMetadata.partition_graphs``), for devices
        whose graph is not in the folder.
      validate: Has no effect: the order of the dumps is not checked against the graph.
      call: Of a session root, only this call: its position (-1 is the last one), or the name of its folder.
        None = all calls, of which a tensor has the dumps in order of time.
      graph_id: Of a recording, only this graph; None = all.

    Raises:
      MissingDumpRootError: There is no such folder. It is a `NotFoundError` and an `OSError`.
      NotFoundError: The folder holds no dumps and no recording, or several runs.
      UsageError: There is no such call, or no such graph.
    """

    def __init__(
        self,
        dump_root: str | os.PathLike[str] | Run,
        partition_graphs: Iterable[object] | None = None,
        validate: bool = True,
        *,
        call: int | str | None = None,
        graph_id: str | None = None,
    ) -> None:
        self._own_run: Run | None = None
        self._python_graph: Any = None
        del validate
        self._keys: dict[str, list[DebugTensorDatum]] | None = None
        self._contents = self._open(dump_root, call, graph_id, partition_graphs or ())

    def _open(
        self,
        source: str | os.PathLike[str] | Run,
        call: int | str | None,
        graph_id: str | None,
        graphs: Iterable[object],
    ) -> DumpContents:
        if not isinstance(source, Run):
            folder = _existing(source)
            if isinstance(folder, Path) and not any(folder.iterdir()):
                return DumpSource(folder, call)
            found = choose.only(folder, None, "its own folder")
            if not found.is_of_dumps:
                source = self._own_run = Run(found)
        else:
            with source.snapshot() as snapshot:
                found = snapshot.loader.run
        if found.is_of_dumps:
            if graph_id is not None:
                raise UsageError("A dump folder has no graph ids; choose a call instead.")
            return DumpSource(found.folder, call, graphs)
        if call is not None:
            raise UsageError("Only dump folders of tfdbg v1 have calls; use graph_id to choose a graph.")
        assert isinstance(source, Run)
        return RecordingSource(source, graph_id)

    def close(self) -> None:
        """Close the tables of a recording that this object opened; nothing else needs it."""
        if self._own_run is not None:
            self._own_run.close()

    def __enter__(self) -> DebugDumpDir:
        """Return this object; the end of the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    # Dumped tensors: by predicate, watch key, node and time.

    @property
    def dumped_tensor_data(self) -> list[DebugTensorDatum]:
        """All data in order of time."""
        return self._contents.data

    @property
    def size(self) -> int:
        """The number of data."""
        return len(self._contents.data)

    @property
    def t0(self) -> int | None:
        """The time of the first datum in microseconds since 1970; None without data."""
        return self._contents.data[0].timestamp if self._contents.data else None

    def find(
        self,
        predicate: Predicate,
        first_n: int = 0,
        device_name: str | None = None,
        exclude_node_names: str | None = None,
    ) -> list[DebugTensorDatum]:
        """Return the data for which a predicate is true, in order of time over all devices.

        TensorFlow's method goes device by device, so with ``first_n`` it may miss the first one.

        Args:
          predicate: Called with the datum and its value: an array, or a
            :class:`~tb_debugger_plugin.events.dumps.datum.NoTensor`, also for a file that is damaged.
          first_n: Return at most so many; 0 = all.
          device_name: Only this device.
          exclude_node_names: Leave out nodes whose name begins with a match of this regular expression.

        Raises:
          ValueError: There is no such device.
        """
        _check_device(self._contents, device_name)
        excluded = re.compile(exclude_node_names) if exclude_node_names else None
        found: list[DebugTensorDatum] = []
        for datum in self._contents.data:
            if device_name not in (None, datum.device_name) or (excluded and excluded.match(datum.node_name)):
                continue
            if predicate(datum, _value_or_reason(datum)):
                found.append(datum)
                if len(found) == first_n:
                    break
        return found

    def watch_key_to_data(
        self, debug_watch_key: str, device_name: str | None = None
    ) -> list[DebugTensorDatum]:
        """Return the data under a watch key such as ``Log:0:DebugIdentity``; none if it does not exist.

        Args:
          debug_watch_key: The watch key.
          device_name: Needed if several devices have it.

        Raises:
          ValueError: Several devices, or several graphs of a recording, have the watch key.
        """
        data = [
            datum
            for datum in self._by_key().get(debug_watch_key, ())
            if device_name in (None, datum.device_name)
        ]
        _check_one(f"the watch key {debug_watch_key!r}", "device_name", {datum.device_name for datum in data})
        _check_one(f"the watch key {debug_watch_key!r}", "graph_id", {datum.graph_id for datum in data})
        return data

    def _by_key(self) -> dict[str, list[DebugTensorDatum]]:
        if self._keys is None:
            self._keys = {}
            for datum in self._contents.data:
                self._keys.setdefault(datum.watch_key, []).append(datum)
        return self._keys

    def debug_watch_keys(self, node_name: str, device_name: str | None = None) -> list[str]:
        """Return the watch keys of a node under which something was dumped.

        Args:
          node_name: The node.
          device_name: Only this device.
        """
        data = (datum for datum in self._contents.data if datum.node_name == node_name)
        return list(
            dict.fromkeys(datum.watch_key for datum in data if device_name in (None, datum.device_name))
        )

    def _data_of(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None
    ) -> list[DebugTensorDatum]:
        key = f"{node_name}:{output_slot}:{debug_op}"
        data = self.watch_key_to_data(key, device_name)
        if not data:
            near = self.debug_watch_keys(node_name, device_name)
            there = f"there is {_listed(near)}" if near else "the node has no dumps"
            raise WatchKeyDoesNotExistInDebugDumpDirError(
                f"Nothing was dumped under the watch key {key!r}; {there}."
            )
        return data

    def get_tensors(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[Any]:
        """Return the values of a tensor, as often as it was dumped.

        Args:
          node_name: The node.
          output_slot: The number of its output.
          debug_op: The debug op, such as ``DebugIdentity``.
          device_name: Needed if several devices have such a node.

        Returns:
          For each dump, in order of time, what :meth:`DebugTensorDatum.get_tensor` returns.

        Raises:
          WatchKeyDoesNotExistInDebugDumpDirError: Nothing was dumped under this watch key.
          FormatError: A file is damaged.
        """
        return [datum.get_tensor() for datum in self._data_of(node_name, output_slot, debug_op, device_name)]

    def get_tensor_file_paths(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[str | None]:
        """Return the files of a tensor; arguments as for :meth:`get_tensors`."""
        return [datum.file_path for datum in self._data_of(node_name, output_slot, debug_op, device_name)]

    def get_rel_timestamps(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int]:
        """Return the microseconds from :attr:`t0` to each dump; arguments as for :meth:`get_tensors`."""
        data = self._data_of(node_name, output_slot, debug_op, device_name)
        return [datum.timestamp - (self.t0 or 0) for datum in data]

    def get_dump_sizes_bytes(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int | None]:
        """Return the sizes of the files of a tensor; arguments as for :meth:`get_tensors`."""
        return [
            datum.dump_size_bytes for datum in self._data_of(node_name, output_slot, debug_op, device_name)
        ]

    # Graphs: nodes, their neighbours, and paths.

    def devices(self) -> list[str]:
        """Return the names of the devices."""
        return list(self._contents.devices)

    def loaded_partition_graphs(self) -> bool:
        """Whether there are graphs: a call that failed early may have none."""
        return bool(self._contents.partitions)

    def _partitions(self) -> Iterable[Partition]:
        if not self._contents.partitions:
            raise LookupError("There are no graphs: the call failed before it had any.")
        return self._contents.partitions

    def partition_graphs(self) -> list[Any]:
        """Return the graphs of a dump folder as TensorBoard's ``GraphDef``, with the debugger's nodes.

        Raises:
          LookupError: There are none, as in a recording.
        """
        return [partition.graph_def() for partition in self._partitions()]

    def reconstructed_non_debug_partition_graphs(self) -> Json:
        """Return the graphs of a dump folder as TensorBoard's ``GraphDef``, without the debugger's nodes.

        Returns:
          The graph of each device, by the name of the device. Of several calls, the last one.

        Raises:
          LookupError: There are none, as in a recording.
        """
        return {partition.device: partition.non_debug_graph_def() for partition in self._partitions()}

    def nodes(self, device_name: str | None = None) -> list[str]:
        """Return the names of all nodes.

        Args:
          device_name: Only those on this device.

        Raises:
          LookupError: There are no graphs.
          ValueError: There is no such device.
        """
        _check_device(self._contents, device_name)
        return [
            name
            for partition in self._partitions()
            for name in partition.graph.nodes
            if device_name in (None, partition.device_of(name))
        ]

    def _holders(self, node_name: str, device_name: str | None = None) -> list[Partition]:
        _check_device(self._contents, device_name)
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
        """Return the device of a node; a list if nodes of this name are on several.

        Raises:
          ValueError: There is no such node.
        """
        holders = self._holders(node_name)
        if not holders:
            raise ValueError(f"There is no node {node_name!r}.")
        devices = list(dict.fromkeys(partition.device_of(node_name) for partition in holders))
        return devices[0] if len(devices) == 1 else devices

    def _holder(self, node_name: str, device_name: str | None) -> Partition:
        """Return the only graph that has a node."""
        holders = self._holders(node_name, device_name)
        if not holders:
            where = f" on {device_name}" if device_name else ""
            raise ValueError(f"There is no node {node_name!r}{where}.")
        what = f"a node {node_name!r}"
        _check_one(what, "device_name", {partition.device_of(node_name) for partition in holders})
        _check_one(what, "graph_id", {partition.graph_id for partition in holders})
        if len(holders) > 1:
            raise ValueError(
                f"{len(holders)} different graphs of the session have {what}; choose one with call=..."
            )
        return holders[0]

    def _graph(self, node_name: str, device_name: str | None) -> DebugGraph:
        return self._holder(node_name, device_name).graph

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """Return the op type of a node.

        Args:
          node_name: The node.
          device_name: Needed if several devices have such a node.

        Raises:
          LookupError: There are no graphs.
          ValueError: There is no such node, or there are several.
        """
        return self._graph(node_name, device_name).nodes[node_name].op

    def node_attributes(self, node_name: str, device_name: str | None = None) -> Json:
        """Return the attributes of a node by name.

        Of a dump folder, they are TensorBoard's ``AttrValue``; of a recording, the texts of the route
        ``graphs/op_info``.

        Arguments and exceptions are those of :meth:`node_op_type`.
        """
        return self._holder(node_name, device_name).attributes(node_name)

    def node_inputs(
        self, node_name: str, is_control: bool = False, device_name: str | None = None
    ) -> list[str]:
        """Return the inputs of a node: ``a`` is the output 0 of ``a``, ``a:1`` its output 1.

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
        """Return the nodes that take the outputs of a node, or that wait for it.

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
        """Return the inputs of a node, their inputs, and so on, depth first.

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
        """Return a path from a node to another one along the edges; None if there is none.

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

    # What is known of the program.

    def set_python_graph(self, python_graph: object) -> None:
        """Take the stacks of nodes from the program's own graph, for dump folders, which hold none.

        Args:
          python_graph: A ``tf.Graph``, or None.
        """
        self._python_graph = python_graph

    @property
    def python_graph(self) -> Any:
        """The graph from :meth:`set_python_graph`."""
        return self._python_graph

    def node_traceback(self, element_name: str) -> tuple[SqlRow, ...]:
        """Return the stack that made a node: file, line, function and text of each frame, outermost first.

        Args:
          element_name: A node or a tensor.

        Raises:
          LookupError: No stack is on record; dump folders hold none, see :meth:`set_python_graph`.
          KeyError: There is no such node.
        """
        name = node_of(element_name)
        if self._python_graph is not None:
            made = {op.name: op for op in self._python_graph.get_operations()}
            if name not in made:
                raise KeyError(f"There is no node {name!r} in the graph of the program.")
            return tuple(map(tuple, made[name].traceback))
        frames = self._contents.traceback(name)
        if frames is None:
            raise LookupError(
                f"No stack of {name!r} is on record: dump folders hold none, so give the program's graph to"
                " set_python_graph."
            )
        return frames

    @property
    def core_metadata(self) -> CoreMetadata | list[CoreMetadata]:
        """What TensorFlow counted: one value for one call, else a list."""
        return _single(self._contents.core_metadata)

    @property
    def run_fetches_info(self) -> str | list[str]:
        """The fetches as Python prints them: one text for one call, else a list."""
        return _single(self._contents.fetches)

    @property
    def run_feed_keys_info(self) -> str | list[str]:
        """The names of the feeds as Python prints them: one text for one call, else a list."""
        return _single(self._contents.feeds)


def _existing(source: str | os.PathLike[str]) -> Location:
    folder = location(os.fspath(source))
    if isinstance(folder, Path) and not folder.is_dir():
        raise MissingDumpRootError(f"Debug dump root directory {folder} does not exist.")
    return folder


def _single(values: list[T]) -> T | list[T]:
    return values[0] if len(values) == 1 else values


def _value_or_reason(datum: DebugTensorDatum) -> object:
    try:
        return datum.get_tensor()
    except (FormatError, NotFoundError, OSError) as error:
        return NoTensor(f"The value cannot be read: {error}")


def _check_device(contents: DumpContents, device_name: str | None) -> None:
    """Check that there is a device.

    Raises:
      ValueError: There is no such device.
    """
    if device_name is not None and device_name not in contents.devices:
        raise ValueError(
            f"There is no device {device_name!r}; there is {_listed(contents.devices) or 'none'}."
        )


def _check_one(what: str, option: str, values: set[str]) -> None:
    """Check that a thing is found once.

    Args:
      what: The thing, as "a node 'x'".
      option: The argument that chooses one of several.
      values: The values of that argument.

    Raises:
      ValueError: There are several.
    """
    if len(values) > 1:
        raise ValueError(
            f"Several have {what}; choose one with {option}: {_listed(sorted(map(repr, values)))}."
        )


def _listed(names: Sequence[str]) -> str:
    """Return the first names as a text, and how many more there are."""
    left = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {left} more" if left > 0 else "")
