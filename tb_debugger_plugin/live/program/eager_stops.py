"""Stops a program before its first eager op and after any, and gives outputs other values."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np

from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.live.messages.messages import Pause
from tb_debugger_plugin.live.program.aims import Why
from tb_debugger_plugin.live.program.pauses import Pauses
from tb_debugger_plugin.live.program.sentences import before_op
from tb_debugger_plugin.live.program.status import Status, Stop
from tb_debugger_plugin.live.program.tensors import EagerValue

if TYPE_CHECKING:
    from tb_debugger_plugin.capture.tf_types import EagerTensor, EagerTensors


class EagerAccess:
    """What is done with eager ops and their tensors: the only place where the controller needs TensorFlow."""

    def is_op(self, op_type: str) -> bool:
        """Return whether a name is that of an op, and not of a function."""
        return _is_op(op_type)

    def place(self, frame: FrameType) -> tuple[str, int]:
        """Return path and line of the program in a running stack; empty and 0 if there is none."""
        from tb_debugger_plugin.capture.stacks.frames import user_place

        return user_place(frame)

    def lines(self, frame: FrameType) -> list[RunningLine]:
        """Return the lines of the program in a running stack, innermost first."""
        from tb_debugger_plugin.capture.stacks.frames import running_lines

        return list(running_lines(frame))

    def read(self, tensor: EagerTensor) -> Array:
        """Return the elements of an eager tensor; objects for strings.

        Raises:
          TypeError: It has none: a resource, or a variant.
        """
        return np.asarray(tensor._numpy_internal())

    def make(self, array: Array, like: EagerTensor) -> EagerTensor:
        """Return an eager tensor of the dtype, and on the device, of another one."""
        import tensorflow as tf

        with tf.device(like.device):
            made: EagerTensor = tf.constant(array, dtype=like.dtype)
            return made


@functools.lru_cache(maxsize=4096)
def _is_op(op_type: str) -> bool:
    from tensorflow.python.framework import op_def_registry

    return op_def_registry.get(op_type) is not None


class EagerStops:
    """Stops one program at eager ops.

    Args:
      status: The status of the program.
      pauses: Its pauses.
      ops: What is done with the ops and their tensors.
    """

    def __init__(self, status: Status, pauses: Pauses, ops: EagerAccess) -> None:
        self._status = status
        self._pauses = pauses
        self._ops = ops
        #: The line at which the program stopped last: *step over* leaves it, where the program makes no
        #: call. A line that runs many ops, in a library or in a loop of one line, is left as a whole.
        self._last_line = ("", 0)

    def before_first(self, op_type: str, frame: FrameType) -> None:
        """Take the first eager op of a program that is to wait there; may block.

        Args:
          op_type: Its type, or the name of a function.
          frame: The frame below which the program makes it.
        """
        status = self._status
        path, line = self._ops.place(frame)
        with status.lock:
            if status.is_off or status.has_begun:
                return
            self._last_line = path, line
            why = Why(int(Pause.BEFORE_CALL))
            sentence = before_op(op_type, path, line)
            self._pauses.begin(why, Stop(), sentence=sentence, place=(path, line))
        self._pauses.stay()

    def after_op(
        self, op_type: str, inputs: EagerTensors, outputs: EagerTensors, frame: FrameType
    ) -> EagerTensors | None:
        """Take an eager op that has run; may block.

        Args:
          op_type: Its type, or the name of a function.
          inputs: Its inputs.
          outputs: Its outputs.
          frame: The frame below which the program made it.

        Returns:
          Other outputs, or None.
        """
        status = self._status
        self._pauses.end_if_told()
        if status.is_off or not outputs or not self._ops.is_op(op_type):
            return None
        path, line = self._ops.place(frame)
        with status.lock:
            self._pauses.wait()
            if not status.may_stop:
                return None
            entries = status.add_eager(op_type, outputs, path, line)
            self._follow(entries)
            lines = self._ops.lines(frame) if status.aims.looks_at_lines else ()
            found = self._why(entries, lines, inputs) or self._why_line(entries, path, line)
            if found is None:
                return None
            self._last_line = path, line
            entry, why = found
            stop = self._pauses.begin(why, Stop(eager=entry), status.tensors.message_of_eager(entry))
        self._pauses.stay()
        return self._changed_outputs(stop, outputs)

    def _follow(self, entries: Sequence[EagerValue]) -> None:
        status = self._status
        for entry in entries if status.aims.watched else ():
            numbers = partial(status.tensors.eager_numbers, entry)
            status.aims.watched.add_eager(entry.place, numbers, status.tensors.call, status.clock.wall())

    def _why(
        self, entries: Sequence[EagerValue], lines: Sequence[RunningLine], inputs: EagerTensors
    ) -> tuple[EagerValue, Why] | None:
        status = self._status
        for entry in entries:
            numbers = partial(status.tensors.eager_numbers, entry)
            of_inputs = partial(map, status.tensors.numbers_of_eager, inputs)
            asks = status.asks_of(partial(status.tensors.message_of_eager, entry), status.tensors.call)
            why = status.aims.why_eager(entry.place, numbers, lines, of_inputs, asks)
            if why is not None:
                return entry, why
        return None

    def _why_line(self, entries: Sequence[EagerValue], path: str, line: int) -> tuple[EagerValue, Why] | None:
        """Why a program stops at a line: it has made no call that it could be stepped over to."""
        status = self._status
        if not entries or status.call is not None or not status.aims.order.at_next_call:
            return None
        is_next = path and (path, line) != self._last_line
        return (entries[0], Why(status.aims.order.reason)) if is_next else None

    def _changed_outputs(self, stop: Stop, outputs: EagerTensors) -> EagerTensors | None:
        if stop.eager is None or stop.changed is None:
            return None
        slot = stop.eager.place.slot
        changed = self._ops.make(stop.changed, outputs[slot])
        with self._status.lock:
            stop.eager.tensor = changed
        return [*outputs[:slot], changed, *outputs[slot + 1 :]]
