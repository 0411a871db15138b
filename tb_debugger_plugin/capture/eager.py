"""Records eager ops, and calls of functions from Python, as they finish.

Takes the type, the inputs and the outputs of each op from the op callback of `recording`, and writes one
Execution record. Tells the native op callback, where there is one, each stack and thread that is new: it then
records the ops there without Python. In GUARD it notes good ops, which go on record before a bad one.

Invariant: a tensor that cannot be summarised has an empty summary in the record and does not end the
recording.
"""

from __future__ import annotations

import functools
import gc
import logging
import threading
from collections.abc import Callable, Hashable, Sequence
from types import FrameType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry, ops

from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.graph.unwatchable import without_graph
from tb_debugger_plugin.capture.graph_records import GraphRecords
from tb_debugger_plugin.capture.keep_values import TensorFacts
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks.protocol import STOPPED, OpCallback, Sink
from tb_debugger_plugin.capture.sinks.summaries import of_vector
from tb_debugger_plugin.capture.stacks.frames import StackFrames
from tb_debugger_plugin.capture.tf_types import EagerTensor
from tb_debugger_plugin.capture.thread_numbers import ThreadNumbers
from tb_debugger_plugin.errors import RecordingError, user_message
from tb_debugger_plugin.events.messages import DebugEvent, Execution
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.not_recorded import NotRecordedReason
from tb_debugger_plugin.native.structs import TensorValue

_log = logging.getLogger("tb_debugger_plugin")
#: Ops that TensorFlow runs when Python drops an object, anywhere in the program, and ops of recorders.
INTERNAL_OPS = frozenset(("DestroyResourceOp", "DebugNumericSummaryV2", "DebugIdentityV2"))
#: Limit of the cache by op and stack: a program that never calls twice from the same stack must not fill
#: memory.
_MAX_CALL_SITES = 50_000

#: How many call sites of good ops GUARD notes: a new one takes a quarter of a millisecond and 4 KB.
_MOST_NOTED_SITES = 2_000
#: The class of eager tensors, which has a name only in TensorFlow's own modules.
_EAGER_TENSOR: Any = ops.EagerTensor

_Key = TypeVar("_Key")


class _LazyDict(dict[_Key, int]):
    """Computes the value of a key at its first lookup."""

    def __init__(self, make: Callable[[_Key], int]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: _Key) -> int:
        number = self[key] = self._make(key)
        return number


class _CallSite(NamedTuple):
    """An op and the stack that runs it.

    Attributes:
      prefix: Encoded fields of its executions; empty when they are not recorded.
      is_recorded: By dtype, how its outputs are recorded (`Choice.bits`).
    """

    prefix: bytes
    is_recorded: _LazyDict[int]


class EagerOps:
    """Records the executions of one recording. Thread-safe.

    Args:
      options: What to record.
      sink: Takes executions and `graphs` records.
      frames: Returns the frame ids of the running stack.
      graphs: Returns the graph that a function runs.
      not_recorded: Registers the functions without a graph, and the dtypes that cannot be summarised.
      threads: Returns the number of the running thread.
      at_new_call_site: Called when an op runs on a new stack. It may end the recording.
    """

    def __init__(
        self,
        options: Options,
        sink: Sink,
        frames: StackFrames,
        graphs: GraphRecords,
        not_recorded: NotRecorded,
        *,
        threads: ThreadNumbers,
        at_new_call_site: Callable[[], None],
    ) -> None:
        self._threads = threads
        self._at_new_call_site = at_new_call_site
        self._not_recorded = not_recorded
        self._options = options
        self._sink = sink
        self._frames = frames
        self._graphs = graphs
        self._call_sites: dict[tuple[str | bytes, int, Hashable], _CallSite] = {}
        self._sites_lock = threading.Lock()  # the callback has the same call sites
        self._callback: OpCallback | None = None
        self._devices = _LazyDict(self._add_device)
        self._devices_lock = threading.Lock()  # guards the numbering of devices

    def record_by(self, callback: OpCallback) -> None:
        """Let an op callback record the ops whose stacks and threads are known."""
        callback.records(self._devices, self._value)
        self._callback = callback

    def note_by(self, callback: OpCallback, own: set[str], changing: tuple[str, ...]) -> None:
        """Let an op callback check ops and note the last good ones; see `OpCallback.checks`."""
        callback.checks(own, changing, self._devices)
        self._callback = callback

    def note(
        self,
        op_type: str | bytes,
        inputs: Sequence[EagerTensor],
        outputs: Sequence[EagerTensor],
        frame: FrameType,
    ) -> None:
        """Note an op that was good: it goes on record if one of the next is bad.

        Args:
          op_type: The op's type, or a function's name. Calls of functions are not noted.
          inputs: Its inputs.
          outputs: Its outputs.
          frame: The innermost frame that belongs to its stack.
        """
        if self._callback is None or op_def_registry.get(text_of(op_type)) is None:
            return
        key = op_type, len(outputs), self._frames.key(frame)
        if key not in self._call_sites:
            if len(self._call_sites) >= _MOST_NOTED_SITES:
                return
            self._add_call_site(key, frame)
        self._callback.add_thread(self._threads.current())
        self._callback.note(op_type, key[2], inputs, outputs)

    def record_noted(self) -> None:
        """Record the last good ops. Of their outputs, those are summarised that the program still has."""
        if self._callback is not None:
            tensors: dict[int, EagerTensor] = {
                one._id: one for one in gc.get_objects() if type(one) is _EAGER_TENSOR
            }
            self._callback.record_noted(tensors)

    def on_op(
        self,
        op_type: str | bytes,
        inputs: Sequence[EagerTensor],
        outputs: Sequence[EagerTensor] | None,
        frame: FrameType,
    ) -> int:
        """Record an op that has just finished.

        Args:
          op_type: The op's type, or a function's name.
          inputs: Its inputs.
          outputs: Its outputs.
          frame: The innermost frame that belongs to its stack.

        Returns:
          The number of a ring of the alarm, or 0.

        Raises:
          RecordingError: Recording has stopped by itself.
        """
        outputs = outputs or ()
        key = op_type, len(outputs), self._frames.key(frame)
        site = self._call_sites.get(key) or self._add_call_site(key, frame)
        try:
            thread = self._threads.number
        except AttributeError:
            thread = self._threads.add()
        if self._callback is not None:
            self._callback.add_thread(thread)
        if not site.prefix:
            return 0
        rang = self._sink.eager_op(
            site.prefix,
            inputs,
            outputs,
            self._devices,
            site.is_recorded,
            self._value,
            thread,
        )
        if rang == STOPPED:
            raise RecordingError(self._sink.failure())
        return rang

    def later(
        self,
        op_type: str | bytes,
        inputs: Sequence[EagerTensor],
        outputs: Sequence[EagerTensor],
        frame: FrameType,
    ) -> Callable[[], int]:
        """Return a function that records an op as :meth:`on_op` does, when it is called."""
        key = op_type, len(outputs), self._frames.key(frame)
        site = self._call_sites.get(key) or self._add_call_site(key, frame)
        thread = self._threads.current()
        # TensorFlow uses its lists again.
        given = list(inputs), list(outputs), self._devices, site.is_recorded, self._value, thread
        return functools.partial(self._sink.eager_op, site.prefix, *given)

    def _add_call_site(self, key: tuple[str | bytes, int, Hashable], frame: FrameType) -> _CallSite:
        self._at_new_call_site()
        op_type, num_outputs, _ = key
        name = text_of(op_type)
        prefix = b""
        if name not in INTERNAL_OPS:
            prefix = self._encode_prefix(name, num_outputs, self._frames.current(frame))
            if op_def_registry.get(name) is None and not self._graphs.id_of_function(name):
                self._not_recorded.report(without_graph([name]))
        site = _CallSite(prefix, _LazyDict(functools.partial(self._is_recorded, name)))
        with self._sites_lock:
            if len(self._call_sites) >= _MAX_CALL_SITES:
                self._call_sites.clear()
                if self._callback is not None:
                    self._callback.forget_call_sites()
            self._call_sites[key] = site
            if self._callback is not None:
                self._callback.add_call_site(*key, *site)
        return site

    def _encode_prefix(self, name: str, num_outputs: int, stack: tuple[str, ...]) -> bytes:
        execution = Execution(
            op_type=name,
            num_outputs=num_outputs,
            graph_id=self._graphs.id_of_function(name),
            tensor_debug_mode=int(self._options.mode),
        )
        execution.code_location.MergeFromString(self._frames.code_location(stack))
        return bytes(execution.SerializeToString())

    def encode_like(
        self, name: str, inputs: Sequence[EagerTensor], num_outputs: int, frame: FrameType
    ) -> bytes:
        """Return the encoded fields of earlier calls of a function, none of whose outputs is recorded.

        Args:
          name: The function's name.
          inputs: Inputs of a later call. The earlier ones had the same variables, and other values.
          num_outputs: Number of its outputs.
          frame: The innermost frame that belongs to its stack.
        """
        execution = Execution.FromString(self._encode_prefix(name, num_outputs, self._frames.current(frame)))
        execution.thread_id = self._threads.current()
        for tensor in inputs:
            is_same = tensor.dtype == tf.resource
            execution.input_tensor_ids.append(tensor._id if is_same else ops.uid())
        for _ in range(num_outputs):
            execution.output_tensor_ids.append(ops.uid())
            execution.tensor_protos.add()
        return bytes(execution.SerializeToString())

    def _is_recorded(self, name: str, dtype: int) -> int:
        functions = (name,) if self._graphs.id_of_function(name) else ()
        # The tensors inside a function ring.
        rings = not functions or self._options.keep_graph_optimizations
        choice = self._options.choose(TensorFacts(name, tf.as_dtype(dtype), functions=functions))
        return choice.bits(self._options.rings(name)) if rings else choice.bits()

    def _value(self, tensor: EagerTensor, keep: int) -> TensorValue:
        """Return the record of a tensor that the sink cannot read in place; empty if none can be made."""
        dtype = tensor._datatype_enum()
        try:
            if not keep and placement.may_be_elsewhere(tensor.device):
                return self._value_from_elsewhere(tensor, dtype)
            return self._sink.value(tensor._numpy_internal(), dtype, keep=keep)
        except Exception as error:  # the other tensors are still recorded
            self._report_unrecorded(dtype, error)
            return TensorValue(b"", self._options.mode)

    def _value_from_elsewhere(self, tensor: EagerTensor, dtype: int) -> TensorValue:
        mode = self._options.mode
        if mode is TensorDebugMode.NO_TENSOR:
            return self._sink.value(np.empty(0, np.float32), tf.float32.as_datatype_enum)
        if placement.reduced_mode(mode, tensor.dtype) is mode:
            summary = of_vector(np.array(placement.reduce_on_device(tensor, mode)))
            return TensorValue(summary.SerializeToString(), mode)
        return self._sink.value(tensor._numpy_internal(), dtype)

    def _report_unrecorded(self, dtype: int, error: Exception) -> None:
        """Report a tensor that is not recorded, once per dtype, in the log and in the recording."""
        _log.debug("A tensor cannot be summarised:", exc_info=error)
        kind = f"{tf.as_dtype(dtype).name} tensors that Python computes"
        sentence = f"The debugger does not record some {kind}: {user_message(error)}."
        self._not_recorded.report(Missing(NotRecordedReason.UNKNOWN, sentence, (kind,)))

    def _add_device(self, name: str) -> int:
        with self._devices_lock:
            if name not in self._devices:
                event = DebugEvent()
                event.debugged_device.device_name = name
                event.debugged_device.device_id = len(self._devices) + 1
                self._sink.write("graphs", event)
                self._devices[name] = len(self._devices) + 1
            return self._devices[name]


def text_of(op_type: str | bytes) -> str:
    """Return the type of an op, or the name of a function, which TensorFlow also gives as bytes."""
    return op_type.decode() if isinstance(op_type, bytes) else op_type
