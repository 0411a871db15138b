"""The sink that writes through our native library: the usual one.

In come encoded records; out go files of one file set in a local folder.
"""

from __future__ import annotations

import importlib.metadata
import math
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import node_def_pb2

from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.options import COUNTING_MODES, Options
from tb_debugger_plugin.capture.sinks.protocol import CompiledTensor, WatchedTensor, WatchOp
from tb_debugger_plugin.events.fileset import GRAPHS, SOURCE_FILES, STACK_FRAMES, FileSet, FileSetWriter
from tb_debugger_plugin.events.messages import GraphExecutionTrace, TensorProto
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.native import twin


def _claim_file_set(dump_root: str, host: str) -> int:
    """Create a file of a set that no other recording has, and return the second in its name."""
    os.makedirs(dump_root, exist_ok=True)
    second = int(time.time())
    while True:
        path = FileSet(Path(dump_root), second, host).path(GRAPHS)
        try:
            os.close(os.open(str(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return second
        except FileExistsError:
            second += 1


#: Our ops by whether they stand in line, and whether they record more than one tensor.
_WATCH_OPS = {
    (False, False): "TbDebuggerWatch",
    (True, False): "TbDebuggerWatchInline",
    (False, True): "TbDebuggerWatchSeveral",
    (True, True): "TbDebuggerWatchSeveralInline",
}
_STRING = tf.string.as_datatype_enum


class NativeSink:
    """Writes through the native library. Lives from creating the files to `close()`.

    Args:
      options: What to record.
      host: Name of this host, for the file names.
      run_id: The same for all processes of one job.
      module: `native.load()`.

    Raises:
      OSError: The dump root cannot be written.
    """

    passes_through = True

    def __init__(self, options: Options, host: str, run_id: str, module: Any) -> None:
        second = _claim_file_set(options.dump_root, host)
        self._mode = int(options.mode)
        self._max_tensor_bytes = -1 if options.max_tensor_bytes is None else options.max_tensor_bytes
        self._module = module
        self._encode = module.encode_summary
        suffixes = (SOURCE_FILES, STACK_FRAMES, GRAPHS)
        with ExitStack() as undo:
            self._files = FileSetWriter(options.dump_root, host, second, suffixes=suffixes)
            undo.callback(self._files.close)
            base = self._files.path("")[:-1]
            self._recorder = module.Recorder(
                base, self._mode, options.circular_buffer_size, self._max_tensor_bytes
            )
            undo.callback(self._recorder.close)
            self._write_metadata(options, host, run_id)
            undo.pop_all()
        self.eager_op = self._recorder.eager_op
        self._watches: dict[tuple[int, tuple[int, ...], tuple[int, ...]], int] = {}
        self._constants: dict[str, int] = {}

    def _write_metadata(self, options: Options, host: str, run_id: str) -> None:
        # The last file of the set: it makes a run of the others, which readers then expect to be there.
        self._files.write_metadata(
            tensorflow_version=tf.__version__,
            tfdbg_run_id=run_id,
            recorder_version=importlib.metadata.version("tb-debugger-plugin"),
            tensor_debug_mode=self._mode,
            circular_buffer_size=options.circular_buffer_size,
            process_id=os.getpid(),
            program=sys.argv,
            host_name=host,
        )

    def narrowed(self, options: Options) -> Options:
        """All of it."""
        return options

    def write(self, suffix: str, *events: Any) -> None:
        """Append events to one of the files that only Python writes."""
        self._files.write(suffix, *events)

    def summary(self, array: np.ndarray[Any, Any], dtype: int, tensor_id: int = -1) -> bytes:
        """The encoded TensorProto that stands for a tensor."""
        if dtype == _STRING:
            return self._strings(array, tensor_id)
        return self._encode(  # type: ignore[no-any-return]
            _lendable(array), dtype, array.shape, self._mode, tensor_id, self._max_tensor_bytes
        )

    def _strings(self, array: np.ndarray[Any, Any], tensor_id: int) -> bytes:
        """The only tensors that NumPy holds in another layout than TensorFlow."""
        if self._mode != TensorDebugMode.FULL_TENSOR:
            return self._encode(b"", tf.float32.as_datatype_enum, (0,), self._mode, tensor_id)  # type: ignore[no-any-return]
        size = sum(map(len, array.ravel().tolist()))
        if not 0 <= self._max_tensor_bytes < size:
            return bytes(tf.make_tensor_proto(array, tf.string).SerializeToString())
        proto = _shape_summary(array.shape, _STRING, tensor_id)
        proto.summary_mode = TensorDebugMode.SHAPE
        proto.left_out_bytes = size
        return bytes(proto.SerializeToString())

    def constant(self, tensor: WatchedTensor, value: np.ndarray[Any, Any]) -> None:
        """Record a tensor of a graph whose value is known when the graph is built."""
        proto = self.summary(value, tensor.dtype, tensor.tensor_id)
        self._module.add_constant(self._constants_of(tensor.graph_id), _prefix(tensor), proto)

    def _watch(
        self,
        tensor: WatchedTensor,
        same: tuple[WatchedTensor, ...] = (),
        before: tuple[int, ...] = (),
        *,
        device: str = "",
    ) -> int:
        key = (tensor.tensor_id, tuple([each.tensor_id for each in same]), before)
        number = self._watches.get(key)
        if number is None:
            constants = self._constants_of(tensor.graph_id)
            places = (
                (_prefix(tensor, device), tensor.tensor_id, -1),
                *[(_prefix(each, device), each.tensor_id, len(each.dims or ())) for each in same],
            )
            number = self._module.add_watch(places, tensor.dtype, tensor.dims, constants, before)
            self._watches[key] = number
        return number

    def watch_nodes(self, op: WatchOp) -> list[node_def_pb2.NodeDef]:
        """One node of our own op."""
        inputs = [op.source, *[name for _, name in op.before]]
        kind = _WATCH_OPS[op.inline, bool(op.before)]
        node = node_def_pb2.NodeDef(name=op.name, op=kind, input=inputs, device=op.device)
        node.attr["T"].type = op.tensor.dtype
        before = tuple([self._watch(each) for each, _ in op.before])
        node.attr["watch"].i = self._watch(op.tensor, op.same, before)
        if before:
            node.attr["N"].i = len(before)
        return [node]

    def reduced_watch_nodes(self, op: WatchOp) -> list[node_def_pb2.NodeDef]:
        """TensorFlow's own op beside the one that made the tensor, and ours on the host behind it."""
        tensor = op.tensor
        mode = placement.reduced_mode(TensorDebugMode(self._mode), tf.as_dtype(tensor.dtype))
        assert mode is not None, "the plan reduces nothing else"
        summarise = node_def_pb2.NodeDef(
            name=f"{op.name}/summary", op="DebugNumericSummaryV2", input=[op.source], device=op.device
        )
        summarise.attr["_class"].list.s.append(f"loc:@{tensor.op_name}".encode())
        summarise.attr["T"].type = tensor.dtype
        summarise.attr["output_dtype"].type = tf.float64.as_datatype_enum
        summarise.attr["tensor_debug_mode"].i = int(mode)
        summarise.attr["tensor_id"].i = tensor.tensor_id
        record = node_def_pb2.NodeDef(name=op.name, op="TbDebuggerWatchReduced", input=[summarise.name])
        record.device = "/device:CPU:0"
        record.attr["watch"].i = self._watch(tensor, device=op.device)
        record.attr["mode"].i = int(mode)
        return [summarise, record]

    def reduced_summary(self, values: list[float]) -> bytes:
        """The encoded TensorProto of numbers that another device computed."""
        proto = TensorProto(dtype=tf.float64.as_datatype_enum, tensor_content=np.array(values).tobytes())
        proto.tensor_shape.dim.add(size=len(values))
        return bytes(proto.SerializeToString())

    def compiled_watch_node(
        self, tensors: Sequence[CompiledTensor], vectors: tuple[str, str], whole: Sequence[str], name: str
    ) -> node_def_pb2.NodeDef:
        """The node that records what a compiled function hands over.

        Args:
          tensors: What there is.
          vectors: Sources of the magnitudes, and of when each was bad first.
          whole: Sources of the tensors that are handed over whole; the caller adds their dtypes.
          name: Of the node.
        """
        handed_over = [
            (
                *(self._watch(each.tensor), each.group, each.whole, each.elements),
                *(self._without_elements(each), self._number_of_elements(each), each.size, each.counts),
            )
            for each in tensors
        ]
        number = self._module.add_compiled_tensors(handed_over)
        node = node_def_pb2.NodeDef(name=name, op="TbDebuggerWatchCompiled", input=[*vectors, *whole])
        node.attr["tensors"].i = number
        return node

    def _without_elements(self, each: CompiledTensor) -> bytes:
        """What is recorded of a tensor in the modes that do not look at its elements; empty in others."""
        if self._mode == TensorDebugMode.NO_TENSOR:
            return self.summary(np.empty(0), each.tensor.dtype, each.tensor.tensor_id)
        if self._mode == TensorDebugMode.SHAPE and each.shape is not None:
            return bytes(
                _shape_summary(each.shape, each.tensor.dtype, each.tensor.tensor_id).SerializeToString()
            )
        return b""

    def _number_of_elements(self, each: CompiledTensor) -> int:
        """What is recorded of a tensor's size where that is known before; else -1."""
        wanted = self._mode in COUNTING_MODES and each.shape is not None
        return math.prod(each.shape or ()) if wanted else -1

    def _constants_of(self, graph_id: str) -> int:
        if graph_id not in self._constants:
            self._constants[graph_id] = self._module.add_constants()
        return self._constants[graph_id]

    def set_wanted(self, wanted: bool) -> None:
        """Whether what graphs compute from now on is recorded."""
        self._recorder.set_wanted(wanted)

    def counts(self) -> tuple[int, int]:
        """Executions and traces seen so far."""
        return self._recorder.executions, self._recorder.traces

    def failure(self) -> str:
        """Why recording stopped by itself."""
        return str(self._recorder.failure)

    def flush(self) -> None:
        """Write out what is buffered."""
        self._recorder.flush()

    def close(self) -> None:
        """Flush and close all files."""
        self._recorder.close()
        self._files.close()

    def abandon(self) -> None:
        """Let go of all files without touching them."""
        self._recorder.abandon()


def _shape_summary(shape: tuple[int, ...], dtype: int, tensor_id: int) -> Any:
    array = np.broadcast_to(np.uint8(0), shape)  # of any size, in one byte
    vector = np.array(twin.summarize(array, dtype, TensorDebugMode.SHAPE, tensor_id))
    proto = TensorProto(dtype=tf.float64.as_datatype_enum, tensor_content=vector.tobytes())
    proto.tensor_shape.dim.add(size=vector.size)
    return proto


def _lendable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same bytes in a dtype of NumPy's own: it lends no buffer of others, such as bfloat16."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"u{array.dtype.itemsize}")


def _prefix(tensor: WatchedTensor, device: str = "") -> bytes:
    trace = GraphExecutionTrace(
        tfdbg_context_id=tensor.graph_id, op_name=tensor.op_name, output_slot=tensor.slot, device_name=device
    )
    return bytes(trace.SerializeToString())
