"""Writes dump folders of tfdbg v1 file by file, without TensorFlow.

Use::

    call = DumpedCall(root / "run_1000000_0")
    call.graph({"a": node("Const"), "b": node("Log", "a")})
    call.dump("b", np.float32([1, np.nan]), time=1_000_050)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.util.tensor_util import make_tensor_proto

CPU: Final = "/job:localhost/replica:0/task:0/device:CPU:0"
CPU_1: Final = "/job:localhost/replica:0/task:0/device:CPU:1"


def node(op: str, *inputs: str, device: str = "") -> NodeDef:
    """Returns a node without a name; an input that begins with ^ is a control input."""
    return NodeDef(op=op, input=inputs, device=device)


def device_folder(device: str) -> str:
    """Returns the name of the folder of a device."""
    return "_tfdbg_device_" + device.replace("/", ",").replace("device:", "device_").replace(":", "_")


class DumpedCall:
    """The folder of a call of ``Session.run``, which this makes."""

    def __init__(self, folder: Path, *, session_run: int = 1, fetches: str = "fetched") -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self._log("_tfdbg_fetches_info_", fetches)
        self._log("_tfdbg_feed_keys_info_", "None")
        metadata = {
            **{"global_step": -1, "session_run_index": session_run, "executor_step_index": 0},
            **{"input_names": ["x:0"], "output_names": ["y:0"], "target_nodes": []},
        }
        self._log(f"_tfdbg_core_metadata_sessionrun{session_run:014}_1000", json.dumps(metadata))

    def _log(self, name: str, message: str) -> None:
        event = Event()
        event.log_message.message = message
        (self.folder / name).write_bytes(event.SerializeToString())

    def graph(self, nodes: Mapping[str, NodeDef], device: str = CPU) -> Path:
        """Writes the partition graph of a device; returns the file."""
        graph = GraphDef()
        for name, described in nodes.items():
            graph.node.add(
                name=name, op=described.op, input=described.input, device=described.device or device
            )
        file = self.folder / device_folder(device) / "_tfdbg_graph_hash1_1000"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(Event(graph_def=graph.SerializeToString()).SerializeToString())
        return file

    def dump(
        self,
        name: str,
        value: npt.ArrayLike | TensorProto,
        *,
        time: int,
        slot: int = 0,
        debug_op: str = "DebugIdentity",
        device: str = CPU,
    ) -> Path:
        """Writes a dump: an array, or a ``TensorProto`` as it is; returns the file."""
        event = Event(wall_time=time)
        tensor = value if isinstance(value, TensorProto) else tensor_of(value)
        event.summary.value.add(tag=name, node_name=f"{name}:{slot}:{debug_op}", tensor=tensor)
        file = self.folder / device_folder(device) / f"{name}_{slot}_{debug_op}_{time}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(event.SerializeToString())
        return file


def tensor_of(value: npt.ArrayLike | TensorProto) -> TensorProto:
    """Returns a tensor as the debug ops write it: all elements as bytes, but strings as they are."""
    array = np.asarray(value)
    proto = make_tensor_proto(array)
    if array.dtype.kind not in "OSU":
        for name in ("float_val", "double_val", "int_val", "int64_val", "bool_val", "half_val"):
            proto.ClearField(name)
        proto.tensor_content = array.tobytes()
    return proto


def no_value(dtype: int, *shape: int) -> TensorProto:
    """Returns the dump of a variable that was not initialised."""
    proto = TensorProto(dtype=dtype)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def training(root: Path, *, calls: int = 3) -> list[DumpedCall]:
    """Writes a session root: in each call ``log`` takes ``x - call``, so that it turns bad in the second."""
    made = []
    for number in range(calls):
        time = 1_700_000_000_000_000 + number * 1_000_000
        call = DumpedCall(root / f"run_{time}_{number}", session_run=number + 1)
        call.graph(
            {
                "x": node("Const"),
                "step": node("Sub", "x", "_arg_step_0_0"),
                "_arg_step_0_0": node("_Arg"),
                "log": node("Log", "__copy_step_0", "^__dbg_step:0_0_DebugIdentity"),
                "__copy_step_0": node("Copy", "step"),
                "__dbg_step:0_0_DebugIdentity": node("DebugIdentity", "__copy_step_0"),
                "__copy_log_0": node("Copy", "log"),
                "__dbg_log:0_0_DebugIdentity": node("DebugIdentity", "__copy_log_0"),
                f"log/_{number * 6}": node("_Send", "__copy_log_0", "^x"),
            }
        )
        call.graph({f"log/_{number * 6 + 1}": node("_Recv")}, CPU_1)
        step = np.float32([1, 2]) - number
        with np.errstate(all="ignore"):
            log = np.log(step)
        call.dump("step", step, time=time + 100)
        call.dump("log", log, time=time + 200)
        call.dump(f"log/_{number * 6 + 1}", log, time=time + 300, device=CPU_1)
        made.append(call)
    return made
