"""The sink that writes through our native library: the usual one.

Input: encoded records. Output: the files of one file set in a local folder.
"""

from __future__ import annotations

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

from tb_debugger_plugin import __version__
from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.options import COUNTING_MODES, Options
from tb_debugger_plugin.capture.sinks.protocol import CompiledTensor, WatchedTensor, WatchOp
from tb_debugger_plugin.capture.sinks.summaries import Summaries, of_vector
from tb_debugger_plugin.events.fileset import GRAPHS, SOURCE_FILES, STACK_FRAMES, FileSet, FileSetWriter
from tb_debugger_plugin.events.messages import GraphExecutionTrace
from tb_debugger_plugin.events.modes import TensorDebugMode


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
        self._module = module
        max_tensor_bytes = -1 if options.max_tensor_bytes is None else options.max_tensor_bytes
        self._summaries = Summaries(module, options.mode, max_tensor_bytes)
        suffixes = (SOURCE_FILES, STACK_FRAMES, GRAPHS)
        with ExitStack() as undo:
            self._files = FileSetWriter(options.dump_root, host, second, suffixes=suffixes)
            undo.callback(self._files.close)
            base = self._files.path("")[:-1]
            self._recorder = module.Recorder(base, self._mode, options.circular_buffer_size, max_tensor_bytes)
            undo.callback(self._recorder.close)
            self._write_metadata(options, host, run_id)
            undo.pop_all()
        self.eager_op = self._recorder.eager_op
        self.summary = self._summaries.of
        self._watches: dict[tuple[int, tuple[int, ...], tuple[int, ...]], int] = {}
        self._constants: dict[str, int] = {}

    def _write_metadata(self, options: Options, host: str, run_id: str) -> None:
        # The last file of the set: it makes a run of the others, which readers then expect to be there.
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

    def narrowed(self, options: Options) -> Options:
        """All of it."""
        return options

    def write(self, suffix: str, *events: Any) -> None:
        """Append events to one of the files that only Python writes."""
        self._files.write(suffix, *events)

    def constant(self, tensor: WatchedTensor, value: np.ndarray[Any, Any], device: str) -> None:
        """Record a tensor of a graph whose value is known when the graph is built."""
        proto = self.summary(value, tensor.dtype, tensor.tensor_id)
        prefix = _prefix(tensor, placement.full_name(device))
        self._module.add_constant(self._constants_of(tensor.graph_id), prefix, proto)

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
        return bytes(of_vector(np.array(values)).SerializeToString())

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
            return self._summaries.of_nothing(each.tensor.dtype, each.tensor.tensor_id)
        if self._mode == TensorDebugMode.SHAPE and each.shape is not None:
            return self._summaries.of_shape(each.shape, each.tensor.dtype, each.tensor.tensor_id)
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


def _prefix(tensor: WatchedTensor, device: str = "") -> bytes:
    trace = GraphExecutionTrace(
        tfdbg_context_id=tensor.graph_id, op_name=tensor.op_name, output_slot=tensor.slot, device_name=device
    )
    return bytes(trace.SerializeToString())
