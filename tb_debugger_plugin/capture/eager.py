"""Eager ops and calls of functions from Python, as they finish.

TensorFlow calls `EagerOps.on_op` after every eager op of the threads in which it is installed. In come the
op's type, inputs and outputs; out goes one Execution record.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.frames import Frames
from tb_debugger_plugin.capture.graphs import Graphs
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks import Sink
from tb_debugger_plugin.capture.steps import Steps
from tb_debugger_plugin.errors import RecordingError
from tb_debugger_plugin.events.messages import DebugEvent, Execution
from tb_debugger_plugin.events.modes import TensorDebugMode

#: What TensorFlow runs when Python drops an object, at any place in the program, and what recorders run.
_NOT_THE_PROGRAMS = frozenset(("DestroyResourceOp", "DebugNumericSummaryV2", "DebugIdentityV2"))
#: Prefixes are kept by op and stack; a program that never calls from the same place twice must not fill
#: memory.
_MAX_PREFIXES = 50_000
#: An encoded TensorProto that says nothing, so that the outputs after it keep their positions.
_NOT_WATCHED = b""


class EagerOps:
    """Records the executions of one recording. Thread-safe.

    Args:
      options: What to record.
      sink: Takes executions and `graphs` records.
      frames: Turns the running stack into ids.
      graphs: Knows which graph a function runs.
      steps: Knows whether the step that runs is recorded.
      host: Name of this host.
    """

    def __init__(
        self, options: Options, sink: Sink, frames: Frames, graphs: Graphs, steps: Steps, host: str
    ) -> None:
        self._options = options
        self._sink = sink
        self._frames = frames
        self._graphs = graphs
        self._steps = steps
        self._host = host
        self._prefixes: dict[tuple[str, int, tuple[str, ...]], bytes] = {}
        self._devices: dict[str, int] = {}
        self._devices_lock = threading.Lock()  # guards the numbering of devices
        self._wanted: dict[tuple[str, int], bool] = {}

    def on_op(self, op_type: str | bytes, inputs: Sequence[Any], outputs: Sequence[Any] | None) -> None:
        """Record an op that has just finished.

        Args:
          op_type: The op's type, or a function's name.
          inputs: Its eager tensors.
          outputs: Its eager tensors.

        Raises:
          RecordingError: Recording has stopped by itself.
        """
        if not self._steps.wanted:
            return
        name = op_type.decode() if isinstance(op_type, bytes) else op_type
        if name in _NOT_THE_PROGRAMS:
            return
        outputs = outputs or ()
        location = self._frames.current(sys._getframe(2))
        goes_on = self._sink.execution(
            self._prefix(name, len(outputs), location),
            tuple([tensor._id for tensor in inputs]),
            tuple([tensor._id for tensor in outputs]),
            tuple([self._device(tensor.device) for tensor in outputs]),
            self._summaries(name, outputs),
        )
        if not goes_on:
            raise RecordingError(self._sink.failure())

    def _prefix(self, name: str, num_outputs: int, location: tuple[str, ...]) -> bytes:
        key = (name, num_outputs, location)
        prefix = self._prefixes.get(key)
        if prefix is None:
            if len(self._prefixes) >= _MAX_PREFIXES:
                self._prefixes.clear()
            prefix = self._prefixes[key] = self._encode_prefix(*key)
        return prefix

    def _encode_prefix(self, name: str, num_outputs: int, location: tuple[str, ...]) -> bytes:
        execution = Execution(
            op_type=name,
            num_outputs=num_outputs,
            graph_id=self._graphs.id_of_function(name),
            tensor_debug_mode=int(self._options.mode),
        )
        execution.code_location.host_name = self._host
        execution.code_location.stack_frame_ids.extend(location)
        return bytes(execution.SerializeToString())

    def _summaries(self, name: str, outputs: Sequence[Any]) -> tuple[bytes, ...]:
        protos = tuple([self._summary(name, tensor) for tensor in outputs])
        return protos if any(protos) else ()

    def _summary(self, name: str, tensor: Any) -> bytes:
        dtype = tensor._datatype_enum()
        wanted = self._wanted.get((name, dtype))
        if wanted is None:
            functions = (name,) if self._graphs.id_of_function(name) else ()
            wanted = self._options.wants(name, tf.as_dtype(dtype), functions=functions)
            self._wanted[name, dtype] = wanted
        if not wanted:
            return _NOT_WATCHED
        # A tensor makes the name of its device each time that it is asked for it.
        if placement.has_other_devices() and placement.may_be_elsewhere(tensor.device):
            return self._summary_from_elsewhere(tensor, dtype)
        return self._sink.eager_summary(tensor, dtype)

    def _summary_from_elsewhere(self, tensor: Any, dtype: int) -> bytes:
        mode = self._options.mode
        if mode is TensorDebugMode.NO_TENSOR:
            return self._sink.summary(np.empty(0, np.float32), tf.float32.as_datatype_enum)
        if placement.reduced_mode(mode, tensor.dtype) is mode:
            return self._sink.reduced_summary(placement.reduce_there(tensor, mode))
        return self._sink.eager_summary(tensor, dtype)

    def _device(self, name: str) -> int:
        number = self._devices.get(name)
        return self._add_device(name) if number is None else number

    def _add_device(self, name: str) -> int:
        with self._devices_lock:
            if name not in self._devices:
                event = DebugEvent()
                event.debugged_device.device_name = name
                event.debugged_device.device_id = len(self._devices) + 1
                self._sink.write("graphs", event)
                self._devices[name] = len(self._devices) + 1
            return self._devices[name]
