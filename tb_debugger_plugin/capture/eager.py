"""Eager ops and calls of functions from Python, as they finish.

TensorFlow calls `EagerOps.on_op` after every eager op of the threads in which it is installed, with the op's
type, inputs and outputs. Each call writes one Execution record. Rule: a tensor that cannot be summarised
keeps its place in the record and does not end the recording.
"""

from __future__ import annotations

import functools
import logging
import sys
import threading
from collections.abc import Callable, Hashable, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.frames import Frames
from tb_debugger_plugin.capture.functions.unwatchable import without_graph
from tb_debugger_plugin.capture.graphs import Graphs
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.steps import Steps
from tb_debugger_plugin.errors import RecordingError, user_message
from tb_debugger_plugin.events.messages import DebugEvent, Execution
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

_log = logging.getLogger("tb_debugger_plugin")
#: What TensorFlow runs when Python drops an object, at any place in the program, and what recorders run.
_NOT_THE_PROGRAMS = frozenset(("DestroyResourceOp", "DebugNumericSummaryV2", "DebugIdentityV2"))
#: Places are kept by op and stack; a program that never calls from the same place twice must not fill memory.
_MAX_PLACES = 50_000


class _Made(dict[Any, int]):
    """A number or truth for each key, made when it is first asked for."""

    def __init__(self, make: Callable[[Any], int]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> int:
        number = self[key] = self._make(key)
        return number


class _Place(NamedTuple):
    """An op at one place of the program.

    Attributes:
      prefix: Encoded fields of its executions; empty when they are not recorded.
      wanted: By dtype, whether its outputs are recorded.
    """

    prefix: bytes
    wanted: _Made


class EagerOps:
    """Records the executions of one recording. Thread-safe.

    Args:
      options: What to record.
      sink: Takes executions and `graphs` records.
      frames: Turns the running stack into ids.
      graphs: Knows which graph a function runs.
      steps: Knows whether the step that runs is recorded.
      not_recorded: Takes the functions that nothing is known of.
      host: Name of this host.
      at_new_place: Is called when an op runs at a place where it has not run before. It may end the
        recording.
    """

    def __init__(
        self,
        options: Options,
        sink: Sink,
        frames: Frames,
        graphs: Graphs,
        steps: Steps,
        not_recorded: NotRecorded,
        host: str,
        *,
        at_new_place: Callable[[], None],
    ) -> None:
        self._at_new_place = at_new_place
        self._not_recorded = not_recorded
        self._options = options
        self._sink = sink
        self._frames = frames
        self._graphs = graphs
        self._steps = steps
        self._host = host
        self._places: dict[tuple[str | bytes, int, Hashable], _Place] = {}
        self._devices = _Made(self._add_device)
        self._devices_lock = threading.Lock()  # guards the numbering of devices

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
        outputs = outputs or ()
        frame = sys._getframe(2)
        key = op_type, len(outputs), self._frames.key(frame)
        place = self._places.get(key) or self._add_place(key, frame)
        if place.prefix and not self._sink.eager_op(
            place.prefix, inputs, outputs, self._devices, place.wanted, self._summary
        ):
            raise RecordingError(self._sink.failure())

    def _add_place(self, key: tuple[str | bytes, int, Hashable], frame: FrameType) -> _Place:
        self._at_new_place()
        op_type, num_outputs, _ = key
        name = op_type.decode() if isinstance(op_type, bytes) else op_type
        prefix = b""
        if name not in _NOT_THE_PROGRAMS:
            prefix = self._encode_prefix(name, num_outputs, self._frames.current(frame))
            if op_def_registry.get(name) is None and not self._graphs.id_of_function(name):
                self._not_recorded.say(without_graph([name]))
        if len(self._places) >= _MAX_PLACES:
            self._places.clear()
        place = self._places[key] = _Place(prefix, _Made(functools.partial(self._is_wanted, name)))
        return place

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

    def _is_wanted(self, name: str, dtype: int) -> bool:
        functions = (name,) if self._graphs.id_of_function(name) else ()
        return self._options.wants(name, tf.as_dtype(dtype), functions=functions)

    def _summary(self, tensor: Any) -> bytes:
        """The summary of a tensor that the sink cannot read where it is; empty when it cannot be made."""
        dtype = tensor._datatype_enum()
        try:
            if placement.may_be_elsewhere(tensor.device):
                return self._summary_from_elsewhere(tensor, dtype)
            return self._sink.summary(tensor._numpy_internal(), dtype)
        except Exception as error:  # whatever it is, the other tensors are still worth having
            self._leave_out(dtype, error)
            return b""

    def _summary_from_elsewhere(self, tensor: Any, dtype: int) -> bytes:
        mode = self._options.mode
        if mode is TensorDebugMode.NO_TENSOR:
            return self._sink.summary(np.empty(0, np.float32), tf.float32.as_datatype_enum)
        if placement.reduced_mode(mode, tensor.dtype) is mode:
            return self._sink.reduced_summary(placement.reduce_there(tensor, mode))
        return self._sink.summary(tensor._numpy_internal(), dtype)

    def _leave_out(self, dtype: int, error: Exception) -> None:
        """Say once for each dtype that a tensor is not recorded, in the log and in the recording."""
        _log.debug("What went wrong:", exc_info=error)
        kind = f"{tf.as_dtype(dtype).name} tensors that Python computes"
        sentence = f"The debugger does not record some {kind}: {user_message(error)}."
        self._not_recorded.say(Missing(NotRecordedReason.UNKNOWN, sentence, (kind,)))

    def _add_device(self, name: str) -> int:
        with self._devices_lock:
            if name not in self._devices:
                event = DebugEvent()
                event.debugged_device.device_name = name
                event.debugged_device.device_id = len(self._devices) + 1
                self._sink.write("graphs", event)
                self._devices[name] = len(self._devices) + 1
            return self._devices[name]
