"""Threads of the server, which end with the program and never keep it from ending.

The threads of Python's own pool are waited for when the interpreter ends; a debugger that follows a program
would keep it alive.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent import futures
from typing import Any, Final, TypeVar

_Result = TypeVar("_Result")
#: Seconds after which a thread without work ends.
_IDLE_S: Final = 10.0


class DaemonThreads(futures.ThreadPoolExecutor):
    """Runs functions in daemon threads, which are made when they are needed.

    gRPC wants a pool of Python's class, and calls only `submit` and `shutdown`.

    Args:
      most: Most threads at a time; what comes then waits.
      name: Name of each thread.
    """

    def __init__(self, most: int, name: str) -> None:
        super().__init__(1, name)  # it makes no thread before its own `submit`
        self._most = most
        self._name = name
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._counts = threading.Lock()  # guards the following fields
        self._num_threads = 0
        self._num_open = 0
        self._is_shut = False

    def submit(
        self, function: Callable[..., _Result], /, *args: Any, **kwargs: Any
    ) -> futures.Future[_Result]:
        """Run a function in a thread.

        Args:
          function: The function.
          *args: Its arguments.
          **kwargs: The same.

        Raises:
          RuntimeError: The pool is shut.
        """
        future: futures.Future[_Result] = futures.Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    result = function(*args, **kwargs)
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)

        with self._counts:
            if self._is_shut:
                raise RuntimeError("The threads of the debugger's server have ended.")
            self._num_open += 1
            needs_thread = self._num_open > self._num_threads and self._num_threads < self._most
            self._num_threads += needs_thread
        self._tasks.put(run)
        if needs_thread:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more functions; threads end when they have nothing left to do."""
        del wait, cancel_futures
        with self._counts:
            self._is_shut = True

    def _work(self) -> None:
        while True:
            try:
                run = self._tasks.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._counts:
                    if self._num_open < self._num_threads:
                        self._num_threads -= 1
                        return
                continue
            run()
            with self._counts:
                self._num_open -= 1
