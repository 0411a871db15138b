"""Generates event files of any size for benchmarks, like those of a training program.

:func:`write` makes a file set in FULL_HEALTH: the steps of one training function whose ops form a chain, with
a few eager ops between the steps. In the last hundredth of the steps, every tensor after one op is NaN.
:func:`repeat` makes a recording longer by repeating its records at later times.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import google_crc32c
import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.fileset import (
    EXECUTION,
    GRAPH_EXECUTION_TRACES,
    GRAPHS,
    TAILED,
    FileSetWriter,
    find_file_sets,
)
from tb_debugger_plugin.events.framing import FOOTER_SIZE, HEADER_SIZE, frame, read_records
from tb_debugger_plugin.events.messages import DebugEvent, GraphOpCreation, TensorProto

EAGER_OPS = 4
_LINES = 500
_START = 1.7e9
_STEP_S = 0.05
_GRAPH = "0f3a9b2c-1d2e-4f5a-8b7c-2a9b31f00001"
_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
_KINDS = ("MatMul", "AddV2", "Mul", "Softmax", "Reshape", "Rsqrt", "Sum")
_SIZE = 4096


class Program(NamedTuple):
    """The program of a made recording.

    Attributes:
      ops: Number of ops of the training function.
      files: Number of source files; all but the first one are a library's.
      frames: Number of frames of the stack of an op, in different files.
      trains: Whether its tensors are gradients, weights, updates and activations, in FULL_NUMERICS.
    """

    ops: int
    files: int
    frames: int
    trains: bool = False


#: A transformer of four layers.
TRANSFORMER: Final = Program(ops=3000, files=1, frames=2)
#: The same, with what alert rules ask for.
TRAINING: Final = TRANSFORMER._replace(trains=True)
#: What the ops of a training program are in turn: types, and how they are named.
_ROLES: Final = ("MatMul", "ReadVariableOp", "Relu", "Tanh", "AssignSubVariableOp")


def write(
    folder: Path,
    num_graph_executions: int,
    hosts: int = 1,
    program: Program = TRANSFORMER,
    bad_from: float = 0.99,
) -> int:
    """Write the file set of each host of a job.

    Args:
      folder: The dump root.
      num_graph_executions: Number of graph executions of all hosts together.
      hosts: Number of hosts.
      program: What they ran.
      bad_from: After which share of the program half of the tensors of each step are bad.

    Returns:
      Number of bytes of traces.
    """
    folder.mkdir(parents=True, exist_ok=True)
    count = num_graph_executions // hosts
    return sum(_write_host(folder, host, count, program, bad_from) for host in range(hosts))


def write_live(folder: Path, per_second: int, seconds: float) -> None:
    """Write the file set of a program that runs now, as fast as it computes.

    Args:
      folder: The dump root.
      per_second: Number of graph executions a second.
      seconds: How long it runs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    program = Program(ops=500, files=1, frames=2)
    duration = program.ops / per_second
    with FileSetWriter(folder, "worker0", time.time()) as writer:
        writer.write_metadata(
            tensorflow_version="2.21.0", tfdbg_run_id="bench", recorder_version="0.1.0", host_name="worker0"
        )
        _describe(writer, program)
        step = _Step([_trace(op, is_bad=False, trains=False) for op in range(program.ops)])
        begin, written = time.time(), 0
        with writer.files.path(GRAPH_EXECUTION_TRACES).open("wb", buffering=0) as stream:
            while (now := time.time()) < begin + seconds:
                while written < (now - begin) / duration:
                    stream.write(step.at(now - np.arange(program.ops)[::-1] * 1e-6, program.ops, written))
                    written += 1
                time.sleep(duration / 2)


def repeat(recording: Path, folder: Path, num_graph_executions: int) -> int:
    """Write the file set of a longer program, by repeating the traces of a recording.

    Executions are repeated from the first one that follows a trace: the earlier ones make the model.

    Args:
      recording: A dump root with the complete recording of one host.
      folder: The dump root to write into.
      num_graph_executions: Number of graph executions to write.

    Returns:
      Number of bytes of traces.
    """
    shutil.copytree(recording, folder, ignore=shutil.ignore_patterns("*.tail"))
    (files,) = find_file_sets(folder)
    payloads = {suffix: _payloads(files.path(suffix)) for suffix in TAILED}
    times = {suffix: _times(records) for suffix, records in payloads.items()}
    traces, calls = times[GRAPH_EXECUTION_TRACES], times[EXECUTION]
    first, last = traces.min(), max(traces.max(), calls.max())
    before = int(np.sum(calls < first))
    steps = {
        GRAPH_EXECUTION_TRACES: (_Step(payloads[GRAPH_EXECUTION_TRACES]), traces),
        EXECUTION: (_Step(payloads[EXECUTION][before:]), calls[before:]),
    }
    streams = {suffix: files.path(suffix).open("ab") for suffix in steps}
    for begin in range(len(traces), num_graph_executions, len(traces)):
        later = (last - first + _STEP_S) * (begin // len(traces))
        for suffix, (step, then) in steps.items():
            count = num_graph_executions - begin if suffix == GRAPH_EXECUTION_TRACES else len(then)
            streams[suffix].write(step.at(then + later, count, begin // len(traces)))
    for stream in streams.values():
        stream.close()
    return files.path(GRAPH_EXECUTION_TRACES).stat().st_size


def _payloads(path: Path) -> list[bytes]:
    return [payload for _, payload in read_records(path.read_bytes())[0]]


def _times(records: list[bytes]) -> npt.NDArray[np.float64]:
    return np.array([DebugEvent.FromString(record).wall_time for record in records])


def _write_host(folder: Path, host: int, num_graph_executions: int, program: Program, bad_from: float) -> int:
    name, start, ops = f"worker{host}", _START + host * 1e-6, program.ops
    with FileSetWriter(folder, name, start) as writer:
        writer.write_metadata(
            tensorflow_version="2.21.0", tfdbg_run_id="bench", recorder_version="0.1.0", host_name=name
        )
        _describe(writer, program)
        good = _Step([_trace(op, is_bad=False, trains=program.trains) for op in range(ops)])
        bad = _Step([_trace(op, is_bad=op >= ops // 2, trains=program.trains) for op in range(ops)])
        path = writer.files.path(GRAPH_EXECUTION_TRACES)
        calls = []
        with path.open("wb") as stream:
            for begin in range(0, num_graph_executions, ops):
                now = start + begin // ops * _STEP_S
                step = bad if begin >= num_graph_executions * bad_from else good
                count = num_graph_executions - begin
                stream.write(step.at(now + np.arange(ops) * 1e-5, count, begin // ops))
                calls += _executions(now + ops * 1e-5, begin // ops)
        writer.files.path(EXECUTION).write_bytes(b"".join(calls))
        end = DebugEvent(wall_time=now + 1)
        end.recording_counts.executions, end.recording_counts.graph_execution_traces = (
            len(calls),
            num_graph_executions,
        )
        end.recording_counts.finished = True
        writer.write(GRAPHS, end)
        return path.stat().st_size


def name_of(op: int) -> str:
    """Returns the name of an op."""
    return f"transformer/layer_{op % 4}/block_{op % 97}/{_KINDS[op % len(_KINDS)]}_{op}"


def _describe(writer: FileSetWriter, program: Program) -> None:
    for number in range(program.files):
        event = DebugEvent(wall_time=_START)
        source = event.source_file
        source.file_path = (
            f"/usr/lib/site-packages/library/file{number}.py" if number else "/home/me/train.py"
        )
        source.host_name = "worker0"
        source.lines.extend(f"line {line}" for line in range(_LINES))
        writer.write("source_files", event)
    for number in range(program.files * _LINES):
        event = DebugEvent(wall_time=_START)
        stack_frame, place = event.stack_frame_with_id, event.stack_frame_with_id.file_line_col
        stack_frame.id, place.line, place.func = f"frame{number}", 1 + number % _LINES, "step"
        place.file_index = number // _LINES
        writer.write("stack_frames", event)
    graph = DebugEvent(wall_time=_START)
    graph.debugged_graph.graph_id, graph.debugged_graph.graph_name = _GRAPH, "train_step"
    writer.write(GRAPHS, graph, *(_creation(op, program) for op in range(program.ops)))


def _give_role(created: GraphOpCreation, op: int) -> None:
    """Makes ops in turn a gradient, the read of its variable, activations, and an update of the variable."""
    turn, role = divmod(op, len(_ROLES))
    created.op_type, created.layer = _ROLES[role], f"layer_{turn % 40}"
    variable = f"layer_{turn % 40}/kernel_{turn}"
    if role == 0:
        created.outputs.add(dtype=1).gradient_of.append(variable)
    elif role in (1, 4):
        created.variable = variable


def _stack(op: int, program: Program) -> Iterator[str]:
    """Yields the frames of an op: a line of the first file, and some that many ops have."""
    for depth in range(program.frames):
        line = (op * 7 if depth == 0 else op % (13 + depth)) % _LINES
        yield f"frame{depth % program.files * _LINES + line}"


def _creation(op: int, program: Program) -> DebugEvent:
    event = DebugEvent(wall_time=_START)
    created = event.graph_op_creation
    created.op_name, created.op_type = name_of(op), _KINDS[op % len(_KINDS)]
    if program.trains:
        _give_role(created, op)
    created.graph_id, created.graph_name, created.device_name = _GRAPH, "train_step", _DEVICE
    created.num_outputs = 1
    created.output_tensor_ids.append(op)
    created.input_names.extend(f"{name_of(source)}:0" for source in (op - 1, op - 7) if source >= 0)
    created.code_location.host_name = "worker0"
    created.code_location.stack_frame_ids.extend(_stack(op, program))
    return event


def _health(op: int, *, is_bad: bool, trains: bool = False) -> TensorProto:
    nan = _SIZE if is_bad else 0
    numbers = [op, -1, 1, 2, _SIZE, 0, 0, nan, *((0, 0, 0) if nan else (2000 + op % 7, 96, 2000 - op % 7))]
    if trains:
        scale = math.nan if nan else 1.0 + op % 50
        numbers += [-scale, scale, scale / 100, scale]
    proto = TensorProto(dtype=2, tensor_content=np.array(numbers, "<f8").tobytes())
    proto.tensor_shape.dim.add(size=len(numbers))
    return proto


def _trace(op: int, *, is_bad: bool, trains: bool) -> bytes:
    event = DebugEvent(wall_time=1.0)
    trace = event.graph_execution_trace
    trace.tfdbg_context_id, trace.op_name, trace.tensor_debug_mode = _GRAPH, name_of(op), 6 if trains else 4
    trace.tensor_proto.CopyFrom(_health(op, is_bad=is_bad, trains=trains))
    trace.device_name = _DEVICE
    return bytes(event.SerializeToString())


class _Step:
    """The framed traces of a step; only stamps and checksums change from one step to the next.

    A CRC is linear: what bytes at a fixed position add to a record's CRC depends only on the record's length.
    """

    def __init__(self, records: list[bytes]) -> None:
        records = [_without_stamp(record) for record in records]
        framed = [frame(record) for record in records]
        self._data = np.frombuffer(b"".join(framed), np.uint8).copy()
        self._ends = np.cumsum([len(record) for record in framed])
        begins = self._ends - [len(record) for record in framed]
        self._stamps = (begins + HEADER_SIZE)[:, None] + _STAMP
        self._sums = (self._ends - FOOTER_SIZE)[:, None] + np.arange(FOOTER_SIZE)
        plain = [google_crc32c.value(record) for record in records]
        self._plain = np.array(plain, np.uint32)
        lengths, self._kinds = np.unique([len(record) for record in records], return_inverse=True)
        self._shares = np.array([_shares_of_stamp(length) for length in lengths.tolist()])

    def at(self, times: npt.NDArray[np.float64], count: int, step: int) -> bytes:
        """Returns the first `count` records, with the given times and the step."""
        number = np.array([step >> 7 * place & 0x7F for place in range(5)], np.uint8)
        digits = np.hstack(
            [times.view(np.uint8).reshape(-1, 8), np.broadcast_to(number, (len(times), len(number)))]
        )
        shares = self._shares[self._kinds[:, None], np.arange(len(_STAMP)), digits]
        crcs = self._plain ^ np.bitwise_xor.reduce(shares, axis=1)
        masked = ((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + np.uint32(0xA282EAD8)
        self._data[self._stamps] = digits | _CONTINUED
        self._data[self._sums] = masked.view(np.uint8).reshape(-1, FOOTER_SIZE)
        return self._data[: self._ends[min(count, len(times)) - 1]].tobytes()


#: Where a record has its time, a tag and 8 bytes, and its step, a tag and a varint that always has 5 bytes.
_STAMP: Final = np.array([*range(1, 9), *range(10, 15)])
#: The bits of these bytes that say that the varint goes on.
_CONTINUED: Final = np.array([*[0] * 8, *[0x80] * 4, 0], np.uint8)
_NO_STEP: Final = b"\x10\x80\x80\x80\x80\x00"


def _without_stamp(record: bytes) -> bytes:
    event = DebugEvent.FromString(record)
    event.ClearField("step")
    return record[:1] + bytes(8) + _NO_STEP + event.SerializeToString()[9:]


def _shares_of_stamp(length: int) -> npt.NDArray[np.uint32]:
    """Returns what each byte of the stamp, by position and value, adds to the CRC of such a record."""
    zeros = google_crc32c.value(bytes(length))
    return np.array(
        [
            [
                google_crc32c.value(bytes(position) + bytes([value]) + bytes(length - position - 1)) ^ zeros
                for value in range(256)
            ]
            for position in _STAMP.tolist()
        ],
        np.uint32,
    )


def _executions(now: float, step: int) -> list[bytes]:
    events = []
    for number in range(1 + EAGER_OPS):
        event = DebugEvent(wall_time=now + number * 1e-5, step=step)
        execution = event.execution
        execution.op_type = "AssignSubVariableOp" if number else "__inference_train_step_1234"
        execution.graph_id = "" if number else _GRAPH
        execution.num_outputs, execution.tensor_debug_mode = 1, 4
        execution.output_tensor_ids.append(number)
        execution.input_tensor_ids.extend([number + 1])
        execution.tensor_protos.append(_health(number, is_bad=False))
        execution.code_location.host_name = "worker0"
        execution.code_location.stack_frame_ids.extend(["frame1", "frame2"])
        events.append(frame(event.SerializeToString()))
    return events
