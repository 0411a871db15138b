"""The names in a dump folder: what they say about the tensors, devices and calls of ``Session.run``.

Takes names of files and folders, and returns their parts; None for a name that is none of these.

Invariant: any name is accepted; numbers in names are bounded.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_METADATA: Final = "_tfdbg_"
DEVICE: Final = f"{_METADATA}device_"
GRAPH: Final = f"{_METADATA}graph_"
CORE_METADATA: Final = f"{_METADATA}core_metadata_"
FETCHES: Final = f"{_METADATA}fetches_info_"
FEEDS: Final = f"{_METADATA}feed_keys_info_"
#: Files of ours, which TensorFlow ignores: what Python knows of the graph, and the times of a call.
_OURS: Final = "_tbdbg_"
PYTHON_GRAPH: Final = f"{_OURS}python_graph"
CALL_TIMES: Final = f"{_OURS}times"
#: The debug op that dumps the tensor itself.
IDENTITY: Final = "DebugIdentity"

#: The slot and the time fit their columns; TensorFlow's times are microseconds since 1970.
_DUMP: Final = re.compile(
    r"(?P<node>.+)_(?P<slot>\d{1,9})_(?P<op>[A-Za-z0-9]{1,100})_(?P<time>\d{1,16})(?:-(?P<again>\d{1,9}))?",
    re.ASCII,
)
_CALL: Final = re.compile(r"run_(?P<time>\d{1,16})_(?P<counter>\d{1,9})", re.ASCII)


def is_of_debugger(name: str) -> bool:
    """Whether a debugger writes files or folders of such a name into the folder of a call."""
    return name.startswith((_METADATA, _OURS))


class DumpName(NamedTuple):
    """The parts of the path of a dump.

    Attributes:
      device: Name of the device.
      node: Name of the node, with scopes.
      slot: Number of the node's output.
      debug_op: The debug op that wrote the dump, such as ``DebugIdentity``.
      time: Microseconds since 1970.
      again: Distinguishes dumps of a tensor in the same microsecond, from 0.
    """

    device: str
    node: str
    slot: int
    debug_op: str
    time: int
    again: int

    @property
    def watch_key(self) -> str:
        """The tensor and the debug op, such as ``Log:0:DebugIdentity``."""
        return f"{self.node}:{self.slot}:{self.debug_op}"


class CallName(NamedTuple):
    """The parts of the name of the folder of a call of ``Session.run``: ``run_<microseconds>_<counter>``."""

    time: int
    counter: int


def parse_dump_path(path: str) -> DumpName | None:
    """Return what the path of a dump says.

    Args:
      path: Path below the folder of a call, with ``/``: the folder of the device, the scopes of the node, and
        ``<node>_<slot>_<debug op>_<microseconds>``.
    """
    device, _, rest = path.partition("/")
    scopes, slash, name = rest.rpartition("/")
    match = _DUMP.fullmatch(name)
    device_name = parse_device_folder(device)
    if match is None or device_name is None:
        return None
    node = f"{scopes}{slash}{match['node']}"
    return DumpName(
        device_name, node, int(match["slot"]), match["op"], int(match["time"]), int(match["again"] or -1) + 1
    )


@functools.lru_cache(maxsize=1024)
def parse_device_folder(name: str) -> str | None:
    """Return the device of a folder such as ``_tfdbg_device_,job_a,replica_0,task_0,device_CPU_0``."""
    if not name.startswith(DEVICE):
        return None
    parts = name[len(DEVICE) :].split(",")
    return "/".join(part.replace("device_", "device:").replace("_", ":", 1) for part in parts)


def device_folder(device: str) -> str:
    """Return the name of the folder of a device such as ``/job:a/replica:0/task:0/device:CPU:0``."""
    return DEVICE + device.replace("/", ",").replace("device:", "device_").replace(":", "_")


def parse_call_folder(name: str) -> CallName | None:
    """Return what the name of the folder of a call says."""
    match = _CALL.fullmatch(name)
    return match and CallName(int(match["time"]), int(match["counter"]))


def is_call(files: Iterable[str], folders: Iterable[str]) -> bool:
    """Whether a folder holds the dumps of a call of ``Session.run``.

    Args:
      files: Names of its files.
      folders: Names of the folders in it.
    """
    return any(name.startswith(DEVICE) for name in folders) or any(
        name.startswith((CORE_METADATA, FETCHES)) for name in files
    )
