"""Lines that wait for their turn, and what takes a while, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Job:
    """Work in a thread. A thread cannot be ended, but what comes of it can be left aside.

    Args:
      line: What it is, for the status line.

    Attributes:
      line: As given.
      is_dropped: Whether nobody waits for it any more. Long work looks at this.
      share: How much of it is done, from 0 to 1; None if it does not say.
    """

    def __init__(self, line: str) -> None:
        self.line = line
        self.is_dropped = False
        self.share: float | None = None
        self._begin = time.monotonic()

    def __str__(self) -> str:
        """Return what it is and how far it is."""
        done = "" if self.share is None else f", {self.share:.0%}"
        return f"… {self.line} ({time.monotonic() - self._begin:.0f} s{done})"


class Jobs:
    """One job at a time, and the lines that are run after it.

    Args:
      run: Runs a line; may start a job.
      call_later: Calls a function in the thread of the screen.
      ended: Called there after a job.
    """

    def __init__(
        self, run: Callable[[str], None], call_later: Callable[..., object], ended: Callable[[], None]
    ) -> None:
        self._run = run
        self._call_later = call_later
        self._ended = ended
        self._job: Job | None = None
        self._waiting: deque[str] = deque()

    @property
    def is_busy(self) -> bool:
        """Whether there is a job."""
        return self._job is not None

    @property
    def text(self) -> str:
        """What the job is and how far it is; empty without one."""
        return "" if self._job is None else str(self._job)

    def add(self, line: str) -> None:
        """Run a line, after those that wait."""
        self._waiting.append(line)
        self._run_waiting()

    def start(self, line: str, work: Callable[[Job], T], done: Callable[[T], None]) -> None:
        """Start a job.

        Args:
          line: What it is.
          work: Does it in a thread.
          done: Takes the result in the thread of the screen, unless the job is dropped before.
        """
        job = self._job = Job(line)
        # A daemon: leaving does not wait for it.
        threading.Thread(
            target=lambda: self._call_later(self._finish, job, work(job), done),
            name="tbdbg-command",
            daemon=True,
        ).start()

    def drop(self) -> bool:
        """Leave the job aside, and the lines that wait; return whether there was a job."""
        job, self._job = self._job, None
        if job is None:
            return False
        job.is_dropped = True
        self._waiting.clear()
        return True

    def _finish(self, job: Job, result: T, done: Callable[[T], None]) -> None:
        if not job.is_dropped:
            self._job = None
            done(result)
            self._ended()
            self._run_waiting()

    def _run_waiting(self) -> None:
        while self._waiting and not self.is_busy:
            self._run(self._waiting.popleft())
