"""Judges the runs that nobody has opened, in a process of its own, so that their verdicts are in the list.

The viewer offers the runs without a verdict each time a page asks for the list. A thread takes them one by
one, those that started last first, and sends each to the process, which makes its tables and keeps the
verdict beside them (`analysis/verdict.py`). The process starts with the first run, and ends when none is
left, when no page has asked for a minute, or with the viewer.

Not judged are runs that are elsewhere, and those whose files have changed in the last minute: a program still
writes them. A run that makes the process fail is not tried again until its files change.

Invariants: whoever opens a run finds its tables free, because the process is ended first; the process takes
only time that nobody else wants, of one processor.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal, TypeAlias

from tb_debugger_plugin.analysis.snapshot import open_snapshot
from tb_debugger_plugin.analysis.verdict import KeptVerdicts, RunVerdict, verdict
from tb_debugger_plugin.index.cache import database_path, is_in_use, not_used
from tb_debugger_plugin.index.loader import RunLoader, Signature, files_signature
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.index.workers import start_process

_logger = logging.getLogger(__name__)

#: Set to 0, it leaves runs that nobody opens alone.
JUDGE_VARIABLE: Final = "TB_DEBUGGER_JUDGE"

#: Seconds after which a page that has not asked for the list of runs is gone.
_LOOK_SECONDS: Final = 60.0
#: Seconds without a change after which nobody is taken to write a file any more.
_QUIET_SECONDS: Final = 60.0
#: Seconds after its last question in which a run is not judged; its loader rests by then.
_ASKED_SECONDS: Final = 90.0
#: Seconds of a processor that a run may take, and seconds by the clock: the process may have to wait long.
_PROCESSOR_SECONDS: Final = 300
_CLOCK_SECONDS: Final = 3600.0
_END_SECONDS: Final = 10.0
#: The largest value: if memory is short, the system ends this process before any other.
_FIRST_TO_GO: Final = "1000"

JudgeState: TypeAlias = Literal["judged", "judging", "failed", "unread"]


@dataclass(frozen=True)
class Reply:
    """What has become of a run.

    Attributes:
      verdict: The verdict; None if there is none.
      failure: Why not, in a sentence; empty if somebody else has the tables.
    """

    verdict: RunVerdict | None = None
    failure: str = ""


class Judge:
    """Judges runs in the background; lives as long as the viewer.

    Args:
      kept: Receives the verdicts.
      clock: Returns monotonic seconds.
      limit: Seconds by the clock that a run may take.
    """

    def __init__(
        self,
        kept: KeptVerdicts,
        *,
        clock: Callable[[], float] = time.monotonic,
        limit: float = _CLOCK_SECONDS,
    ) -> None:
        self._kept = kept
        self._clock = clock
        self._limit = limit
        # A system without these priorities has no process that gives way.
        self._is_off = os.environ.get(JUDGE_VARIABLE, "") == "0" or not hasattr(os, "setpriority")
        self._lock = threading.Lock()  # guards the fields below
        self._queue: list[FoundRun] = []
        self._offered = float("-inf")
        self._asked: dict[str, float] = {}
        self._put_back: set[str] = set()
        self._done: dict[str, Signature] = {}
        self._failed: dict[str, Signature] = {}
        self._current: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def offer(self, runs: Iterable[FoundRun]) -> None:
        """Judge runs, in place of those that were offered before.

        Args:
          runs: The runs without a verdict that nobody has opened.
        """
        offered = list(runs)  # without the lock: who makes the list may take others
        with self._lock:
            if self._closed or self._is_off:
                return
            self._offered = self._clock()
            waiting = [run for run in offered if run.name != self._current]
            self._queue = sorted(waiting, key=lambda run: (run.name in self._put_back, -run.start_time))
            if self._queue and self._thread is None:
                self._thread = threading.Thread(target=self._work, name="tb-debugger-judge", daemon=True)
                self._thread.start()

    def state(self, run: FoundRun) -> JudgeState:
        """Return the state of a run without a verdict."""
        with self._lock:
            if run.name == self._current:
                return "judging"
            return "failed" if run.name in self._failed else "unread"

    def make_way(self, run: FoundRun) -> None:
        """Let go of a run that somebody opens; it is judged last, if it is still to be judged then."""
        with self._lock:
            self._asked[run.name] = self._clock()
            if run.name == self._current:
                self._put_back.add(run.name)
                self._current = None
                self._end_process()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._closed = True
            self._current = None
            self._end_process()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _end_process(self) -> None:
        """End the process, if there is one; the caller holds the lock."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()  # what it has committed stays
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()

    def _work(self) -> None:
        while (run := self._next()) is not None:
            with contextlib.suppress(OSError):  # a folder may go at any time
                files = files_signature(run)
                if self._is_due(run, files):
                    self._judge(run, files)

    def _next(self) -> FoundRun | None:
        """Return the next run; None if the thread has to end, which is then already forgotten."""
        with self._lock:
            is_watched = self._clock() - self._offered < _LOOK_SECONDS
            if self._queue and is_watched and not self._closed:
                return self._queue.pop(0)
            self._thread = None
            self._end_process()
            return None

    def _is_due(self, run: FoundRun, files: Signature) -> bool:
        if not isinstance(run.folder, Path) or not files:
            return False
        age = time.time() - max(changed for _, changed, *_ in files) / 1e9
        with self._lock:
            is_tried = files in (self._done.get(run.name), self._failed.get(run.name))
        return not is_tried and not 0 <= age < _QUIET_SECONDS

    def _judge(self, run: FoundRun, files: Signature) -> None:
        with self._lock:
            was_asked = self._clock() - self._asked.get(run.name, float("-inf")) < _ASKED_SECONDS
            if was_asked or self._closed:
                return
            process = self._process = self._process or _started()
            self._current = run.name
        reply = _reply_of(process, run, self._limit)
        with self._lock:
            if self._current is None:  # somebody has opened the run
                return
            self._current = None
            if reply is None:
                self._end_process()
            self._note(run, files, reply or Reply(failure="its process ended"))

    def _note(self, run: FoundRun, files: Signature, reply: Reply) -> None:
        self._failed.pop(run.name, None)
        if reply.failure:
            self._failed[run.name] = files
            _logger.info("The run %r was not judged: %s", run.name, reply.failure)
        elif reply.verdict is None:
            self._put_back.add(run.name)
        else:
            self._done[run.name] = files
            self._kept.find(run)  # now, because its tables may make room for those of the next run


def _started() -> subprocess.Popen[bytes]:
    # Not in a session of its own: Linux gives each session an equal share, however nice its processes are.
    process = start_process(work, stderr=subprocess.DEVNULL)
    give_way(process.pid)
    return process


def give_way(pid: int) -> None:
    """Let a process that has just started have only what nobody else wants, of one processor."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)
        Path(f"/proc/{pid}/oom_score_adj").write_text(_FIRST_TO_GO, "ascii")
    if hasattr(os, "SCHED_IDLE"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
            os.sched_setaffinity(pid, {max(os.sched_getaffinity(0))})


def _reply_of(process: subprocess.Popen[bytes], run: FoundRun, limit: float) -> Reply | None:
    """Return the reply of the process to a run; None if it ends instead, or does not reply in time."""
    assert process.stdin is not None and process.stdout is not None
    timer = threading.Timer(limit, process.kill)
    timer.start()
    try:
        pickle.dump(run, process.stdin)
        process.stdin.flush()
        reply: Reply = pickle.load(process.stdout)
        return reply
    except (OSError, EOFError, ValueError, pickle.UnpicklingError):
        return None
    finally:
        timer.cancel()


def work(requests: BinaryIO, replies: BinaryIO) -> None:
    """Judge runs until there are no more; the main function of the process.

    Args:
      requests: A stream of pickled runs. Its end ends the process at once.
      replies: Receives pickled :class:`Reply` objects.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the viewer, and with it this process
    runs: queue.Queue[FoundRun] = queue.Queue()
    threading.Thread(target=_receive, args=(requests, runs), name="tb-debugger-runs", daemon=True).start()
    while True:
        pickle.dump(_reply_to(runs.get()), replies)
        replies.flush()


def _receive(requests: BinaryIO, runs: queue.Queue[FoundRun]) -> None:
    try:
        while True:
            runs.put(pickle.load(requests))
    finally:
        os._exit(0)


def _reply_to(run: FoundRun) -> Reply:
    import resource  # Windows, where the viewer may run, has none

    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    limit = int(used.ru_utime + used.ru_stime) + _PROCESSOR_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (limit if most < 0 else min(limit, most), most))
    path = database_path(run)
    if is_in_use(path):
        return Reply()
    loader = RunLoader(run)
    try:
        with not_used(path), contextlib.closing(loader):
            loader.wait(_CLOCK_SECONDS)
            with open_snapshot(loader) as snapshot:
                return Reply(verdict(snapshot))
    except Exception as error:
        return Reply(failure=f"{type(error).__name__}: {error}")
