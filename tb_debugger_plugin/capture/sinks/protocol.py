"""Describes sinks and the tensors that they record.

A sink appends events to the files that are written while graphs are built, records executions and constants
from Python, and makes the nodes that record tensors when a graph runs. `native` writes through the native
library. `stock` writes through TensorFlow's own ops, for machines without the native library and for folders
that it cannot write. Both write the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple, Protocol

import tensorflow as tf

from tb_debugger_plugin.capture.gate import Gate
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.tf_types import Array, EagerTensor, NodeDef
from tb_debugger_plugin.events.messages import GraphExecutionTrace, Message
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.native.structs import TensorValue


@dataclass(frozen=True)
class WatchedTensor:
    """One output of a graph op whose value is recorded when the graph runs, or at which a debugger stops.

    Attributes:
      graph_id: Id of the graph.
      op_name: Name of the op in the graph.
      slot: Number of the output.
      tensor_id: Number of the tensor, unique in the process.
      dtype: TensorFlow's DataType number.
      dims: The static dimensions, -1 for an unknown one; None when the rank is unknown.
      keep: The rules by which its value may be kept whole; see `Choice`.
      rings: Whether it may ring the alarm when it is bad.
      in_pipeline: Whether it is part of an input pipeline.
      is_added_into: Whether an op may add into its memory.
      is_recorded: Whether it is recorded; else its watch op, if it gets one, only lets it pass the gate.
    """

    graph_id: str
    op_name: str
    slot: int
    tensor_id: int
    dtype: int
    dims: tuple[int, ...] | None
    keep: int = 0
    rings: bool = True
    in_pipeline: bool = False
    is_added_into: bool = False
    is_recorded: bool = True

    def prefix(self, device: str = "") -> bytes:
        """Return the encoded fields that all records of the tensor on a device have."""
        trace = GraphExecutionTrace(
            tfdbg_context_id=self.graph_id, op_name=self.op_name, output_slot=self.slot, device_name=device
        )
        return bytes(trace.SerializeToString())


class NewTensor(NamedTuple):
    """A tensor of a graph that a sink records from now on.

    Attributes:
      tensor: The tensor.
      is_constant: Whether it is recorded once.
    """

    tensor: WatchedTensor
    is_constant: bool


@dataclass(frozen=True)
class WatchOp:
    """The description of a watch op to make.

    Attributes:
      tensor: The tensor that it records.
      source: The tensor as an input: `op` or `op:slot`.
      name: Name of the watch op.
      device: Device of the tensor.
      inline: Whether consumers take the output of the watch op.
      same: Tensors with the same elements and a known rank, recorded with it. Only for a sink that
        `supports_inline`, in modes that count elements.
      coalesced: Tensors that it records before `tensor`, each with its source. Only for a sink that
        `supports_inline`.
    """

    tensor: WatchedTensor
    source: str
    name: str
    device: str
    inline: bool = False
    same: tuple[WatchedTensor, ...] = ()
    coalesced: tuple[tuple[WatchedTensor, str], ...] = ()


def summary_node(op: WatchOp, mode: TensorDebugMode) -> NodeDef:
    """Return a node of TensorFlow's own op that returns the summary of a tensor, on its device."""
    node = NodeDef(name=f"{op.name}/summary", op="DebugNumericSummaryV2", input=[op.source], device=op.device)
    node.attr["T"].type = op.tensor.dtype
    node.attr["output_dtype"].type = tf.float64.as_datatype_enum
    node.attr["tensor_debug_mode"].i = int(mode)
    node.attr["tensor_id"].i = op.tensor.tensor_id
    return node


@dataclass(frozen=True)
class MeasuredTensor:
    """A tensor in a function that XLA compiled, and its elements in the vector of measurements.

    Attributes:
      tensor: The tensor.
      elements: Indices of the magnitudes of its witnesses.
      group: Tensors are recorded in the order of groups, and inside a group in the order in which they became
        bad.
      whole: Index among the tensors that the recording node reads itself; -1 for other tensors.
      shape: Its dimensions; None when they are not known before the function runs.
      size_at: Index of its number of elements; -1 when that is not measured.
      counts: Indices of its counts of -inf, +inf and NaN; empty when they are not measured.
    """

    tensor: WatchedTensor
    elements: tuple[int, ...]
    group: int
    whole: int
    shape: tuple[int, ...] | None
    size_at: int = -1
    counts: tuple[int, ...] = ()


class FirstBad(NamedTuple):
    """The first bad value on record, as its record names it.

    Attributes:
      op_type: Type of an eager op, or name of a function; empty for an op of a graph.
      graph_id: The graph of the op; empty for an eager op.
      op_name: Name of an op of a graph.
      stack: Ids of the frames of an eager op, outermost first.
      slot: Number of the output of an op of a graph.
      kind: "NaN", "infinity", or "NaN or infinity" in a mode that does not distinguish them.
    """

    op_type: str = ""
    graph_id: str = ""
    op_name: str = ""
    stack: tuple[str, ...] = ()
    slot: int = 0
    kind: str = ""


#: What `Sink.eager_op` and `Sink.session_run` return beside numbers of rings.
STOPPED, BOUNDED, GROWS = -1, -2, -3


class OpCallback(Protocol):
    """An op callback of TensorFlow that handles ordinary eager ops without Python.

    Attributes:
      is_plain: Whether it may; at first it leaves all ops to Python.
      notes_changes: Whether Python takes those whose types begin with one of `changing` (see `checks`).
    """

    is_plain: bool
    notes_changes: bool

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Handle an op; see `EveryThread`."""

    def records(self, devices: dict[str, int], summarize: Callable[[EagerTensor, int], TensorValue]) -> None:
        """Record eager ops from now on; see `Sink.eager_op`."""

    def checks(self, own: set[str], changing: tuple[str, ...], devices: dict[str, int]) -> None:
        """Leave those ops to Python that are bad, and note the last good ones, as `note` does.

        `own`: types of which nothing is looked at. `devices`: device numbers by name.
        """

    def note(
        self,
        op_type: str | bytes,
        stack_key: Hashable,
        inputs: Sequence[EagerTensor],
        outputs: Sequence[EagerTensor],
    ) -> None:
        """Note a good op whose call site is known, without holding its tensors."""

    def record_noted(self, tensors: dict[int, EagerTensor]) -> None:
        """Record the noted ops, with the summaries of their outputs that are among `tensors`, by number."""

    def add_thread(self, number: int) -> None:
        """Give the running thread its number. Python takes the ops of a thread that has none."""

    def add_call_site(
        self,
        op_type: str | bytes,
        num_outputs: int,
        stack_key: Hashable,
        prefix: bytes,
        is_recorded: dict[int, int],
    ) -> None:
        """Record an op that runs on a stack from now on; see `Sink.eager_op`. Python takes those of others.

        An empty `prefix` records nothing of it.
        """

    def forget_call_sites(self) -> None:
        """Drop all call sites, and the ops that are noted."""

    def follow(self, wanted: bool) -> None:
        """Leave all ops of the running thread to Python from now on, or no longer."""

    def end(self) -> None:
        """Leave all ops to Python for good."""


class Sink(Protocol):
    """Takes the records of one recording. Methods with a body are those of a sink that only writes."""

    #: Whether `watch_nodes` can make inline watch ops.
    supports_inline: bool = False
    #: Whether a watch op fails when its tensor is bad.
    fails_graphs: bool = False
    #: This sink, if it can record functions that XLA compiles; else None.
    for_compiled: CompiledSink | None = None
    #: The native library, if the sink writes through it.
    native: ModuleType | None = None
    #: Size of the event files from which on they are circular buffers; 0 for no limit.
    byte_limit: int = 0
    #: Where threads that compute tensors of graphs are held; None if they cannot be.
    gate: Gate | None = None

    @property
    def files(self) -> str:
        """The common beginning of the names of the event files; empty if it is not known."""

    def narrowed(self, options: Options) -> Options:
        """Return the part of the options that this sink supports: not every sink measures every dtype."""
        return options

    def write(self, suffix: str, *events: Message) -> None:
        """Append events to one of the files that only Python writes."""

    def eager_op(
        self,
        prefix: bytes,
        inputs: Sequence[EagerTensor],
        outputs: Sequence[EagerTensor],
        devices: dict[str, int],
        is_recorded: dict[int, int],
        summarize: Callable[[EagerTensor, int], TensorValue],
        thread: int = 0,
    ) -> int:
        """Record the execution of an op.

        Returns `STOPPED` if the recording has stopped, `BOUNDED` once when it has reached `max_bytes`,
        `GROWS` once when it is clear how fast the files grow, the number of a ring of the alarm to handle, or
        0.

        `prefix`: the encoded fields of an Execution that the other arguments do not give. `devices`: device
        numbers by name. `is_recorded`: how outputs are recorded, by dtype (`Choice.bits`). `summarize`: takes
        an output that the sink cannot read itself, and its rules, and returns what is recorded of it.
        `thread`: number of the running thread.
        """

    def op_callback(
        self, otherwise: Callable[..., object], handle: Callable[[int], None], of_thread: object
    ) -> OpCallback | None:
        """Return an op callback that leaves ops to `otherwise` if it must; None if all must be left to it.

        `handle`: takes what `eager_op` returns, unless that is 0. `of_thread`: see
        `threads.of_running_thread`.
        """
        return None

    def session_run(self, prefix: bytes, run: int, begin_time: float) -> int:
        """Record a run of a session that ends now; return the same as `eager_op`.

        `prefix`: the encoded fields of a `SessionRun` that the other arguments do not give. With a circular
        buffer of N records, the last N are kept.
        """

    def about_session_run(self, event: bytes) -> None:
        """Append another encoded `DebugEvent` about a run of a session, after the run."""

    def value(self, array: Array | bytes, dtype: int, tensor_id: int = -1, keep: int = 0) -> TensorValue:
        """Return what is recorded of a tensor: its summary, or the tensor if one of its rules keeps it.

        `array`: the tensor; TensorFlow gives a single string as `bytes`. `tensor_id`: -1 for every eager
        tensor. `keep`: its rules. The value counts towards the limit of the rule.
        """

    def constant(self, tensor: WatchedTensor, value: Array, device: str) -> None:
        """Record a tensor whose value is known when its graph is built, before the tensors of the graph.

        `device`: the device in the graph; empty when TensorFlow chooses.
        """

    def watch_nodes(self, op: WatchOp) -> list[NodeDef]:
        """Return the nodes that record a tensor. The last must run, or replaces the tensor if inline."""

    def reduced_watch_nodes(self, op: WatchOp) -> list[NodeDef]:
        """Return the nodes that record a reduced tensor: only its summary is copied to the host."""

    def set_wanted(self, wanted: bool) -> None:
        """Set whether graph executions are recorded from now on; at first they are."""
        return

    def set_step(self, step: int) -> None:
        """Set the step of what is recorded from now on; 0 at first. Sinks that do not record it ignore it."""
        return

    def enable_rules(self, rules: int) -> None:
        """Switch some rules of `keep_values` on, as bits, and the others off; at first all are on."""
        return

    def discard(self) -> None:
        """Drop the records of the circular buffers, as if the recording began now."""
        return

    def counts(self) -> tuple[int, int]:
        """Return the numbers of executions and traces so far."""

    def num_bad(self) -> int | None:
        """Return the number of bad tensors on record so far; None when the sink does not know."""
        return None

    def first_bad(self) -> FirstBad | None:
        """Return the first bad value on record; None when there is none, or the sink does not know."""
        return None

    def ring(self, number: int) -> FirstBad | None:
        """Return the bad value that rang the alarm; None if it was too long ago."""
        return None

    def make_interactive(self) -> None:
        """Describe watched tensors from now on: those of graphs that get new watch ops."""
        return

    def note_unrecorded(self, tensors: Iterable[WatchedTensor]) -> None:
        """Take in tensors that get a watch op only while a debugger stops at them."""
        return

    def take_new_tensors(self) -> list[NewTensor]:
        """Return the tensors of graphs since the last call; none unless the options are interactive."""
        return []

    def failure(self) -> str:
        """Why the sink stopped recording; empty while it records."""
        return ""

    def flush(self) -> None:
        """Write out buffered records."""

    def close(self) -> None:
        """Flush and close all files."""

    def num_bytes(self) -> int:
        """Return the bytes of the records in the event files, if there is a limit of them."""
        return 0

    def take_bounded(self) -> bool:
        """Whether the files have reached `max_bytes` and nobody has been told; once true, then false."""
        return False

    def abandon(self) -> None:
        """Drop all files without touching them: for a forked child."""
        return


class CompiledSink(Sink, Protocol):
    """A sink that also records functions that XLA compiles."""

    def compiled_watch_node(
        self, tensors: Sequence[MeasuredTensor], vectors: tuple[str, str], whole: Sequence[str], name: str
    ) -> NodeDef:
        """Return the node that records the tensors of a compiled function.

        `vectors`: sources of the measurements, and of the turns in which tensors first were bad. `whole`:
        sources of the tensors that the node reads itself; the caller adds their dtypes. `name`: its name.
        """
