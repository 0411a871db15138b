"""A sink that uses TensorFlow's own debug ops and writer.

It is for machines without a compiled native library, and for dump roots on a file system that only TensorFlow
can write. It is slower and writes the same files.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.protobuf import debug_event_pb2
from tensorflow.python.debug.lib import debug_events_writer

from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.keep_values import KeepValues
from tb_debugger_plugin.capture.options import STOCK_DTYPES, Options, keep_of
from tb_debugger_plugin.capture.sinks.protocol import Sink, WatchedTensor, WatchOp, summary_node
from tb_debugger_plugin.capture.sinks.summaries import bytes_of, marked, summarized
from tb_debugger_plugin.capture.tf_types import Array, EagerTensor, NodeDef
from tb_debugger_plugin.errors import RecordingError, UsageError
from tb_debugger_plugin.events.messages import DebugEvent, Execution, Message, SessionRun
from tb_debugger_plugin.events.modes import SUMMARY_COLUMNS, TensorDebugMode, spec_of
from tb_debugger_plugin.native.structs import TensorValue

_to_graphs = debug_events_writer._pywrap_debug_events_writer.WriteGraphOpCreation
_log = logging.getLogger("tb_debugger_plugin")
#: Dtypes for which `DebugNumericSummaryV2` has kernels; a function that uses it on another dtype fails when
#: it is called.
_SUMMARISED = STOCK_DTYPES | {
    *(tf.bool, tf.int8, tf.int16, tf.int32, tf.int64),
    *(tf.uint8, tf.uint16, tf.uint32, tf.uint64),
}
#: Records of `graphs` that TensorFlow's writer does not know.
_OURS = ("not_recorded", "op_attributes", "debugged_thread", "session_request")
#: The value that is recorded for every tensor in the mode NO_TENSOR.
_NO_VALUE = tf.make_tensor_proto([], tf.float32)


class StockSink(Sink):
    """Writes through TensorFlow's own ops and writer, to any file system that TensorFlow supports.

    TensorFlow's debug ops cannot be switched off, have no kernels in XLA, wait for no debugger, and do not
    report what they record. Its circular buffers cannot be emptied, and its writer cannot be dropped.

    Args:
      options: What to record.
      run_id: Run id, the same for all processes of one job.

    Raises:
      RecordingError: The dump root cannot be written.
      UsageError: TensorFlow's ops do not support one of the options.
    """

    def __init__(self, options: Options, run_id: str) -> None:
        _refuse_unsupported(options)
        _warn_of_no_limit(options)
        self._options = options
        self._rules = _possible(options.keep_values)
        self._run_id = run_id
        self._num_executions = 0
        self._num_session_runs = 0
        try:
            self._writer = debug_events_writer.DebugEventsWriter(
                options.dump_root, run_id, options.circular_buffer_size
            )
        except ValueError as error:
            raise RecordingError(f"{options.dump_root} cannot be written: {error}") from None

    @property
    def files(self) -> str:
        """Empty: TensorFlow's writer chooses the names."""
        return ""

    def narrowed(self, options: Options) -> Options:
        """Return the options without the dtypes for which TensorFlow's debug ops have no kernel.

        Nor can these ops choose values when they run, or add up their sizes.
        """
        options = replace(options, keep_values=_possible(options.keep_values))
        if options.mode not in SUMMARY_COLUMNS:
            return options
        predicate = options.tensor_dtypes
        return replace(
            options,
            tensor_dtypes=lambda dtype: dtype in _SUMMARISED and (predicate is None or predicate(dtype)),
        )

    def write(self, suffix: str, *events: Message) -> None:
        """Append events to one of the files that only Python writes."""
        for event in events:
            stock = debug_event_pb2.DebugEvent.FromString(event.SerializeToString())
            kind = stock.WhichOneof("what")
            if kind == "source_file":
                self._writer.WriteSourceFile(stock.source_file)
            elif kind == "stack_frame_with_id":
                self._writer.WriteStackFrameWithId(stock.stack_frame_with_id)
            elif kind == "graph_op_creation":
                self._writer.WriteGraphOpCreation(stock.graph_op_creation)
            elif kind == "debugged_graph":
                self._writer.WriteDebuggedGraph(stock.debugged_graph)
            elif kind == "debugged_device":
                # Its numbers count from 1 in order of appearance, as ours do.
                self._writer.RegisterDeviceAndGetId(stock.debugged_device.device_name)
            elif event.WhichOneof("what") in _OURS or event.recording_counts.failure:
                # Counts have no traces here, so they are only written with a failure.
                self._write_ours(stock)

    def _write_ours(self, event: Message) -> None:
        # TensorFlow's writer has no method for our own record kinds, but this function writes any event.
        self._writer._EnsureTimestampAdded(event)
        _to_graphs(self._options.dump_root, event)

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
        """Record the execution of an op."""
        # TensorFlow's class keeps a field that it does not know.
        execution = debug_event_pb2.Execution.FromString(
            prefix + Execution(thread_id=thread).SerializeToString()
        )
        execution.input_tensor_ids.extend(tensor._id for tensor in inputs)
        execution.output_tensor_ids.extend(tensor._id for tensor in outputs)
        execution.output_tensor_device_ids.extend(devices[tensor.device] for tensor in outputs)
        how = [is_recorded[tensor._datatype_enum()] for tensor in outputs]
        none = TensorValue(b"", int(self._options.mode))
        values = [
            summarize(tensor, keep_of(bits)) if bits else none
            for tensor, bits in zip(outputs, how, strict=True)
        ]
        mode = TensorDebugMode.FULL_TENSOR if any(map(_is_whole, values)) else self._options.mode
        execution.tensor_debug_mode = int(mode)
        protos = [
            marked(value) if value.tensor_proto and value.mode != mode else value.tensor_proto
            for value in values
        ]
        execution.tensor_protos.extend(map(tensor_pb2.TensorProto.FromString, protos))
        self._writer.WriteExecution(execution)
        self._num_executions += 1
        return 0

    def session_run(self, prefix: bytes, run: int, begin_time: float) -> int:
        """Record a run of a session."""
        ran = SessionRun(run=run, begin_time=begin_time)
        ran.MergeFromString(prefix)
        self.about_session_run(DebugEvent(wall_time=time.time(), session_run=ran).SerializeToString())
        return 0

    def about_session_run(self, event: bytes) -> None:
        """Append an event to `.graphs`; with a circular buffer only the first ones, as nothing drops them."""
        size = self._options.circular_buffer_size
        if size <= 0 or self._num_session_runs < size:
            self._num_session_runs += 1
            self._write_ours(debug_event_pb2.DebugEvent.FromString(event))

    def value(self, array: Array | bytes, dtype: int, tensor_id: int = -1, keep: int = 0) -> TensorValue:
        """Return what is recorded of a tensor: see `Sink.value`."""
        is_kept = keep and self._is_kept(keep, bytes_of(array))
        mode = TensorDebugMode.FULL_TENSOR if is_kept else self._options.mode
        return TensorValue(_encoded(array, dtype, tensor_id, mode), mode)

    def _is_kept(self, keep: int, size: int) -> bool:
        """Whether a rule keeps a value of a size in bytes."""
        limits = [rule.max_tensor_bytes for number, rule in enumerate(self._rules) if keep >> number & 1]
        return any(limit is None or size <= limit for limit in limits)

    def _mode_of(self, tensor: WatchedTensor) -> TensorDebugMode:
        """Return the mode in which a tensor of a graph is recorded."""
        dims = tensor.dims
        is_known = dims is not None and -1 not in dims
        size = math.prod(dims or ()) * tf.as_dtype(tensor.dtype).size if is_known else 0
        is_kept = tensor.keep and self._is_kept(tensor.keep, size)
        return TensorDebugMode.FULL_TENSOR if is_kept else self._options.mode

    def constant(self, tensor: WatchedTensor, value: Array, device: str) -> None:
        """Record a tensor of a graph whose value is known when the graph is built."""
        recorded = self.value(value, tensor.dtype, tensor.tensor_id, tensor.keep)
        trace = debug_event_pb2.GraphExecutionTrace(
            tfdbg_context_id=tensor.graph_id,
            op_name=tensor.op_name,
            output_slot=tensor.slot,
            tensor_debug_mode=recorded.mode,
            tensor_proto=tensor_pb2.TensorProto.FromString(recorded.tensor_proto),
            device_name=placement.full_name(device),
        )
        self._writer.WriteGraphExecutionTrace(trace)

    def watch_nodes(self, op: WatchOp) -> list[NodeDef]:
        """Return a node that summarises the tensor, unless it is written whole, and a node that writes."""
        mode, tensor = self._mode_of(op.tensor), op.tensor
        nodes, dtype = [], tensor.dtype
        if mode is TensorDebugMode.NO_TENSOR:
            nodes, dtype = [_no_value_after(op)], _NO_VALUE.dtype
        elif mode in SUMMARY_COLUMNS:
            nodes, dtype = [summary_node(op, mode)], tf.float64.as_datatype_enum
        write = NodeDef(name=op.name, op="DebugIdentityV2", device=op.device)
        write.input.append(nodes[0].name if nodes else op.source)
        write.attr["T"].type = dtype
        write.attr["tfdbg_context_id"].s = tensor.graph_id.encode()
        write.attr["op_name"].s = tensor.op_name.encode()
        write.attr["output_slot"].i = tensor.slot
        write.attr["tensor_debug_mode"].i = int(mode)
        write.attr["debug_urls"].list.s.append(f"file://{self._options.dump_root}".encode())
        write.attr["circular_buffer_size"].i = self._options.circular_buffer_size
        write.attr["tfdbg_run_id"].s = self._run_id.encode()
        return [*nodes, write]

    def reduced_watch_nodes(self, op: WatchOp) -> list[NodeDef]:
        """Return the same nodes: TensorFlow's debug ops run on every device."""
        return self.watch_nodes(op)

    def counts(self) -> tuple[int, int]:
        """Return the number of executions so far, and 0: TensorFlow does not count traces."""
        return self._num_executions, 0

    def flush(self) -> None:
        """Write out buffered records."""
        self._writer.FlushNonExecutionFiles()
        self._writer.FlushExecutionFiles()

    def close(self) -> None:
        """Flush all files.

        They stay open: functions that were traced during the recording have TensorFlow's debug ops, which
        write at each call and would crash the program if the files were closed.
        """
        self.flush()


def _possible(rules: tuple[KeepValues, ...]) -> tuple[KeepValues, ...]:
    """Return the part of some rules that TensorFlow's debug ops can apply."""
    return tuple([replace(rule, max_total_bytes=None) for rule in rules if not rule.only_bad])


def _is_whole(value: TensorValue) -> bool:
    return value.mode == TensorDebugMode.FULL_TENSOR


def _encoded(array: Array | bytes, dtype: int, tensor_id: int, mode: TensorDebugMode) -> bytes:
    """Return the encoded TensorProto of a tensor in a mode."""
    if mode is TensorDebugMode.FULL_TENSOR:
        proto = tf.make_tensor_proto(array)
        proto.dtype = dtype  # NumPy has integers for quantized tensors
        return bytes(proto.SerializeToString())
    if mode in SUMMARY_COLUMNS:
        assert not isinstance(array, bytes), "no mode summarises strings"
        return bytes(summarized(array, dtype, mode, tensor_id).SerializeToString())
    return bytes(_NO_VALUE.SerializeToString())


def _no_value_after(op: WatchOp) -> NodeDef:
    """Return a node that returns `_NO_VALUE` after a tensor was computed."""
    node = NodeDef(name=f"{op.name}/nothing", op="Const", device=op.device)
    node.input.append(f"^{op.tensor.op_name}")
    node.attr["dtype"].type = _NO_VALUE.dtype
    node.attr["value"].tensor.CopyFrom(_NO_VALUE)
    return node


def _refuse_unsupported(options: Options) -> None:
    unsupported = {
        f"tensor_debug_mode {options.mode.name!r}": not spec_of(options.mode).is_stock,
        "every_n_steps and step_range": options.chooses_steps,
        "keep_graph_optimizations": options.keep_graph_optimizations,
        "on_alert and check_numerics": options.on_alert is not None,
    }
    for name, is_requested in unsupported.items():
        if is_requested:
            raise UsageError(
                f"TensorFlow's own debug ops do not support {name}. They are used when the native library or "
                "a local dump_root is missing: leave it out, or install a C++ compiler and reinstall "
                "tb-debugger-plugin."
            )


def _warn_of_no_limit(options: Options) -> None:
    # Not refused: the limit has a default, so the user may not have given it.
    if options.mode is TensorDebugMode.FULL_TENSOR and options.max_tensor_bytes is not None:
        _log.warning(
            "The debugger records tensors of any size, not only up to %d bytes: TensorFlow's own debug ops "
            "do not support max_tensor_bytes. They are used when the native library or a local dump_root is "
            "missing. Give max_tensor_bytes=None to avoid this warning.",
            options.max_tensor_bytes,
        )
