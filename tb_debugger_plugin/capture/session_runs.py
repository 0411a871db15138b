"""Writes the runs of TF1-style sessions: what each asked for and on which line, and when it began and ended.

Takes each run from the hooks of sessions. If the program profiled the run, the times of its ops are written,
too.

Invariant: runs that ask for the same with the same stack share one record of it, which comes before them.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import weakref
from collections.abc import Hashable, Iterator
from typing import Final

from tensorflow.core.framework.step_stats_pb2 import NodeExecStats, StepStats
from tensorflow.core.protobuf import config_pb2

from tb_debugger_plugin.capture.hooks.sessions import SessionRan, run_metadata
from tb_debugger_plugin.capture.sinks.protocol import STOPPED, Sink
from tb_debugger_plugin.capture.stacks.frames import StackFrames
from tb_debugger_plugin.capture.tf_types import TfSession
from tb_debugger_plugin.capture.thread_numbers import ThreadNumbers
from tb_debugger_plugin.errors import RecordingError
from tb_debugger_plugin.events.messages import DebugEvent, Message, SessionRequest, SessionRun

#: Requests of a session that are found without being described again.
_MOST_CACHED: Final = 1000
#: Requests that are described: runs that all differ must not fill the file of graphs.
_MOST_REQUESTS: Final = 10_000
_MAX_ERROR: Final = 1000
#: Ops of one record of times.
_OPS_AT_ONCE: Final = 1000


class _Session:
    """A session of the program. Lives as long as the program's object.

    Attributes:
      number: Its number in the recording.
      runs: Numbers its runs.
      requests: The encoded `SessionRun` of a request, stack and thread, without the fields of one run. The
        keys have ids of tensors and ops; the values also hold these objects, so that no other object gets the
        id.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.runs = itertools.count(1)
        self.requests: dict[Hashable, tuple[bytes, object]] = {}


class SessionRuns:
    """The runs of one recording. Thread-safe.

    Args:
      sink: Takes the records.
      frames: Writes the stacks.
      threads: Returns the number of the running thread.
      own_scope: Names of our own ops begin with it.
    """

    def __init__(self, sink: Sink, frames: StackFrames, threads: ThreadNumbers, own_scope: str) -> None:
        self._sink = sink
        self._frames = frames
        self._threads = threads
        self._own_scope = own_scope
        self._lock = threading.Lock()  # guards the following fields, and the order of records
        self._sessions: weakref.WeakKeyDictionary[TfSession, _Session] = weakref.WeakKeyDictionary()
        self._num_sessions = 0
        self._requests: dict[bytes, int] = {}

    def number(self, made: TfSession) -> int:
        """Return the number of a run of a session that has just ended, which no other run gets."""
        session = self._sessions.get(made) or self._add_session(made)
        return next(session.runs)

    def add(self, ran: SessionRan, number: int) -> int:
        """Write a run that has ended.

        Args:
          ran: The run.
          number: Its number.

        Returns:
          The number of a ring of the alarm, or 0.
        """
        session = self._sessions.get(ran.session) or self._add_session(ran.session)
        prefix = self._prefix_of(session, ran)
        if ran.error is not None:
            error = f"{type(ran.error).__name__}: {ran.error}"[:_MAX_ERROR]
            prefix += SessionRun(error=error).SerializeToString()
        rang = self._sink.session_run(prefix, number, ran.begin)
        if rang == STOPPED:
            raise RecordingError(self._sink.failure())
        if ran.metadata is not None:  # after the run, whose end is the time at which it is written
            self._add_op_times(ran, session.number, number)
        return rang

    def _add_op_times(self, ran: SessionRan, session: int, run: int) -> None:
        stats = config_pb2.RunMetadata.FromString(run_metadata(ran)).step_stats
        for event in op_times(stats, session, run, own_scope=self._own_scope):
            self._sink.about_session_run(event.SerializeToString())

    def _add_session(self, made: TfSession) -> _Session:
        with self._lock:
            session = self._sessions.get(made)
            if session is None:
                self._num_sessions += 1
                session = self._sessions[made] = _Session(self._num_sessions)
            return session

    def _prefix_of(self, session: _Session, ran: SessionRan) -> bytes:
        feeds = ran.feeds
        thread = self._threads.current()
        frame = sys._getframe()
        key = (
            thread,
            self._frames.key(frame),
            *map(id, ran.fetches),
            None,
            *map(id, ran.targets),
            *((id(ref.deref()), value.shape) for ref, value in feeds.items()),
        )
        known = session.requests.get(key)
        if known is None:
            request = _request(ran)
            location = self._frames.code_location(self._frames.current(frame))
            request.code_location.MergeFromString(location)
            with self._lock:
                number = self._describe(request)
            run = SessionRun(session=session.number, request=number, thread_id=thread)
            if len(session.requests) >= _MOST_CACHED:
                session.requests.clear()
            held = (ran.fetches, ran.targets, list(feeds))
            known = session.requests[key] = run.SerializeToString(), held
        return known[0]

    def _describe(self, request: Message) -> int:
        key = request.SerializeToString()
        number = self._requests.get(key)
        if number is None:
            if len(self._requests) >= _MOST_REQUESTS:
                return 0
            number = self._requests[key] = request.number = len(self._requests) + 1
            self._sink.write("graphs", DebugEvent(session_request=request))
        return number


def _request(ran: SessionRan) -> Message:
    request = SessionRequest(
        fetches=[tensor.name for tensor in ran.fetches], targets=[op.name for op in ran.targets]
    )
    for ref, value in ran.feeds.items():
        tensor = ref.deref()
        request.feeds.add(name=tensor.name, dtype=tensor.dtype.as_datatype_enum, dims=value.shape)
    return request


def op_times(stats: StepStats, session: int, run: int, *, own_scope: str | None = None) -> Iterator[Message]:
    """Yield the records of the times of ops.

    Args:
      stats: The ``StepStats`` of the run.
      session: The number of the session.
      run: The number of the run in the session.
      own_scope: Ops whose names begin so are left out; None = none.
    """
    for device in stats.dev_stats:
        nodes = [
            node for node in device.node_stats if not (own_scope and node.node_name.startswith(own_scope))
        ]
        nodes.sort(key=lambda node: node.all_start_micros)
        for begin in range(0, len(nodes), _OPS_AT_ONCE):
            yield _op_times(device.device, nodes[begin : begin + _OPS_AT_ONCE], session, run)


def _op_times(device: str, nodes: list[NodeExecStats], session: int, run: int) -> Message:
    event = DebugEvent(wall_time=time.time())
    times = event.op_times
    times.session, times.run, times.device_name = session, run, device
    times.op_names.extend(node.node_name for node in nodes)
    times.start_micros.extend(node.all_start_micros for node in nodes)
    times.op_start_micros.extend(node.op_start_rel_micros for node in nodes)
    times.op_micros.extend(node.op_end_rel_micros - node.op_start_rel_micros for node in nodes)
    times.all_micros.extend(node.all_end_rel_micros for node in nodes)
    return event
