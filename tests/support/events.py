"""Builders of event files: a test calls a method for each record, in the order of a program.

Each record is a millisecond later than the previous one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.snapshot import Snapshot, open_snapshot
from tb_debugger_plugin.events.fileset import FileSetWriter
from tb_debugger_plugin.events.messages import DebugEvent, GraphOpCreation, Message, TensorProto
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import find_runs

START = 1000.0
TICK = 0.001
DEVICE = "/device:CPU:0"
PATIENCE_S = 30.0


def vector(values: Sequence[float]) -> Message:
    """Makes the summary of a tensor as in a file: a float64 vector."""
    return shaped(len(values), dtype=2, tensor_content=np.asarray(values, "<f8").tobytes())


def whole(array: npt.ArrayLike, dtype: int) -> Message:
    """Makes a whole tensor as in a file."""
    return shaped(*np.shape(array), dtype=dtype, tensor_content=np.ascontiguousarray(array).tobytes())


def shaped(*dims: int, dtype: int = 1, **fields: object) -> TensorProto:
    """Makes a tensor as in a file that has this shape, whatever its fields hold."""
    proto = TensorProto(dtype=dtype, **fields)
    for size in dims:
        proto.tensor_shape.dim.add(size=size)
    return proto


def full_health(array: npt.ArrayLike, tensor_id: int = -1) -> Message:
    """Makes the FULL_HEALTH summary of a float32 array, counted one element at a time."""
    flat = [float(x) for x in np.ravel(np.asarray(array, np.float32))]
    return vector([tensor_id, -1, 1, np.ndim(array), len(flat), *kinds_of(flat)])


def kinds_of(flat: Sequence[float]) -> list[int]:
    """Counts −∞, +∞, NaN, negative, zero and positive numbers, one element at a time."""
    kinds = (
        lambda x: x == -math.inf,
        lambda x: x == math.inf,
        math.isnan,
        lambda x: math.isfinite(x) and x < 0,
        lambda x: x == 0,
        lambda x: math.isfinite(x) and x > 0,
    )
    return [sum(1 for x in flat if kind(x)) for kind in kinds]


class Recording:
    """Writes one file set, record by record, until ``close()``."""

    def __init__(
        self,
        folder: Path,
        *,
        host: str = "worker0",
        run_id: str = "run1",
        start: float = START,
        mode: TensorDebugMode = TensorDebugMode.FULL_HEALTH,
        **metadata: object,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.now = start
        #: The step of the records that follow, as the program marks it.
        self.step = 0
        self.mode = mode
        self.host = host
        self.writer = FileSetWriter(folder, host, start, clock=self._tick)
        self.files = self.writer.files
        self.writer.write_metadata(tensorflow_version="2.21.0", tfdbg_run_id=run_id, **metadata)

    def _tick(self) -> float:
        self.now += TICK
        return self.now

    def event(self, at: float | None = None) -> Message:
        """Makes an empty event with the present time, or with a given one."""
        return DebugEvent(wall_time=self._tick() if at is None else at, step=self.step)

    def source(self, path: str, lines: Sequence[str], *, origin: int = 0) -> None:
        event = self.event()
        event.source_file.origin = origin
        event.source_file.file_path, event.source_file.host_name = path, self.host
        event.source_file.lines.extend(lines)
        self.writer.write("source_files", event)

    def frame(
        self,
        frame_id: str,
        file_index: int,
        line: int,
        function: str,
        around: tuple[int, Sequence[str]] = (0, ()),
    ) -> None:
        event = self.event()
        event.stack_frame_with_id.id = frame_id
        place = event.stack_frame_with_id.file_line_col
        place.file_index, place.line, place.func = file_index, line, function
        place.first_line = around[0]
        place.lines.extend(around[1])
        self.writer.write("stack_frames", event)

    def device(self, device_id: int, name: str = DEVICE) -> None:
        event = self.event()
        event.debugged_device.device_id, event.debugged_device.device_name = device_id, name
        self.writer.write("graphs", event)

    def graph(self, graph_id: str, name: str = "", outer: str = "") -> None:
        event = self.event()
        graph = event.debugged_graph
        graph.graph_id, graph.graph_name, graph.outer_context_id = graph_id, name, outer
        self.writer.write("graphs", event)

    def op(
        self,
        graph_id: str,
        name: str,
        op_type: str,
        inputs: Sequence[str] = (),
        *,
        ids: Sequence[int] = (),
        stack: Sequence[str] = (),
        outputs: Sequence[tuple[int, Sequence[int] | None]] = (),
        gradient_of: Sequence[str] = (),
        is_loss: bool = False,
        **names: object,
    ) -> None:
        """Writes an op; `gradient_of` and `is_loss` are of its first output, `names` fields of our own."""
        event = DebugEvent(graph_op_creation=GraphOpCreation(**names))
        event.wall_time = self._tick()
        op = event.graph_op_creation
        op.graph_id, op.op_name, op.op_type, op.num_outputs = graph_id, name, op_type, max(1, len(ids))
        op.input_names.extend(inputs)
        op.output_tensor_ids.extend(ids)
        op.code_location.host_name = self.host
        op.code_location.stack_frame_ids.extend(stack)
        for dtype, dims in outputs:
            op.outputs.add(dtype=dtype, unknown_rank=dims is None, dims=dims or [])
        if gradient_of or is_loss:
            first = op.outputs[0] if op.outputs else op.outputs.add(dtype=1)
            first.gradient_of.extend(gradient_of)
            first.is_loss = is_loss
        self.writer.write("graphs", event)

    # These describe what other records name, and come at the time of the record before them.

    def attributes(self, number: int, **values: str) -> None:
        event = self.event(self.now)
        event.op_attributes.number = number
        for name, value in values.items():
            event.op_attributes.attributes.add(name=name, value=value)
        self.writer.write("graphs", event)

    def thread(self, number: int, name: str) -> None:
        event = self.event(self.now)
        event.debugged_thread.thread_id, event.debugged_thread.thread_name = number, name
        self.writer.write("graphs", event)

    def request(
        self,
        number: int,
        *,
        feeds: Sequence[tuple[str, int, Sequence[int]]] = (),
        fetches: Sequence[str] = (),
        targets: Sequence[str] = (),
        stack: Sequence[str] = (),
    ) -> None:
        event = self.event(self.now)
        request = event.session_request
        if stack:
            request.code_location.host_name = self.host
            request.code_location.stack_frame_ids.extend(stack)
        request.number = number
        for name, dtype, dims in feeds:
            request.feeds.add(name=name, dtype=dtype, dims=dims)
        request.fetches.extend(fetches)
        request.targets.extend(targets)
        self.writer.write("graphs", event)

    def session_run(self, run: int, request: int = 0, **facts: object) -> None:
        self.writer.write("session_runs", self.session_run_event(run, request, **facts))

    def session_run_event(
        self, run: int, request: int = 0, *, session: int = 1, thread: int = 0, error: str = ""
    ) -> Message:
        begin, event = self.now, self.event()
        ran = event.session_run
        ran.session, ran.run, ran.request, ran.thread_id = session, run, request, thread
        ran.begin_time, ran.error = begin, error
        return event

    def op_times(self, run: int, device: str, times: Sequence[tuple[str, int, int, int, int]]) -> None:
        event = self.event(self.now)
        record = event.op_times
        record.session, record.run, record.device_name = 1, run, device
        for name, start, op_start, op_time, all_time in times:
            record.op_names.append(name)
            record.start_micros.append(start)
            record.op_start_micros.append(op_start)
            record.op_micros.append(op_time)
            record.all_micros.append(all_time)
        self.writer.write("session_runs", event)

    def execution(self, op_type: str, values: Sequence[Message | None] = (), **fields: object) -> None:
        self.writer.write("execution", self.execution_event(op_type, values, **fields))

    def execution_event(
        self,
        op_type: str,
        values: Sequence[Message | None] = (),
        *,
        graph_id: str = "",
        inputs: Sequence[int] = (),
        ids: Sequence[int] = (),
        stack: Sequence[str] = (),
        at: float | None = None,
        thread: int = 0,
    ) -> Message:
        event = self.event(at)
        execution = event.execution
        execution.op_type, execution.graph_id, execution.thread_id = op_type, graph_id, thread
        execution.tensor_debug_mode = self.mode
        execution.num_outputs = max(len(values), len(ids))
        execution.input_tensor_ids.extend(inputs)
        execution.output_tensor_ids.extend(ids)
        execution.output_tensor_device_ids.extend([1] * len(ids))
        execution.code_location.host_name = self.host
        execution.code_location.stack_frame_ids.extend(stack)
        execution.tensor_protos.extend(TensorProto() if value is None else value for value in values)
        return event

    def trace(
        self, graph_id: str, op_name: str, value: Message | None, *, slot: int = 0, at: float | None = None
    ) -> None:
        self.writer.write("graph_execution_traces", self.trace_event(graph_id, op_name, value, slot, at))

    def trace_event(
        self, graph_id: str, op_name: str, value: Message | None, slot: int = 0, at: float | None = None
    ) -> Message:
        event = self.event(at)
        trace = event.graph_execution_trace
        trace.tfdbg_context_id, trace.op_name, trace.output_slot = graph_id, op_name, slot
        trace.tensor_debug_mode, trace.device_name = self.mode, DEVICE
        if value is not None:
            trace.tensor_proto.CopyFrom(value)
        return event

    def counts(self, executions: int, traces: int, *, finished: bool, failure: str = "") -> None:
        event = self.event()
        counts = event.recording_counts
        counts.executions, counts.graph_execution_traces = executions, traces
        counts.finished, counts.failure = finished, failure
        self.writer.write("graphs", event)

    def not_recorded(self, reason: int, message: str, *names: str, graph_id: str = "") -> None:
        event = self.event()
        missing = event.not_recorded
        missing.reason, missing.message, missing.graph_id = reason, message, graph_id
        missing.names.extend(names)
        self.writer.write("graphs", event)

    def changed_value(self, op_name: str, expression: str, *, graph_id: str = "g1", slot: int = 0) -> None:
        event = self.event()
        event.changed_value.graph_id, event.changed_value.op_name = graph_id, op_name
        event.changed_value.slot, event.changed_value.expression = slot, expression
        self.writer.write("graphs", event)

    def bad_element(
        self,
        event: Message,
        element: int,
        nan_element: int | None = None,
        *,
        slot: int = 0,
        shape: Sequence[int] | None = (),
    ) -> None:
        """Writes where the tensor of a trace, or an output of an execution, is bad; both are events."""
        found = DebugEvent(wall_time=event.wall_time)
        bad = found.bad_element
        if event.HasField("execution"):
            bad.execution.op_type, bad.slot = event.execution.op_type, slot
        else:
            trace = event.graph_execution_trace
            bad.trace.tfdbg_context_id, bad.trace.op_name = trace.tfdbg_context_id, trace.op_name
            bad.trace.output_slot = trace.output_slot
        bad.element, bad.nan_element = element, 0 if nan_element is None else nan_element + 1
        if shape is not None:
            bad.shape.SetInParent()
            for size in shape:
                bad.shape.dim.add(size=size)
        self.writer.write("graphs", found)

    def close(self) -> Path:
        self.writer.close()
        return self.files.folder

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def small_program(folder: Path, *, steps: int = 2, **options: object) -> Recording:
    """Writes a program that runs an eager op and calls ``loss(x)``, which takes the log of 0 and multiplies.

    ::

        x -> Log -> Mul -> Mean       graph "loss" in graph "outer"
    """
    recording = Recording(folder, **options)
    recording.source(
        "/home/me/train.py", ["import tensorflow as tf", "def loss(x):", "  return tf.math.log(x)"]
    )
    recording.source("/usr/lib/python3.11/site-packages/tensorflow/python/ops/math_ops.py", ["# ops"])
    recording.frame("f1", 0, 3, "loss")
    recording.frame("f2", 1, 1, "log")
    recording.device(1)
    recording.graph("g0")
    recording.graph("g1", "loss", "g0")
    recording.thread(1, "MainThread")
    recording.attributes(1, T="float32")
    static = {"outputs": [(1, [2, -1])]}
    recording.op("g1", "x", "Placeholder", ids=[10], stack=["f1"], **static)
    recording.op("g1", "Log", "Log", ["x:0"], ids=[11], stack=["f1", "f2"], attributes=1, **static)
    waiting = {"control_input_names": ["Log"], "attributes": 1}
    recording.op("g1", "mul", "Mul", ["x:0", "Log:0"], ids=[12], stack=["f1"], **waiting, **static)
    recording.op("g1", "Mean", "Mean", ["mul:0"], ids=[13], stack=["f1"], outputs=[(1, [])])
    for step in range(steps):
        recording.execution("Fill", [full_health([[0.0, 1.0]])], ids=[step * 10 + 1], stack=["f1"], thread=1)
        recording.trace("g1", "x", full_health([[0.0, 1.0]], 10))
        recording.trace("g1", "Log", full_health([[-math.inf, 0.0]], 11))
        recording.trace("g1", "mul", full_health([[math.nan, 0.0]], 12))
        recording.trace("g1", "Mean", full_health(math.nan, 13))
        recording.execution(
            "__inference_loss_7",
            [full_health(math.nan)],
            graph_id="g1",
            inputs=[step * 10 + 1],
            ids=[step * 10 + 2],
            stack=["f1"],
            thread=1,
        )
    return recording


def loaded(folder: Path, **options: object) -> RunLoader:
    """Returns a loader of the folder's only run, after it has read everything."""
    (run,) = find_runs(folder)
    loader = RunLoader(run, **options)
    assert loader.wait(PATIENCE_S)
    return loader


@contextmanager
def snapshot_of(folder: Path, **options: object) -> Iterator[Snapshot]:
    """What the folder's only run holds, inside a block."""
    with closing(loaded(folder, **options)) as loader, open_snapshot(loader) as snapshot:
        yield snapshot


def values_program(folder: Path) -> Recording:
    """Writes a program that computes a matrix with NaN, in mode FULL_TENSOR, and prints a text.

    ::

        x -> Log        graph "loss"; three steps
    """
    recording = Recording(folder, mode=TensorDebugMode.FULL_TENSOR)
    recording.source("/home/me/train.py", ["def loss(x):", "  return tf.math.log(x)"])
    recording.frame("f1", 0, 2, "loss")
    recording.device(1)
    recording.graph("g1", "loss")
    recording.op("g1", "x", "Placeholder", ids=[10], stack=["f1"], outputs=[(1, [2, 3])])
    recording.op("g1", "Log", "Log", ["x:0"], ids=[11], stack=["f1"], outputs=[(1, [2, 3])])
    for step in range(3):
        x = np.array([[1, 0, -1], [4, step, 2]], np.float32)
        with np.errstate(all="ignore"):
            log = np.log(x)
        recording.execution("Fill", [whole(x, 1)], ids=[step * 10 + 1], stack=["f1"])
        recording.trace("g1", "x", whole(x, 1))
        recording.trace("g1", "Log", whole(log, 1))
        recording.execution(
            "__inference_loss_7",
            [whole(log, 1)],
            graph_id="g1",
            inputs=[step * 10 + 1],
            ids=[step * 10 + 2],
            stack=["f1"],
        )
    text = shaped(3, dtype=7, string_val=[b"a b", "é".encode(), b"\xff"])
    recording.execution("StringFormat", [text, None, too_large(np.ones((2, 3)))], ids=[90, 91, 92])
    recording.counts(7, 6, finished=True)
    return recording


def too_large(array: npt.ArrayLike) -> Message:
    """Makes the summary that is recorded in place of a float32 tensor that is too large."""
    proto = full_health(array)
    proto.summary_mode = TensorDebugMode.FULL_HEALTH
    proto.left_out_bytes = 4 * np.size(array)
    return proto
