"""Finds the processes that a test run has started, also those whose parents have ended, and ends them.

They are known by a variable of their environment, which `/proc` shows; of a process that was only forked it
shows none, so that one is known by its parent. Where there is no `/proc`, none is found.

`python -m tests.support.processes MARK` waits until its standard input is closed, as it is when the test run
dies, and ends what is left then.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: Holds the mark of the test run, after those of the runs that it is a part of.
VARIABLE = "TB_DEBUGGER_TEST_RUN"

_PROC = Path("/proc")
_PAUSE_S = 0.05
#: What Python keeps for itself; they end with the process that they serve.
_OF_PYTHON = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")


@dataclass(frozen=True)
class Process:
    """One process.

    Attributes:
      pid: Its number.
      parent: That of its parent.
      command: Its command line, cut.
    """

    pid: int
    parent: int
    command: str

    def __str__(self) -> str:
        """Number and command line."""
        return f"{self.pid}: {self.command}"

    def kill(self) -> None:
        """End it, if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True)
class _Seen:
    """What `/proc` says of a process."""

    parent: int
    is_zombie: bool
    command: str
    marks: str


def _look_at(pid: int) -> _Seen | None:
    """One process; None when it has ended or is none of ours to look at."""
    folder = _PROC / str(pid)
    try:
        # The name, in parentheses, may hold anything.
        state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
        variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    marks = next((one for one in variables if one.startswith(f"{VARIABLE}=")), "")
    return _Seen(int(parent), state == b"Z", command, marks)


def is_running(pid: int) -> bool:
    """Whether a process has not ended."""
    found = _look_at(pid)
    return found is not None and not found.is_zombie


class Processes:
    """The processes that bear a mark, and those that this process and they have forked.

    Args:
      mark: A word that stands in :data:`VARIABLE` of their environment.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._foreign: set[int] = set()

    def running(self) -> dict[int, Process]:
        """Those that run now, without this one, by number."""
        numbers = {int(entry) for entry in os.listdir(_PROC) if entry.isdigit()} if _PROC.is_dir() else set()
        self._foreign &= numbers
        seen = {pid: found for pid in numbers - self._foreign if (found := _look_at(pid)) is not None}
        ours = {pid for pid, found in seen.items() if self._mark in found.marks}
        while forked := {pid for pid in seen.keys() - ours if seen[pid].parent in ours | {os.getpid()}}:
            ours |= forked
        self._foreign |= seen.keys() - ours
        return {
            pid: Process(pid, seen[pid].parent, seen[pid].command)
            for pid in sorted(ours - {os.getpid()})
            if not seen[pid].is_zombie and not any(name in seen[pid].command for name in _OF_PYTHON)
        }


def wait_until(holds: Callable[[], object], seconds: float) -> bool:
    """Wait until something holds, so many seconds at most; whether it does."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


def main() -> None:
    """Wait for the end of the test run, then end what it left."""
    sys.stdin.read()
    for process in Processes(sys.argv[1]).running().values():
        process.kill()


if __name__ == "__main__":
    main()
