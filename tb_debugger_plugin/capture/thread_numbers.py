"""Numbers the threads of the program, and writes the name of each once.

Invariant: the name of a thread is on record before any record that has its number.
"""

from __future__ import annotations

import threading
from typing import Final

from tb_debugger_plugin.capture.stacks.frames import EventWriter
from tb_debugger_plugin.events.messages import DebugEvent

#: Threads that get a number: a program that starts threads for ever must not fill the file of graphs.
_MOST_THREADS: Final = 10_000


class ThreadNumbers(threading.local):
    """The threads of one recording.

    An eager op takes microseconds, so it reads an attribute, which is missing until the thread has a number.

    Args:
      register: Numbers the threads.

    Attributes:
      number: Number of the running thread, from 1; 0 when there are too many. Missing until `add`.
    """

    number: int

    def __init__(self, register: Register) -> None:
        # A thread-local object calls this in each thread that uses it.
        self._register = register

    def add(self) -> int:
        """Give the running thread a number, and return it."""
        self.number = self._register.add_this_thread()
        return self.number

    def current(self) -> int:
        """Return the number of the running thread, which gets one if it has none."""
        return self.number if hasattr(self, "number") else self.add()


class Register:
    """Gives numbers to threads. Thread-safe.

    Args:
      writer: Takes `graphs` records.
    """

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer
        self._lock = threading.Lock()  # guards _count and the order of records
        self._count = 0

    def add_this_thread(self) -> int:
        """Write the name of the running thread; return its number, 0 when there are too many."""
        with self._lock:
            if self._count >= _MOST_THREADS:
                return 0
            event = DebugEvent()
            event.debugged_thread.thread_id = self._count + 1
            event.debugged_thread.thread_name = _name_of_this_thread()
            self._writer.write("graphs", event)
            self._count += 1
            return self._count


def _name_of_this_thread() -> str:
    # threading.current_thread() would make an object that stays, for a thread that Python has not started.
    ident = threading.get_ident()
    names = (thread.name for thread in threading.enumerate() if thread.ident == ident)
    return next(names, f"thread {threading.get_native_id()}")
