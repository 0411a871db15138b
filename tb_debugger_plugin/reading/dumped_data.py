"""The part of ``DebugDumpDir`` that asks for dumped tensors: by predicate, watch key, node and time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tb_debugger_plugin.errors import FormatError, NotFoundError
from tb_debugger_plugin.reading.datum import DebugTensorDatum, NoTensor
from tb_debugger_plugin.reading.dump_contents import DumpContents
from tb_debugger_plugin.reading.dump_names import check_device, check_one, listed


class WatchKeyDoesNotExistInDebugDumpDirError(NotFoundError, ValueError):
    """Nothing was dumped under a watch key."""


class DumpedData:
    """The dumped tensors; see :class:`~tb_debugger_plugin.reading.dump_dir.DebugDumpDir`.

    Args:
      contents: What was dumped.
    """

    def __init__(self, contents: DumpContents) -> None:
        self._contents = contents
        self._keys: dict[str, list[DebugTensorDatum]] | None = None

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
        predicate: Callable[[DebugTensorDatum, Any], bool],
        first_n: int = 0,
        device_name: str | None = None,
        exclude_node_names: str | None = None,
    ) -> list[DebugTensorDatum]:
        """Returns the data for which a predicate is true, in order of time over all devices.

        TensorFlow's method goes device by device, so with ``first_n`` it may miss the first one.

        Args:
          predicate: Called with the datum and its value: an array, or a
            :class:`~tb_debugger_plugin.reading.datum.NoTensor`, also for a file that is damaged.
          first_n: Return at most so many; 0 = all.
          device_name: Only this device.
          exclude_node_names: Leave out nodes whose name begins with a match of this regular expression.

        Raises:
          ValueError: There is no such device.
        """
        check_device(self._contents, device_name)
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
        """Returns the data under a watch key such as ``Log:0:DebugIdentity``; none if it does not exist.

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
        check_one(f"the watch key {debug_watch_key!r}", "device_name", {datum.device_name for datum in data})
        check_one(f"the watch key {debug_watch_key!r}", "graph_id", {datum.graph_id for datum in data})
        return data

    def _by_key(self) -> dict[str, list[DebugTensorDatum]]:
        if self._keys is None:
            self._keys = {}
            for datum in self._contents.data:
                self._keys.setdefault(datum.watch_key, []).append(datum)
        return self._keys

    def debug_watch_keys(self, node_name: str, device_name: str | None = None) -> list[str]:
        """Returns the watch keys of a node under which something was dumped.

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
            there = f"there is {listed(near)}" if near else "the node has no dumps"
            raise WatchKeyDoesNotExistInDebugDumpDirError(
                f"Nothing was dumped under the watch key {key!r}; {there}."
            )
        return data

    def get_tensors(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[Any]:
        """Returns the values of a tensor, as often as it was dumped.

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
        """Returns the files of a tensor; arguments as for :meth:`get_tensors`."""
        return [datum.file_path for datum in self._data_of(node_name, output_slot, debug_op, device_name)]

    def get_rel_timestamps(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int]:
        """Returns the microseconds from :attr:`t0` to each dump; arguments as for :meth:`get_tensors`."""
        data = self._data_of(node_name, output_slot, debug_op, device_name)
        return [datum.timestamp - (self.t0 or 0) for datum in data]

    def get_dump_sizes_bytes(
        self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None
    ) -> list[int | None]:
        """Returns the sizes of the files of a tensor; arguments as for :meth:`get_tensors`."""
        return [
            datum.dump_size_bytes for datum in self._data_of(node_name, output_slot, debug_op, device_name)
        ]


def _value_or_reason(datum: DebugTensorDatum) -> Any:
    try:
        return datum.get_tensor()
    except (FormatError, NotFoundError, OSError) as error:
        return NoTensor(f"The value cannot be read: {error}")
