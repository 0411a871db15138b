"""Reads a recording, for tests that compare it with an oracle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events import fileset
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import BAD_SIGNS, COUNTS, SUMMARY_COLUMNS, TensorDebugMode

#: The columns that `counts` computes.
COUNTED = ("size", *COUNTS)


@dataclass(frozen=True)
class Summary:
    """The numbers that were recorded of a tensor."""

    mode: TensorDebugMode
    values: list[float]

    def numbers(self, *names: str) -> list[float]:
        """Returns the columns of these names."""
        columns = dict(zip(SUMMARY_COLUMNS.get(self.mode, ()), self.values, strict=True))
        return [columns[name] for name in names]

    @property
    def counts(self) -> list[float]:
        """The columns that the oracle `counts` computes."""
        return self.numbers(*COUNTED)

    @property
    def without_id(self) -> list[float]:
        """All columns but the tensor id, which differs from one recording to the next."""
        columns = SUMMARY_COLUMNS.get(self.mode, ())
        return self.numbers(*[name for name in columns if name != "tensor_id"])

    @property
    def is_bad(self) -> bool:
        """Whether the summary says that the tensor has an infinity or NaN."""
        return any(self.numbers(*[name for name in SUMMARY_COLUMNS[self.mode] if name in BAD_SIGNS]))


@dataclass(frozen=True)
class Trace(Summary):
    """A graph execution trace, with names instead of ids."""

    function: str
    op_name: str
    op_type: str
    slot: int
    graph_id: str


@dataclass(frozen=True)
class Recorded:
    """All records of one file set."""

    traces: list[Trace]
    executions: list[Message]
    frames: dict[str, tuple[str, int, str, str]]
    events: dict[str, list[Message]]

    def records(self, kind: str) -> list[Message]:
        """Returns the records of a kind, such as `debugged_graph`, file by file in the order of time."""
        events = (event for events in self.events.values() for event in events)
        return [getattr(event, kind) for event in events if event.HasField(kind)]

    def graph_names(self) -> dict[str, str]:
        """Returns the names of the graphs, by their ids."""
        return {graph.graph_id: graph.graph_name for graph in self.records("debugged_graph")}

    def protos_of(self, op_name: str, slot: int = 0) -> list[Message]:
        """Returns the messages of the values of one tensor, in the order in which it was computed."""
        traces = self.records("graph_execution_trace")
        return [t.tensor_proto for t in traces if (t.op_name, t.output_slot) == (op_name, slot)]

    def of(self, op_name: str, slot: int = 0) -> list[list[float]]:
        """Returns the summaries of one tensor, in the order in which it was computed."""
        return [trace.values for trace in self.traces_of(op_name, slot)]

    def traces_of(self, op_name: str, slot: int = 0) -> list[Trace]:
        """Returns the traces of one tensor, in the order in which it was computed."""
        return [t for t in self.traces if (t.op_name, t.slot) == (op_name, slot)]

    def counts_of(self, op_name: str) -> list[list[float]]:
        """Returns `Trace.counts` of the first output of an op, in the order in which it was computed."""
        return [trace.counts for trace in self.traces_of(op_name)]

    def eager(self, op_type: str) -> list[Summary]:
        """Returns the summaries of the first outputs of the ops of a type that ran eagerly."""
        return [
            Summary(TensorDebugMode(e.tensor_debug_mode), summary(e.tensor_protos[0]))
            for e in self.executions
            if e.op_type == op_type and e.tensor_protos
        ]

    def types(self) -> set[str]:
        """Returns the types of all ops that have a trace."""
        return {trace.op_type for trace in self.traces}


def summary(proto: Message) -> list[float]:
    """Returns the numbers of a summary, from either of the two recorders."""
    if proto.tensor_content:
        return list(np.frombuffer(proto.tensor_content, "<f8"))
    values = list(proto.double_val) or list(proto.float_val)
    size = proto.tensor_shape.dim[0].size if proto.tensor_shape.dim else 0
    # TensorFlow leaves out elements at the end that repeat the last one.
    return values + values[-1:] * (size - len(values))


def read(root: Path) -> Recorded:
    """Reads everything in a dump root with one file set."""
    (recorded,) = read_each(root)
    return recorded


def read_each(root: Path) -> list[Recorded]:
    """Reads everything in a dump root, by file set, oldest first."""
    return [_read(files) for files in fileset.find_file_sets(root)]


def _read(files: fileset.FileSet) -> Recorded:
    events: dict[str, list[Message]] = {}
    for suffix in fileset.SUFFIXES:
        contents = fileset.read_with_tail(files, suffix)
        assert not contents.damages
        events[suffix] = [record.event for record in contents.records]
    names, ops = {}, {}
    for event in events["graphs"]:
        if event.HasField("debugged_graph"):
            names[event.debugged_graph.graph_id] = event.debugged_graph.graph_name
        elif event.HasField("graph_op_creation"):
            creation = event.graph_op_creation
            ops[creation.graph_id, creation.op_name] = creation.op_type
    traces = [_trace(event.graph_execution_trace, names, ops) for event in events["graph_execution_traces"]]
    paths = [event.source_file.file_path for event in events["source_files"]]
    frames = {}
    for event in events["stack_frames"]:
        place = event.stack_frame_with_id.file_line_col
        frames[event.stack_frame_with_id.id] = (paths[place.file_index], place.line, place.func, place.code)
    return Recorded(traces, [event.execution for event in events["execution"]], frames, events)


def _trace(trace: Message, names: dict[str, str], ops: dict[tuple[str, str], str]) -> Trace:
    graph_id = trace.tfdbg_context_id
    op_type = ops[graph_id, trace.op_name]
    mode = TensorDebugMode(trace.tensor_debug_mode)
    # In other modes, TensorFlow's recorder writes an empty float32 tensor, or the tensor itself.
    values = summary(trace.tensor_proto) if mode in SUMMARY_COLUMNS else []
    return Trace(mode, values, names[graph_id], trace.op_name, op_type, trace.output_slot, graph_id)


def counts(array: npt.ArrayLike) -> list[float]:
    """Counts size, -inf, +inf, NaN, negative, zero, positive of an array, element by element: an oracle."""
    array = np.asarray(array)
    is_complex = array.dtype.kind == "c"
    result = [0.0] * 7
    for x in (array if is_complex else array.astype(np.float64)).ravel().tolist():
        parts = (x.real, x.imag) if is_complex else (x,)
        sign = next((part for part in parts if part), 0.0)
        result[0] += 1
        if any(part != part for part in parts):
            result[3] += 1
        elif any(part in (float("inf"), float("-inf")) for part in parts):
            result[2 if sign > 0 else 1] += 1
        else:
            result[4 if sign < 0 else 5 if sign == 0 else 6] += 1
    return result
