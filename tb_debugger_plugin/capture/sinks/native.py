"""A sink that writes through the native library: the usual sink.

Takes encoded records and writes the files of one file set in a local folder.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import ModuleType

import tensorflow as tf

from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.gate import Gate
from tb_debugger_plugin.capture.on_alert import KINDS, AlertAction, OnAlert
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks.protocol import (
    CompiledSink,
    FirstBad,
    MeasuredTensor,
    NewTensor,
    WatchedTensor,
    WatchOp,
    summary_node,
)
from tb_debugger_plugin.capture.sinks.summaries import SummaryEncoder
from tb_debugger_plugin.capture.tf_types import Array, NodeDef
from tb_debugger_plugin.events.fileset import GRAPHS, SOURCE_FILES, STACK_FRAMES, FileSet, FileSetWriter
from tb_debugger_plugin.events.messages import Execution, GraphExecutionTrace, Message
from tb_debugger_plugin.events.modes import TensorDebugMode, spec_of
from tb_debugger_plugin.events.version import __version__
from tb_debugger_plugin.native import structs
from tb_debugger_plugin.native.structs import BadRecord


def _claim_file_set(dump_root: str, host: str) -> int:
    """Create a file of a set that no other recording has; return the second in its name."""
    os.makedirs(dump_root, exist_ok=True)
    second = int(time.time())
    while True:
        path = FileSet(Path(dump_root), second, host).path(GRAPHS)
        try:
            os.close(os.open(str(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return second
        except FileExistsError:
            second += 1


#: Watch ops, by whether they are inline, and whether they record more than one tensor.
_WATCH_OPS = {
    (False, False): "TbDebuggerWatch",
    (True, False): "TbDebuggerWatchInline",
    (False, True): "TbDebuggerWatchSeveral",
    (True, True): "TbDebuggerWatchSeveralInline",
}


class NativeSink:
    """Writes through the native library. Lives from creating the files to `close()`.

    Args:
      options: What to record.
      host: Name of this host, for the file names.
      run_id: Run id, the same for all processes of one job.
      module: `native.load()`.

    Raises:
      OSError: The dump root cannot be written.
    """

    supports_inline = True

    def __init__(self, options: Options, host: str, run_id: str, module: ModuleType) -> None:
        second = _claim_file_set(options.dump_root, host)
        self._mode = int(options.mode)
        self.native: ModuleType | None = module
        self._module = module
        max_tensor_bytes = -1 if options.max_tensor_bytes is None else options.max_tensor_bytes
        suffixes = (SOURCE_FILES, STACK_FRAMES, GRAPHS)
        with ExitStack() as undo:
            self._files = FileSetWriter(options.dump_root, host, second, suffixes=suffixes)
            undo.callback(self._files.close)
            base = self._files.path("")[:-1]
            limits = [rule.limits() for rule in options.keep_values]
            self.byte_limit = options.byte_limit()
            self._recorder = module.Recorder(
                *(base, self._mode, options.circular_buffer_size, max_tensor_bytes, limits),
                *(self.byte_limit, self._files.descriptor(GRAPHS)),
            )
            undo.callback(self._recorder.close)
            self._arm(options.on_alert)
            self._write_metadata(options, host, run_id)
            undo.pop_all()
        self.eager_op = self._recorder.eager_op
        self.op_callback = partial(module.OpCallback, self._recorder)
        self.session_run = self._recorder.session_run
        self.about_session_run = self._recorder.about_session_run
        self.set_wanted = self._recorder.set_wanted
        self.set_step = self._recorder.set_step
        self.enable_rules = self._recorder.enable_rules
        self.discard = self._recorder.discard
        self.flush = self._recorder.flush
        self.abandon = self._recorder.abandon
        self.take_bounded = self._recorder.take_bounded
        self.for_compiled: CompiledSink | None = self
        self._summaries = SummaryEncoder(module, options.mode, max_tensor_bytes, self._recorder.choose_keep)
        self.value = self._summaries.value
        self._watches: dict[tuple[int, tuple[int, ...], tuple[int, ...]], int] = {}
        self._constants: dict[str, int] = {}
        self.gate: Gate | None = self._recorder.gate
        self._is_interactive = options.is_interactive
        self._known: set[int] = set()  # tensor ids
        self._new: list[NewTensor] = []

    def _arm(self, on_alert: OnAlert | None) -> None:
        is_armed = on_alert is not None and on_alert.judges_values
        self.fails_graphs = is_armed and on_alert is not None and on_alert.action is AlertAction.RAISE
        if is_armed and on_alert is not None:
            kinds = on_alert.kinds or KINDS
            self._recorder.arm("inf" in kinds, "nan" in kinds, on_alert.kinds is None, self.fails_graphs)

    def _write_metadata(self, options: Options, host: str, run_id: str) -> None:
        # The last file of the set: readers that find it expect the other files to exist.
        self._files.write_metadata(
            tensorflow_version=tf.__version__,
            tfdbg_run_id=run_id,
            recorder_version=__version__,
            tensor_debug_mode=self._mode,
            circular_buffer_size=options.circular_buffer_size,
            process_id=os.getpid(),
            program=sys.argv,
            host_name=host,
        )

    @property
    def files(self) -> str:
        """The common beginning of the names of the event files."""
        return self._files.files.prefix

    def narrowed(self, options: Options) -> Options:
        """Return the same options: this sink supports all."""
        return options

    def write(self, suffix: str, *events: Message) -> None:
        """Append events to one of the files that only Python writes."""
        self._files.write(suffix, *events)

    def constant(self, tensor: WatchedTensor, value: Array, device: str) -> None:
        """Record a tensor of a graph whose value is known when the graph is built."""
        self._note(tensor, is_constant=True)
        recorded = self.value(value, tensor.dtype, tensor.tensor_id, tensor.keep)
        prefix = tensor.prefix(placement.full_name(device))
        self._module.add_constant(self._constants_of(tensor.graph_id), prefix, recorded)

    def _watch(
        self,
        tensor: WatchedTensor,
        same: tuple[WatchedTensor, ...] = (),
        coalesced: tuple[int, ...] = (),
        *,
        device: str = "",
    ) -> int:
        key = (tensor.tensor_id, tuple([other.tensor_id for other in same]), coalesced)
        number = self._watches.get(key)
        if number is None:
            constants = self._constants_of(tensor.graph_id)
            targets = [_target(tensor, device)._replace(keep=tensor.keep)]
            targets += [_same_target(other, device) for other in same]
            for noted in (tensor, *same):
                self._note(noted)
            number = self._module.add_watch(targets, tensor.dtype, tensor.dims, constants, coalesced)
            self._watches[key] = number
        return number

    def _note(self, tensor: WatchedTensor, *, is_constant: bool = False) -> None:
        if self._is_interactive and tensor.tensor_id not in self._known:
            self._known.add(tensor.tensor_id)
            self._new.append(NewTensor(tensor, is_constant))

    def make_interactive(self) -> None:
        """Describe watched tensors from now on: those of graphs that get new watch ops."""
        self._is_interactive = True
        self._watches.clear()  # the watches so far do not know which tensors ops add into

    def note_unrecorded(self, tensors: Iterable[WatchedTensor]) -> None:
        """Take in tensors that get a watch op only while a debugger stops at them."""
        for tensor in tensors:
            self._note(tensor)

    def take_new_tensors(self) -> list[NewTensor]:
        """Return the tensors of graphs since the last call; none unless the options are interactive."""
        new, self._new = self._new, []
        return new

    def watch_nodes(self, op: WatchOp) -> list[NodeDef]:
        """One node of a watch op."""
        inputs = [op.source, *[name for _, name in op.coalesced]]
        kind = _WATCH_OPS[op.inline, bool(op.coalesced)]
        node = NodeDef(name=op.name, op=kind, input=inputs, device=op.device)
        node.attr["T"].type = op.tensor.dtype
        coalesced = tuple([self._watch(tensor) for tensor, _ in op.coalesced])
        node.attr["watch"].i = self._watch(op.tensor, op.same, coalesced)
        if coalesced:
            node.attr["N"].i = len(coalesced)
        return [node]

    def reduced_watch_nodes(self, op: WatchOp) -> list[NodeDef]:
        """TensorFlow's op that summarises the tensor on its device, and a watch op on the host after it."""
        tensor = op.tensor
        mode = placement.reduced_mode(TensorDebugMode(self._mode), tf.as_dtype(tensor.dtype))
        assert mode is not None, "the plan only reduces tensors with a reduced mode"
        summarise = summary_node(op, mode)
        summarise.attr["_class"].list.s.append(f"loc:@{tensor.op_name}".encode())
        record = NodeDef(name=op.name, op="TbDebuggerWatchReduced", input=[summarise.name])
        record.device = "/device:CPU:0"
        record.attr["watch"].i = self._watch(tensor, device=op.device)
        record.attr["mode"].i = int(mode)
        return [summarise, record]

    def compiled_watch_node(
        self, tensors: Sequence[MeasuredTensor], vectors: tuple[str, str], whole: Sequence[str], name: str
    ) -> NodeDef:
        """Return the node that records the tensors of a compiled function.

        Args:
          tensors: The tensors.
          vectors: Sources of the measurements, and of the turns in which tensors first were bad.
          whole: Sources of the tensors that the node reads itself; the caller adds their dtypes.
          name: Name of the node.
        """
        number = self._module.add_compiled_tensors([self._described(tensor) for tensor in tensors])
        node = NodeDef(name=name, op="TbDebuggerWatchCompiled", input=[*vectors, *whole])
        node.attr["tensors"].i = number
        return node

    def _described(self, tensor: MeasuredTensor) -> structs.CompiledTensor:
        return structs.CompiledTensor(
            watch=self._watch(tensor.tensor),
            group=tensor.group,
            whole=tensor.whole,
            elements=tensor.elements,
            tensor_proto=self._without_elements(tensor),
            size=self._number_of_elements(tensor),
            size_at=tensor.size_at,
            counts=tensor.counts,
        )

    def _without_elements(self, compiled: MeasuredTensor) -> bytes:
        """Return the summary of a tensor in the modes that do not read its elements; empty in others."""
        tensor = compiled.tensor
        if self._mode == TensorDebugMode.NO_TENSOR:
            return self._summaries.of_nothing(tensor.dtype, tensor.tensor_id)
        if self._mode == TensorDebugMode.SHAPE and compiled.shape is not None:
            return self._summaries.of_shape(compiled.shape, tensor.dtype, tensor.tensor_id)
        return b""

    def _number_of_elements(self, tensor: MeasuredTensor) -> int:
        """Return the size of a tensor, if it is recorded and known before the function runs; else -1."""
        is_recorded = spec_of(TensorDebugMode(self._mode)).counts and tensor.shape is not None
        return math.prod(tensor.shape or ()) if is_recorded else -1

    def _constants_of(self, graph_id: str) -> int:
        if graph_id not in self._constants:
            self._constants[graph_id] = self._module.add_constants()
        return self._constants[graph_id]

    def counts(self) -> tuple[int, int]:
        """Return the numbers of executions and traces so far."""
        return self._recorder.executions, self._recorder.traces

    def num_bytes(self) -> int:
        """Return the bytes of the records in the event files."""
        return int(self._recorder.num_bytes)

    def num_bad(self) -> int:
        """Return the number of bad tensors on record so far."""
        return int(self._recorder.num_bad)

    def first_bad(self) -> FirstBad | None:
        """Return the first bad value on record."""
        return self._described_bad(self._recorder.first_bad)

    def ring(self, number: int) -> FirstBad | None:
        """Return the bad value that rang the alarm; None if it was too long ago."""
        return self._described_bad(self._recorder.ring(number))

    def _described_bad(self, found: BadRecord | None) -> FirstBad | None:
        if found is None:
            return None
        kind = "NaN" if found.is_nan else "infinity"
        if self._mode == TensorDebugMode.CURT_HEALTH:
            kind = "NaN or infinity"
        if found.is_execution:
            execution = Execution.FromString(found.prefix)
            stack = tuple(execution.code_location.stack_frame_ids)
            return FirstBad(execution.op_type, stack=stack, kind=kind)
        trace = GraphExecutionTrace.FromString(found.prefix)
        return FirstBad("", trace.tfdbg_context_id, trace.op_name, (), trace.output_slot, kind)

    def failure(self) -> str:
        """Why the sink stopped recording; empty while it records."""
        return str(self._recorder.failure)

    def close(self) -> None:
        """Flush and close all files."""
        self._recorder.close()
        self._files.close()


def _target(tensor: WatchedTensor, device: str) -> structs.TraceTarget:
    return structs.TraceTarget(
        tensor.prefix(device),
        tensor.tensor_id,
        -1,
        rings=tensor.rings,
        in_pipeline=tensor.in_pipeline,
        is_added_into=tensor.is_added_into,
        is_recorded=tensor.is_recorded,
    )


def _same_target(tensor: WatchedTensor, device: str) -> structs.TraceTarget:
    dims = tensor.dims or ()
    return _target(tensor, device)._replace(rank=len(dims), dims=dims)
