"""Writes what the ``RunMetadata`` of a call holds into its dump folder: graphs, and times of ops.

Takes ``RunMetadata``. TensorFlow writes the graphs itself only when it first sees a folder; times are never
in its dump folders.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorflow.core.util import event_pb2

from tb_debugger_plugin.capture.session_runs import op_times
from tb_debugger_plugin.events.dumps.names import CALL_TIMES, GRAPH, device_folder
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.messages import DebugEvent, Message, SessionRequest
from tb_debugger_plugin.shell.program import Call

#: The wrapper of a session knows one session.
_SESSION = 1


def write_graphs(folder: Path, metadata: Any) -> None:
    """Write the partition graphs of a call, unless TensorFlow has written them.

    Args:
      folder: The folder of the call.
      metadata: Its ``RunMetadata``, which needs ``output_partition_graphs``.
    """
    for graph in metadata.partition_graphs:
        device = next((node.device for node in graph.node if node.device), None)
        if device is None:
            continue
        place = folder / device_folder(device)
        place.mkdir(exist_ok=True)
        if not any(place.glob(f"{GRAPH}*")):
            event = event_pb2.Event(graph_def=graph.SerializeToString())
            (place / f"{GRAPH}hash0_{int(time.time() * 1e6)}").write_bytes(event.SerializeToString())


def write_times(folder: Path, call: Call, metadata: Any) -> None:
    """Write the times of the ops of a call that was profiled.

    Args:
      folder: The folder of the call.
      call: The call.
      metadata: Its ``RunMetadata``.
    """
    records = b"".join(frame(event.SerializeToString()) for event in _events(call, metadata))
    (folder / CALL_TIMES).write_bytes(records)


def _events(call: Call, metadata: Any) -> Iterator[Message]:
    request = DebugEvent()
    request.session_request.CopyFrom(
        SessionRequest(number=call.number, fetches=call.fetches, targets=call.targets)
    )
    yield request
    run = DebugEvent(wall_time=time.time())
    begins = [node.all_start_micros for device in metadata.step_stats.dev_stats for node in device.node_stats]
    run.session_run.session, run.session_run.run = _SESSION, call.number
    run.session_run.request = call.number
    run.session_run.begin_time = min(begins, default=0) / 1e6
    yield run
    yield from op_times(metadata.step_stats, _SESSION, call.number)
