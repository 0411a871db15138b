"""Finds the processes that a test run has started, also those whose parents have ended, and ends them.

It identifies them by a variable of their environment, which `/proc` shows. For a process that was only
forked, `/proc` does not show it, so its parent identifies it. Without `/proc` no process is found.

`python -m tests.support.processes MARK` waits until its standard input is closed, which happens when the test
run dies, and then ends the remaining processes.
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

#: The variable that holds the mark of the test run, after the marks of the runs that contain it.
VARIABLE = "TB_DEBUGGER_TEST_RUN"

_PROC = Path("/proc")
_PAUSE_S = 0.05
#: Helper processes of Python, which end with the process that they serve.
_OF_PYTHON = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")


@dataclass(frozen=True)
class Process:
    """One process.

    Attributes:
      pid: Its number.
      parent: Number of its parent.
      command: Its command line, shortened.
    """

    pid: int
    parent: int
    command: str

    def __str__(self) -> str:
        """Returns the number and the command line."""
        return f"{self.pid}: {self.command}"

    def kill(self) -> None:
        """End the process, if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True)
class _Seen:
    """The data of a process in `/proc`."""

    parent: int
    is_zombie: bool
    command: str
    marks: str


def _look_at(pid: int) -> _Seen | None:
    """Reads the data of one process; None if it has ended or may not be read."""
    folder = _PROC / str(pid)
    try:
        # The name, in parentheses, may contain any characters.
        state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
        variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    marks = next((one for one in variables if one.startswith(f"{VARIABLE}=")), "")
    return _Seen(int(parent), state == b"Z", command, marks)


def is_running(pid: int) -> bool:
    """Whether a process has not ended."""
    actual = _look_at(pid)
    return actual is not None and not actual.is_zombie


class Processes:
    """The processes with a mark, and those that they or this process have forked.

    Args:
      mark: A word that :data:`VARIABLE` contains in their environment.
    """

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._foreign: set[int] = set()

    def running(self) -> dict[int, Process]:
        """Returns the processes that run now, without this one, by number."""
        numbers = {int(entry) for entry in os.listdir(_PROC) if entry.isdigit()} if _PROC.is_dir() else set()
        self._foreign &= numbers
        seen = {pid: actual for pid in numbers - self._foreign if (actual := _look_at(pid)) is not None}
        ours = {pid for pid, actual in seen.items() if self._mark in actual.marks}
        while forked := {pid for pid in seen.keys() - ours if seen[pid].parent in ours | {os.getpid()}}:
            ours |= forked
        self._foreign |= seen.keys() - ours
        return {
            pid: Process(pid, seen[pid].parent, seen[pid].command)
            for pid in sorted(ours - {os.getpid()})
            if not seen[pid].is_zombie and not any(name in seen[pid].command for name in _OF_PYTHON)
        }


def wait_until(holds: Callable[[], object], seconds: float) -> bool:
    """Wait until `holds` returns true, for at most `seconds`; returns whether it does."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


def main() -> None:
    """Wait for the end of the test run, then end its remaining processes."""
    sys.stdin.read()
    for process in Processes(sys.argv[1]).running().values():
        process.kill()


if __name__ == "__main__":
    main()
