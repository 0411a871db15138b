"""Makes the golden recordings: run it by hand, with TensorFlow installed.

    python -m tests.golden.make_recordings

For each mode it records ``program.py`` with TensorFlow's own recorder, takes out of the recorded sources
what is not ours, and stores beside the files a text dump and what TensorFlow's own reader finds in them.
The recordings of a version stay for ever: only add new ones.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tb_debugger_plugin.events.fileset import (
    EXECUTION,
    GRAPHS,
    SOURCE_FILES,
    STACK_FRAMES,
    FileSet,
    find_file_sets,
    read_file,
)
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.text import Normalizer, dump_file_set

if TYPE_CHECKING:
    from tensorflow.python.debug.lib.debug_events_monitors import InfNanAlert
    from tensorflow.python.debug.lib.debug_events_reader import (
        DebugDataReader,
        Execution,
        GraphExecutionTrace,
    )

HERE = Path(__file__).parent
MODES = ("CURT_HEALTH", "FULL_HEALTH", "SHAPE", "FULL_TENSOR")


def folder_of(mode: str, version: str) -> Path:
    """Where the recording of a mode by a version of TensorFlow is."""
    return HERE / f"tensorflow-{version}" / mode


def record(mode: str) -> None:
    """Record the program in this process; a process can record with one mode only."""
    import tensorflow as tf

    from tests.golden import program

    folder = folder_of(mode, tf.__version__)
    shutil.rmtree(folder, ignore_errors=True)
    tf.debugging.experimental.enable_dump_debug_info(
        str(folder), tensor_debug_mode=mode, circular_buffer_size=-1
    )
    program.run()
    tf.debugging.experimental.disable_dump_debug_info()
    (files,) = find_file_sets(folder)
    _strip(files)
    (folder / "dump.txt").write_text("\n".join(dump_file_set(files, Normalizer())) + "\n")
    (folder / "tensorflow.json").write_text(_json(_what_tensorflow_reads(folder)) + "\n")


def _strip(files: FileSet) -> None:
    """Take library code out: text and places of this machine, and the frames that stand in it."""
    sources = _rewrite(files.path(SOURCE_FILES), _without_library_text)
    own = {number for number, event in enumerate(sources) if event.source_file.lines}
    frames = _rewrite(files.path(STACK_FRAMES), lambda event: _is_frame_of(event, own))
    kept = {event.stack_frame_with_id.id for event in frames}
    for suffix in (GRAPHS, EXECUTION):
        _rewrite(files.path(suffix), lambda event: _with_frames(event, kept))


def _rewrite(path: Path, change: Callable[[Message], bool]) -> list[Message]:
    events = [record_.event for record_ in read_file(path).records if change(record_.event)]
    path.write_bytes(b"".join(frame(event.SerializeToString()) for event in events))
    return events


def _without_library_text(event: Message) -> bool:
    source = event.source_file
    name = Path(source.file_path).name
    if Path(source.file_path) == HERE / "program.py":
        source.file_path = f"/home/user/{name}"
    else:
        # The record stays, since frames refer to files by their position.
        source.file_path = f"/home/user/venv/lib/python3.11/site-packages/{name}"
        source.ClearField("lines")
    return True


def _is_frame_of(event: Message, sources: set[int]) -> bool:
    return event.stack_frame_with_id.file_line_col.file_index in sources


def _with_frames(event: Message, kept: set[str]) -> bool:
    kind = event.WhichOneof("what")
    if kind in ("execution", "graph_op_creation"):
        ids = getattr(event, kind).code_location.stack_frame_ids
        ids[:] = [frame_id for frame_id in ids if frame_id in kept]
    return True


def _json(actual: dict[str, object]) -> str:
    # One line an item, so that a difference can be read.
    parts = []
    for name, items in actual.items():
        lines = ",\n".join(json.dumps(item) for item in items) if items is not None else None
        parts.append(f"{json.dumps(name)}: " + ("null" if lines is None else f"[\n{lines}\n]"))
    return "{\n" + ",\n".join(parts) + "\n}"


def _what_tensorflow_reads(folder: Path) -> dict[str, object]:
    from tensorflow.python.debug.lib.debug_events_monitors import InfNanMonitor
    from tensorflow.python.debug.lib.debug_events_reader import DebugDataReader

    reader = DebugDataReader(str(folder))
    # With whole tensors the monitor of TensorFlow hangs on its own lock.
    monitor = InfNanMonitor(reader) if folder.name != "FULL_TENSOR" else None
    reader.update()
    return {
        "executions": [_execution(execution) for execution in reader.executions()],
        "graph_executions": [_trace(reader, trace) for trace in reader.graph_execution_traces()],
        "alerts": [_alert(alert) for alert in monitor.alerts()] if monitor else None,
        "ops": [
            [digest.graph_id, digest.op_name, digest.op_type, list(digest.input_names or ())]
            for digest in reader.graph_op_digests()
        ],
        "sources": [list(source) for source in reader.source_file_list()],
    }


def _execution(execution: Execution) -> dict[str, object]:
    shown = execution.to_json()
    keys = (
        *("op_type", "output_tensor_device_ids", "host_name", "stack_frame_ids", "tensor_debug_mode"),
        *("graph_id", "input_tensor_ids", "output_tensor_ids", "debug_tensor_values"),
    )
    return {key: shown[key] for key in keys}


def _trace(reader: DebugDataReader, trace: GraphExecutionTrace) -> dict[str, object]:
    shown = trace.to_json()
    keys = ("op_type", "op_name", "output_slot", "graph_ids", "tensor_debug_mode", "device_name")
    actual = {key: shown[key] for key in keys}
    if trace.debug_tensor_value is not None:
        actual["debug_tensor_value"] = list(trace.debug_tensor_value)
    if shown["tensor_debug_mode"] == TensorDebugMode.FULL_TENSOR:
        value = np.asarray(reader.graph_execution_trace_to_tensor_value(trace))
        actual["tensor"] = {"shape": list(value.shape), "values": [repr(x) for x in value.ravel().tolist()]}
    return actual


def _alert(alert: InfNanAlert) -> list[object]:
    return [alert.op_type, alert.output_slot, alert.execution_index, alert.graph_execution_trace_index]


if __name__ == "__main__":
    if len(sys.argv) == 2:
        record(sys.argv[1])
    else:
        for mode_name in MODES:
            subprocess.run([sys.executable, "-m", "tests.golden.make_recordings", mode_name], check=True)
