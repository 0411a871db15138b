"""Checks the ops that Python runs one by one, as they finish.

An op that makes a bad value of good inputs is recorded as FULL_NUMERICS records it, once for each stack that
runs it. An op that had bad inputs is recorded if nothing bad is on record yet: it shows that the value came
in. Before it, the last good ops go on record, with the numbers of those outputs that the program still has,
and after it the ops that the thread runs next, which say what becomes of the value. All others are counted.
The results of functions that are not guarded are looked at in the same way. Of the ops that bring values in
(elements of data sets, checkpoints, assignments), the last bad ones are noted, and go on record when
something else is bad.

Invariant: what the guard itself runs is not looked at.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, ModuleType

import tensorflow as tf

from tb_debugger_plugin.capture.eager import INTERNAL_OPS, EagerOps, text_of
from tb_debugger_plugin.capture.graph.user_names import line_name
from tb_debugger_plugin.capture.sinks.protocol import OpCallback, Sink
from tb_debugger_plugin.capture.stacks.frames import StackFrames, is_library
from tb_debugger_plugin.capture.tf_types import EagerTensor

_log = logging.getLogger("tb_debugger_plugin")
#: Most stacks whose ops are recorded.
_MOST_SITES = 1000
#: How many bad ops are recorded with those before them. To find their tensors takes a tenth of a second.
_MOST_LOOKED_BEHIND = 16
#: How many ops are recorded after one that is bad.
_MOST_FOLLOWING = 200
#: How the names of our ops begin, and those of ops that only hand out what is harmless until an op takes it.
_OURS = "TbDebugger"
_HANDS_OUT = ("Optional", "Iterator", "Restore", "ReadVariableOp", "Identity")
#: Those that bring values in: elements of data sets, checkpoints, assignments.
_BRINGS_IN = ("Iterator", "Restore", "AssignVariableOp")
#: How the names of ops begin that change variables; the last ones are states of random numbers.
_CHANGES_VARIABLES = ("Assign", "Resource", "Rng", "Stateful")
#: The op that takes a value out of an optional, and the modules that take elements of distributed data sets
#: out so. Keras takes metrics out, which were made before.
_UNPACKS = "OptionalGetValue"
_DISTRIBUTED = "tensorflow.python.distribute."
#: How many of them are noted, with their tensors: the last ones.
_MOST_NOTED = 4
#: What these hold was not made by the op that reads it.
_HOLDERS = (tf.resource, tf.variant)


class GuardedOps:
    """Checks the eager ops of one recording. Thread-safe.

    Args:
      module: The native library.
      sink: Knows how many bad values are on record.
      frames: Identifies stacks.
      eager: Records an op.
      title: Returns what an op or function is in messages, by its name in the runtime; empty if it is not
        to be looked at.
      before_first: Called before an op is recorded that follows no other one; returns the number of a ring.

    Attributes:
      has_bad: Returns whether one of some tensors is bad.
      own_functions: Names of guarded copies, whose results their guards check.
      look_back: Called with the frame of an op that is bad, before it is recorded: functions may have left
        what it takes in variables.
    """

    def __init__(
        self,
        module: ModuleType,
        sink: Sink,
        frames: StackFrames,
        eager: EagerOps,
        title: Callable[[str], str],
        before_first: Callable[[], int],
    ) -> None:
        self.has_bad: Callable[[Sequence[EagerTensor]], bool] = module.has_bad
        self._sink = sink
        self._frames = frames
        self._eager = eager
        self._title = title
        self._before_first = before_first
        self._thread = threading.local()
        self.own_functions: set[str] = set()
        self._callback: OpCallback | None = None
        self._on_change: Callable[[EagerTensor], None] | None = None
        self.look_back: Callable[[FrameType], None] = lambda _: None
        self._looked_back: set[str | bytes] = set()
        self._num_looked_behind = 0
        self._lock = threading.Lock()  # guards the fields around it
        self._seen: set[tuple[str, Hashable]] = set()
        self._num_bad = 0
        self._noted: deque[Callable[[], int]] = deque(maxlen=_MOST_NOTED)

    def check_by(self, callback: OpCallback) -> None:
        """Let an op callback look at ops that follow no bad one, and handle those that are good."""
        self._eager.note_by(callback, self.own_functions, _CHANGES_VARIABLES)
        self._callback = callback

    def watch_changes(self, on_change: Callable[[EagerTensor], None]) -> None:
        """Call a function with the handle of each variable that Python changes from now on."""
        self._on_change = on_change
        if self._callback is not None:
            self._callback.notes_changes = True

    @contextmanager
    def ignored(self) -> Iterator[None]:
        """Look at nothing that this thread runs inside."""
        before = getattr(self._thread, "is_ignored", False)
        self._thread.is_ignored = True
        try:
            yield
        finally:
            self._thread.is_ignored = before

    def note_change(self, op_type: str | bytes, inputs: Sequence[EagerTensor]) -> None:
        """Note an op that may have changed a variable.

        Args:
          op_type: The op's type, or a function's name.
          inputs: Its inputs.
        """
        if self._on_change is None or getattr(self._thread, "is_ignored", False):
            return
        name = text_of(op_type)
        for handle in inputs if name.startswith(_CHANGES_VARIABLES) else ():
            if handle.dtype == tf.resource:
                self._on_change(handle)

    def note_good(
        self,
        op_type: str | bytes,
        inputs: Sequence[EagerTensor],
        outputs: Sequence[EagerTensor] | None,
        frame: FrameType,
    ) -> None:
        """Note an op that is good: it goes on record with the next bad one, if that comes soon.

        Args:
          op_type: The op's type, or a function's name.
          inputs: Its inputs.
          outputs: Its outputs.
          frame: The innermost frame that belongs to its stack.
        """
        if self.is_following or getattr(self._thread, "is_ignored", False):
            return
        try:
            self._eager.note(op_type, inputs, outputs or (), frame)
        except Exception as error:  # it is missing before a bad one
            _log.debug("An op cannot be noted:", exc_info=error)

    def before_bad(self, op_type: str | bytes, frame: FrameType) -> None:
        """Look back before an op is recorded that is bad, once for each type. This may raise what users want.

        Args:
          op_type: The op's type, or a function's name.
          frame: The innermost frame that belongs to its stack.
        """
        if op_type not in self._looked_back and not getattr(self._thread, "is_ignored", False):
            self._looked_back.add(op_type)  # a mask of infinities is made at each step
            self.look_back(frame)

    def on_op(
        self,
        op_type: str | bytes,
        inputs: Sequence[EagerTensor],
        outputs: Sequence[EagerTensor],
        frame: FrameType,
    ) -> int:
        """Record or count an op that has just finished, and that is bad or follows one.

        Args:
          op_type: The op's type, or a function's name.
          inputs: Its inputs.
          outputs: Its outputs.
          frame: The innermost frame that belongs to its stack.

        Returns:
          The number of a ring of the alarm, or 0.
        """
        if getattr(self._thread, "is_ignored", False):
            return 0
        name = text_of(op_type)
        title = "" if name in INTERNAL_OPS or name.startswith(_OURS) else self._title(name)
        if not title:
            return 0
        rang = 0
        if self._follows():
            with self._lock:
                self._num_bad += self.has_bad(outputs)
        else:
            if not outputs or name.startswith(_HANDS_OUT):
                if _brings_in(name, frame) and self.has_bad(outputs or inputs):
                    self._noted.append(self._eager.later(op_type, inputs, outputs, frame))
                return 0
            if not self._is_news(name, inputs, outputs, frame):
                return 0
            self._record_noted_good()  # first: they were before what brings values in, which is written now
            rang = self._before_first()
            _log.warning(
                "%s%s has an infinity or NaN, and is on record. Further ones there are counted.",
                *(title, _line_of(frame)),
            )
            self._begin_to_follow()
        later = self._eager.on_op(op_type, inputs, outputs, frame)
        return rang or later

    def record_noted(self) -> int:
        """Record the ops that have brought bad values in; return the number of the first ring, or 0."""
        first = 0
        while self._noted:
            try:
                record = self._noted.popleft()
            except IndexError:  # another thread has taken it
                break
            rang = record()
            first = first or (rang if rang > 0 else 0)
        return first

    def _record_noted_good(self) -> None:
        if self._num_looked_behind < _MOST_LOOKED_BEHIND:
            self._num_looked_behind += 1
            try:
                self._eager.record_noted()
            except Exception as error:  # the bad op is recorded without them
                _log.debug("Ops before a bad one cannot be recorded:", exc_info=error)

    def _begin_to_follow(self) -> None:
        self._thread.num_left = _MOST_FOLLOWING
        if self._callback is not None:
            self._callback.follow(True)

    @property
    def is_following(self) -> bool:
        """Whether this thread runs what follows a bad op."""
        return getattr(self._thread, "num_left", 0) > 0

    def _follows(self) -> bool:
        left = getattr(self._thread, "num_left", 0)
        if left:
            self._thread.num_left = left - 1
            if left == 1 and self._callback is not None:
                self._callback.follow(False)
        return left > 0

    def _is_news(
        self, name: str, inputs: Sequence[EagerTensor], outputs: Sequence[EagerTensor], frame: FrameType
    ) -> bool:
        """Whether an op is to be recorded; if not, it is counted if it is bad."""
        if not self.has_bad(outputs):
            return False  # another thread follows a bad op
        came_in = any(one.dtype in _HOLDERS for one in inputs) or self.has_bad(inputs)
        site = name, self._frames.key(frame)
        with self._lock:
            self._num_bad += 1
            if site in self._seen or len(self._seen) >= _MOST_SITES or (came_in and self._sink.num_bad()):
                return False
            self._seen.add(site)
            return True

    def end(self) -> None:
        """Hold nothing any more, and say how many ops were bad, if any was."""
        self._noted.clear()
        with self._lock:
            num_bad, num_recorded = self._num_bad, len(self._seen)
        if num_bad:
            ops = "1 op" if num_bad == 1 else f"{num_bad:,} ops"
            _log.warning(
                "GUARD saw an infinity or NaN in %s that Python ran; %s on record, with what followed.",
                *(ops, f"the first of {num_recorded} stacks are" if num_recorded > 1 else "the first is"),
            )


def _brings_in(name: str, frame: FrameType | None) -> bool:
    """Whether an op brings values in."""
    if name != _UNPACKS:
        return name.startswith(_BRINGS_IN)
    while frame is not None and is_library(frame.f_code.co_filename):
        if str(frame.f_globals.get("__name__")).startswith(_DISTRIBUTED):
            return True
        frame = frame.f_back
    return False


def _line_of(frame: FrameType | None) -> str:
    """Return the line of the program that a frame was called from, in words; empty if there is none."""
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else f" at {line_name(frame.f_code.co_filename, frame.f_lineno)}"
