"""Turns the short files of a set into tables: metadata, sources, frames, graphs, devices and counts.

Takes the events of one host and keeps their rows until the next commit writes them. Records of other kinds
are ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import duckdb

from tb_debugger_plugin.events.fileset import FileSet
from tb_debugger_plugin.events.not_recorded import reason_name
from tb_debugger_plugin.events.origins import Origin
from tb_debugger_plugin.index.columns import insert_rows
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.tensors import shape_text

_KINDS: Final[dict[str, dict[str, str]]] = {
    "sources": {
        **{
            "source": "i4",
            "host": "i4",
            "file_index": "i4",
            "host_name": "O",
            "path": "O",
            "num_lines": "i4",
            "origin": "u1",
        },
    },
    "not_recorded": {"host": "i4", "reason": "O", "name": "O", "message": "O", "graph_id": "O"},
    "source_lines": {"source": "i4", "line": "i4", "text": "O"},
    "frames": {"host": "i4", "frame_id": "O", "file_index": "i4", "line": "i4", "function": "O", "code": "O"},
    "frame_lines": {"host": "i4", "file_index": "i4", "line": "i4", "text": "O"},
    "devices": {"host": "i4", "device_id": "i4", "name": "O"},
    "op_outputs": {"op": "i4", "slot": "i4", "tensor_id": "i8", "dtype": "u1", "shape": "i4"},
    "op_graphs": {"op": "i4", "place": "i4", "graph": "i4"},
    "gradients": {"op": "i4", "slot": "i4", "variable": "O"},
    "edges": {"op": "i4", "input_slot": "i4", "source_op": "i4", "source_slot": "i4"},
}
_MAX_DTYPE: Final = 255
_MAX_LINE: Final = 2**31 - 1


@dataclass
class Host:
    """The description of one file set: the fields of table ``hosts``."""

    number: int
    files: FileSet
    name: str
    start_time: float
    tensorflow_version: str = ""
    file_version: str = ""
    recorder_version: str = ""
    mode: int = 0
    circular_buffer_size: int = 0
    process_id: int = 0
    program: str = ""
    seen_executions: int | None = None
    seen_traces: int | None = None
    finished: bool | None = None
    failure: str = ""

    def fields(self) -> tuple[Any, ...]:
        """Returns the row of table ``hosts``."""
        return (
            *(self.number, self.name, self.files.prefix, self.start_time, self.tensorflow_version),
            *(self.file_version, self.recorder_version, self.mode, self.circular_buffer_size),
            *(self.process_id, self.program, self.seen_executions, self.seen_traces, self.finished),
            self.failure,
        )


@dataclass
class Describer:
    """Collects rows from the short files; lives as long as the indexer.

    Attributes:
      registry: Numbers graphs, ops and stacks.
      num_sources: The number of sources so far.
    """

    registry: Registry
    num_sources: int = 0
    rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=lambda: {name: [] for name in _KINDS})
    file_counts: dict[int, int] = field(default_factory=dict)
    devices: set[tuple[int, int]] = field(default_factory=set)
    # Numbers of the registry, which are found faster here; emptied by the next commit.
    _shapes: dict[tuple[int, ...], int] = field(default_factory=dict)
    _stacks: dict[tuple[int, bytes], int] = field(default_factory=dict)

    def add(self, host: Host, event: Any) -> None:
        """Add one event of the host's short files."""
        kind = event.WhichOneof("what")
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, host, event)

    def save(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Write the waiting rows, inside the caller's transaction."""
        for table, rows in self.rows.items():
            insert_rows(connection, table, _KINDS[table], rows)
            rows.clear()
        self._shapes.clear()
        self._stacks.clear()

    def _metadata(self, host: Host, event: Any) -> None:
        data = event.debug_metadata
        host.start_time = event.wall_time
        host.name = data.host_name or host.name
        host.tensorflow_version, host.file_version = data.tensorflow_version, data.file_version
        host.recorder_version, host.process_id = data.recorder_version, data.process_id
        host.mode = min(max(data.tensor_debug_mode, 0), 255)
        host.circular_buffer_size = data.circular_buffer_size
        host.program = " ".join(data.program)
        # TensorFlow's own recorder never records that it has ended.
        host.finished = False if data.recorder_version else None

    def _counts(self, host: Host, event: Any) -> None:
        counts = event.recording_counts
        host.seen_executions, host.seen_traces = counts.executions, counts.graph_execution_traces
        host.finished, host.failure = counts.finished, counts.failure

    def _not_recorded(self, host: Host, event: Any) -> None:
        missing = event.not_recorded
        reason, graph_id = reason_name(missing.reason), missing.graph_id or None
        self.rows["not_recorded"].extend(
            (host.number, reason, name, missing.message, graph_id) for name in missing.names or [None]
        )

    def _source(self, host: Host, event: Any) -> None:
        source, number = event.source_file, self.num_sources
        index = self.file_counts.get(host.number, 0)
        path, num_lines = source.file_path, len(source.lines)
        origin = source.origin if source.origin in set(Origin) else Origin.UNKNOWN
        row = (number, host.number, index, source.host_name, path, num_lines, origin)
        self.rows["sources"].append(row)
        self.rows["source_lines"].extend((number, line, text) for line, text in enumerate(source.lines, 1))
        self.num_sources += 1
        self.file_counts[host.number] = index + 1

    def _frame(self, host: Host, event: Any) -> None:
        frame = event.stack_frame_with_id
        point = frame.file_line_col
        row = (host.number, frame.id, point.file_index, point.line, point.func, point.code or None)
        self.rows["frames"].append(row)
        self.rows["frame_lines"].extend(
            (host.number, point.file_index, line, text)
            for line, text in enumerate(point.lines, point.first_line)
            if 0 < line <= _MAX_LINE
        )

    def _device(self, host: Host, event: Any) -> None:
        device = event.debugged_device
        if (host.number, device.device_id) not in self.devices:
            self.devices.add((host.number, device.device_id))
            self.rows["devices"].append((host.number, device.device_id, device.device_name))

    def _graph(self, host: Host, event: Any) -> None:
        graph = event.debugged_graph
        self.registry.describe_graph(host.number, graph.graph_id, graph.graph_name, graph.outer_context_id)

    def _op(self, host: Host, event: Any) -> None:
        creation = event.graph_op_creation
        graph = self.registry.graph(host.number, creation.graph_id)
        if self.registry.ops.rows[self.registry.op(graph, creation.op_name)][-1]:
            return  # described before; a graph may pass through the recorder twice
        stack = self._stack(host.number, creation.code_location)
        device = creation.device_name or None
        description = (creation.op_type, device, creation.num_outputs, event.wall_time, stack)
        names = (creation.layer or None, creation.variable or None)
        op = self.registry.describe_op(graph, creation.op_name, *description, *names)
        for index, graph_id in enumerate(creation.called_graph_ids):
            self.rows["op_graphs"].append((op, index, self.registry.graph(host.number, graph_id)))
        self._op_outputs(op, creation)
        self._edges(graph, op, creation.input_names)

    def _op_outputs(self, op: int, creation: Any) -> None:
        rows, ids, outputs = self.rows["op_outputs"], creation.output_tensor_ids, creation.outputs
        num_ids, num_outputs = len(ids), len(outputs)
        for slot in range(max(num_ids, num_outputs)):
            tensor_id = ids[slot] if slot < num_ids else None
            dtype, shape = self._static(outputs[slot]) if slot < num_outputs else (0, -1)
            rows.append((op, slot, tensor_id, dtype, shape))
        for slot, output in enumerate(outputs):
            for variable in output.gradient_of:
                self.rows["gradients"].append((op, slot, variable))

    def _static(self, tensor: Any) -> tuple[int, int]:
        dtype = tensor.dtype if 0 <= tensor.dtype <= _MAX_DTYPE else 0
        if tensor.unknown_rank:
            return dtype, -1
        dims = tuple(tensor.dims)
        shape = self._shapes.get(dims)
        if shape is None:
            shape = self._shapes[dims] = self.registry.shape(shape_text(dims), len(dims))
        return dtype, shape

    def _stack(self, host: int, location: Any) -> int:
        # Comparing a long stack as bytes takes a third of the time that comparing its frames takes.
        key = host, location.SerializeToString()
        stack = self._stacks.get(key)
        if stack is None:
            stack = self._stacks[key] = self.registry.stack(host, location)
        return stack

    def _edges(self, graph: int, op: int, input_names: Any) -> None:
        for input_slot, name in enumerate(input_names):
            source, _, slot = name.rpartition(":")
            if not source or not slot.isascii() or not slot.isdigit() or len(slot) > 9:
                source, slot = name, "0"
            self.rows["edges"].append((op, input_slot, self.registry.op(graph, source), int(slot)))


_HANDLERS: Final[dict[str, Callable[[Describer, Host, Any], None]]] = {
    "debug_metadata": Describer._metadata,
    "recording_counts": Describer._counts,
    "not_recorded": Describer._not_recorded,
    "source_file": Describer._source,
    "stack_frame_with_id": Describer._frame,
    "debugged_device": Describer._device,
    "debugged_graph": Describer._graph,
    "graph_op_creation": Describer._op,
}
