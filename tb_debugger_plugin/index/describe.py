"""Turns the short files of a set into tables: metadata, sources, frames, graphs, devices, counts and runs of
sessions.

Takes the events of one host and keeps their rows until the next commit writes them. Records of other kinds
are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import duckdb

from tb_debugger_plugin.events.fileset import FileSet
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.not_recorded import reason_name
from tb_debugger_plugin.events.origins import CodeOrigin
from tb_debugger_plugin.events.tensorflow_names import op_and_slot, vectorized_from
from tb_debugger_plugin.index.bounds import MAX_ENTRIES, location_of, output_of
from tb_debugger_plugin.index.columns import insert_lists, insert_rows
from tb_debugger_plugin.index.registry import Registry, load_registry
from tb_debugger_plugin.index.rows import (
    ROWS,
    BadElementRow,
    ChangedValueRow,
    DeviceRow,
    FrameRow,
    GradientRow,
    GraphRow,
    HostRow,
    LossRow,
    NotRecordedRow,
    OpAttributeRow,
    OpGraphRow,
    OpRow,
    OpTimeRow,
    SessionRequestRow,
    SessionRunRow,
    SourceRow,
    ThreadRow,
    kinds_of,
)
from tb_debugger_plugin.index.tensors import shape_text

_BY_ROW: Final = (
    *("sources", "not_recorded", "frames", "devices", "threads", "op_graphs", "gradients", "op_attributes"),
    *("losses", "session_requests", "session_runs", "op_times", "changed_values", "bad_elements"),
)
#: The tables with rows of rings, which each commit writes again.
_IN_RINGS: Final = ("session_runs", "op_times")
_OF_RINGS: Final = ("session_run", "op_times")
# These have so many rows that they are collected as columns: the garbage collector follows each NamedTuple,
# but no number and no string.
_BY_COLUMN: Final = ("source_lines", "frame_lines", "op_outputs", "edges", "control_edges")
_MAX_DTYPE: Final = 255
_MAX_LINE: Final = 2**31 - 1
_MAX_ELEMENT: Final = 2**63 - 1


def new_hosts(file_sets: Sequence[FileSet]) -> list[HostRow]:
    """Return hosts of which nothing is known but the names of their files."""
    return [
        HostRow(number, files.host, files.prefix, float(files.start_seconds))
        for number, files in enumerate(file_sets)
    ]


def _dtype(number: int) -> int:
    return number if 0 <= number <= _MAX_DTYPE else 0


def _empty_columns() -> dict[str, dict[str, list[object]]]:
    return {table: {name: [] for name in ROWS[table]._fields} for table in _BY_COLUMN}


class _Output(NamedTuple):
    """What is known of an output before the op runs; its shape is a number of the registry."""

    dtype: int
    shape: int
    gradient_of: tuple[str, ...]
    is_loss: bool


@dataclass
class Describer:
    """Collects rows from the short files; lives as long as the indexer.

    Attributes:
      registry: Numbers graphs, ops and stacks.
      hosts: The hosts as they are described so far, by number.
      num_sources: The number of sources so far.
      rows: The rows that wait for the next commit, by table.
      columns: The same for tables with many rows: their columns by name.
      file_counts: The number of sources so far, by host.
      devices: Host and id of each device so far.
    """

    registry: Registry
    hosts: list[HostRow]
    num_sources: int = 0
    rows: dict[str, list[tuple[object, ...]]] = field(default_factory=lambda: {one: [] for one in _BY_ROW})
    columns: dict[str, dict[str, list[object]]] = field(default_factory=_empty_columns)
    file_counts: dict[int, int] = field(default_factory=dict)
    devices: set[tuple[int, int]] = field(default_factory=set)
    # Numbers of the registry, which are found faster here; emptied by the next commit.
    _shapes: dict[tuple[int, ...], int] = field(default_factory=dict)
    _stacks: dict[tuple[int, bytes], int] = field(default_factory=dict)
    _outputs: dict[bytes, _Output] = field(default_factory=dict)
    _in_ring: bool = False

    def add(self, host: int, event: Message) -> None:
        """Add one event of the host's short files, a ``BriefEvent`` if it has an op."""
        kind = event.WhichOneof("what")
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, host, event)

    def save(self, connection: duckdb.DuckDBPyConnection) -> set[str]:
        """Write the waiting rows, inside the caller's transaction.

        Returns:
          The tables that got rows.
        """
        changed = {table for table, rows in self.rows.items() if rows}
        changed |= {table for table, columns in self.columns.items() if any(columns.values())}
        for table, rows in self.rows.items():
            insert_rows(connection, table, kinds_of(ROWS[table]), rows)
            rows.clear()
        for table, columns in self.columns.items():
            insert_lists(connection, table, kinds_of(ROWS[table]), columns)
            for column in columns.values():
                column.clear()
        self._shapes.clear()
        self._stacks.clear()
        self._outputs.clear()
        return changed

    def take_back(self, connection: duckdb.DuckDBPyConnection) -> set[str]:
        """Delete the saved rows of rings, inside the caller's transaction.

        Returns:
          The tables that may have lost rows.
        """
        for table in _IN_RINGS:
            connection.execute(f"DELETE FROM {table} WHERE in_ring")
        return set(_IN_RINGS)

    def add_ring(self, host: int, events: Iterable[Message]) -> None:
        """Add the records of a ring to the next commit."""
        self._in_ring = True
        for event in events:
            # Other records would be added again by each commit; damage may put them there.
            if event.WhichOneof("what") in _OF_RINGS:
                self.add(host, event)
        self._in_ring = False

    def _metadata(self, host: int, event: Message) -> None:
        data = event.debug_metadata
        self.hosts[host] = self.hosts[host]._replace(
            name=data.host_name or self.hosts[host].name,
            start_time=event.wall_time,
            tensorflow_version=data.tensorflow_version,
            file_version=data.file_version,
            recorder_version=data.recorder_version,
            mode=min(max(data.tensor_debug_mode, 0), 255),
            circular_buffer_size=data.circular_buffer_size,
            process_id=data.process_id,
            program=" ".join(data.program),
            # TensorFlow's own recorder never records that it has ended.
            finished=False if data.recorder_version else None,
        )

    def _counts(self, host: int, event: Message) -> None:
        counts = event.recording_counts
        self.hosts[host] = self.hosts[host]._replace(
            seen_executions=counts.executions,
            seen_traces=counts.graph_execution_traces,
            finished=counts.finished,
            failure=counts.failure,
        )

    def _not_recorded(self, host: int, event: Message) -> None:
        missing = event.not_recorded
        reason, graph_id = reason_name(missing.reason), missing.graph_id or None
        self.rows["not_recorded"].extend(
            NotRecordedRow(host, reason, name, missing.message, graph_id) for name in missing.names or [None]
        )

    def _changed_value(self, host: int, event: Message) -> None:
        changed = event.changed_value
        when = event.wall_time if math.isfinite(event.wall_time) else 0.0
        graph_id = changed.graph_id or None
        self.rows["changed_values"].append(
            ChangedValueRow(host, when, graph_id, changed.op_name, changed.slot, changed.expression)
        )

    def _bad_element(self, host: int, event: Message) -> None:
        found = event.bad_element
        when = event.wall_time if math.isfinite(event.wall_time) else 0.0
        graph_id, name, slot = None, found.execution.op_type, found.slot
        if found.HasField("trace"):
            trace = found.trace
            graph_id, name, slot = trace.tfdbg_context_id, trace.op_name, trace.output_slot
        dims = tuple(dim.size for dim in found.shape.dim)
        shape = self.registry.shape(shape_text(dims), len(dims)) if found.HasField("shape") else -1
        element, nan_element = (min(each, _MAX_ELEMENT) for each in (found.element, found.nan_element))
        self.rows["bad_elements"].append(
            BadElementRow(
                host, when, graph_id, name, slot, element, nan_element - 1 if nan_element else None, shape
            )
        )

    def _source(self, host: int, event: Message) -> None:
        source, number = event.source_file, self.num_sources
        index = self.file_counts.get(host, 0)
        path, num_lines = source.file_path, len(source.lines)
        origin = source.origin if source.origin in set(CodeOrigin) else CodeOrigin.UNKNOWN
        self.rows["sources"].append(SourceRow(number, host, index, source.host_name, path, num_lines, origin))
        lines = self.columns["source_lines"]
        lines["source"].extend([number] * num_lines)
        lines["line"].extend(range(1, num_lines + 1))
        lines["text"].extend(source.lines)
        self.num_sources += 1
        self.file_counts[host] = index + 1

    def _frame(self, host: int, event: Message) -> None:
        frame = event.stack_frame_with_id
        point = frame.file_line_col
        self.rows["frames"].append(
            FrameRow(host, frame.id, point.file_index, point.line, point.func, point.code or None)
        )
        lines = self.columns["frame_lines"]
        for line, text in enumerate(point.lines, point.first_line):
            if 0 < line <= _MAX_LINE:
                lines["host"].append(host)
                lines["file_index"].append(point.file_index)
                lines["line"].append(line)
                lines["text"].append(text)

    def _device(self, host: int, event: Message) -> None:
        device = event.debugged_device
        if (host, device.device_id) not in self.devices:
            self.devices.add((host, device.device_id))
            self.rows["devices"].append(DeviceRow(host, device.device_id, device.device_name))

    def _graph(self, host: int, event: Message) -> None:
        graph = event.debugged_graph
        name, outer_id = graph.graph_name or None, graph.outer_context_id or None
        self.registry.describe_graph(GraphRow(host, graph.graph_id, name, outer_id, known=True))

    def _op(self, host: int, event: Message) -> None:
        creation = event.graph_op_creation
        registry = self.registry
        graph, name = registry.graph(host, creation.graph_id), creation.op_name
        if registry.knows_op(graph, name):
            return  # a graph may pass through the recorder twice
        row = OpRow(
            graph,
            name,
            creation.op_type,
            creation.device_name or None,
            min(creation.num_outputs, MAX_ENTRIES),
            event.wall_time,
            self._stack_of(host, graph, name, creation.code_location),
            creation.layer or None,
            creation.variable or None,
            creation.attributes,
            known=True,
        )
        op = registry.describe_op(row)
        for position, graph_id in enumerate(creation.called_graph_ids):
            self.rows["op_graphs"].append(OpGraphRow(op, position, registry.graph(host, graph_id)))
        self._op_outputs(op, creation.output_tensor_ids, creation.outputs)
        self._edges(graph, op, creation.input_names)
        waits_for = creation.control_input_names
        if waits_for:
            edges = self.columns["control_edges"]
            edges["op"].extend([op] * len(waits_for))
            edges["source_op"].extend([registry.op(graph, name) for name in waits_for])

    def _stack_of(self, host: int, graph: int, name: str, location: bytes) -> int:
        """Return the stack of an op; copies for all elements are made on the line of the vectorized map."""
        original = vectorized_from(name)
        stack = None if original is None else self.registry.stack_of_op(graph, original)
        return self._stack(host, location) if stack is None else stack

    def _op_outputs(self, op: int, ids: Sequence[int], outputs: Sequence[bytes]) -> None:
        num_ids, num_outputs = len(ids), len(outputs)
        count = max(num_ids, num_outputs)
        columns = self.columns["op_outputs"]
        columns["op"].extend([op] * count)
        columns["slot"].extend(range(count))
        columns["tensor_id"].extend(ids)
        if num_ids < count:
            columns["tensor_id"].extend([None] * (count - num_ids))
        dtypes, shapes = columns["dtype"], columns["shape"]
        for slot, serialized in enumerate(outputs):
            output = self._outputs.get(serialized)
            if output is None:
                output = self._outputs[serialized] = self._output(output_of(serialized))
            dtypes.append(output.dtype)
            shapes.append(output.shape)
            for variable in output.gradient_of:
                self.rows["gradients"].append(GradientRow(op, slot, variable))
            if output.is_loss:
                self.rows["losses"].append(LossRow(op, slot))
        if num_outputs < count:
            dtypes.extend([0] * (count - num_outputs))
            shapes.extend([-1] * (count - num_outputs))

    def _output(self, tensor: Message) -> _Output:
        known = (_dtype(tensor.dtype), -1)
        if not tensor.unknown_rank:
            known = self._static_of(tensor.dtype, tuple(tensor.dims))
        return _Output(*known, tuple(tensor.gradient_of), tensor.is_loss)

    def _static_of(self, dtype: int, dims: tuple[int, ...]) -> tuple[int, int]:
        shape = self._shapes.get(dims)
        if shape is None:
            shape = self._shapes[dims] = self.registry.shape(shape_text(dims), len(dims))
        return _dtype(dtype), shape

    def _stack(self, host: int, location: bytes) -> int:
        # Comparing a long stack as bytes takes a third of the time that comparing its frames takes.
        stack = self._stacks.get((host, location))
        if stack is None:
            stack = self._stacks[host, location] = self.registry.stack(host, location_of(location))
        return stack

    def _edges(self, graph: int, op: int, input_names: Sequence[str]) -> None:
        edges = self.columns["edges"]
        edges["op"].extend([op] * len(input_names))
        edges["input_slot"].extend(range(len(input_names)))
        source_ops, source_slots, number_of = edges["source_op"], edges["source_slot"], self.registry.op
        for name in input_names:
            source, slot = op_and_slot(name)
            source_ops.append(number_of(graph, source))
            source_slots.append(slot)

    def _op_attributes(self, host: int, event: Message) -> None:
        record = event.op_attributes
        self.rows["op_attributes"].extend(
            OpAttributeRow(host, record.number, attribute.name, attribute.value)
            for attribute in record.attributes
        )

    def _thread(self, host: int, event: Message) -> None:
        thread = event.debugged_thread
        self.rows["threads"].append(ThreadRow(host, thread.thread_id, thread.thread_name))

    def _session_request(self, host: int, event: Message) -> None:
        request = event.session_request
        rows = self.rows["session_requests"]
        number, stack = request.number, self._stack(host, request.code_location.SerializeToString())
        for position, feed in enumerate(request.feeds):
            dtype, shape = self._static_of(feed.dtype, tuple(feed.dims))
            rows.append(SessionRequestRow(host, number, "feed", position, feed.name, dtype, shape, stack))
        for role, names in (("fetch", request.fetches), ("target", request.targets)):
            rows.extend(
                SessionRequestRow(host, number, role, position, name, 0, -1, stack)
                for position, name in enumerate(names)
            )

    def _session_run(self, host: int, event: Message) -> None:
        run = event.session_run
        begin = run.begin_time if math.isfinite(run.begin_time) else 0.0
        self.rows["session_runs"].append(
            SessionRunRow(
                host,
                run.session,
                run.run,
                run.request,
                run.thread_id,
                begin,
                event.wall_time,
                run.error or None,
                self._in_ring,
            )
        )

    def _op_times(self, host: int, event: Message) -> None:
        times = event.op_times
        # Damage may have made one of the lists shorter.
        self.rows["op_times"].extend(
            OpTimeRow(host, times.session, times.run, times.device_name, *row, self._in_ring)
            for row in zip(
                times.op_names,
                times.start_micros,
                times.op_start_micros,
                times.op_micros,
                times.all_micros,
                strict=False,
            )
        )


_HANDLERS: Final[dict[str, Callable[[Describer, int, Message], None]]] = {
    "debug_metadata": Describer._metadata,
    "recording_counts": Describer._counts,
    "not_recorded": Describer._not_recorded,
    "changed_value": Describer._changed_value,
    "bad_element": Describer._bad_element,
    "source_file": Describer._source,
    "stack_frame_with_id": Describer._frame,
    "debugged_device": Describer._device,
    "debugged_graph": Describer._graph,
    "graph_op_creation": Describer._op,
    "op_attributes": Describer._op_attributes,
    "debugged_thread": Describer._thread,
    "session_request": Describer._session_request,
    "session_run": Describer._session_run,
    "op_times": Describer._op_times,
}


def load_describer(connection: duckdb.DuckDBPyConnection, hosts: list[HostRow]) -> Describer:
    """Load what was described until the last commit.

    Args:
      connection: A connection to the run's database.
      hosts: The hosts, by number.
    """
    file_counts = dict(connection.execute("SELECT host, count(*) FROM sources GROUP BY host").fetchall())
    devices = set(connection.execute("SELECT host, device_id FROM devices").fetchall())
    num_sources = sum(file_counts.values())
    return Describer(load_registry(connection), hosts, num_sources, file_counts=file_counts, devices=devices)
