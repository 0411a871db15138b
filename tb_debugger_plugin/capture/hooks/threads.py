"""Adds an op callback to every thread.

TensorFlow keeps op callbacks per thread. This module adds a callback to each thread when the thread runs its
first eager op or calls its first function. TensorFlow has one Python function for each of the two, and looks
it up in a module at every call.

Invariant: after `remove()` both functions are TensorFlow's own again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tensorflow.python.eager import context, execute

from tb_debugger_plugin.capture.hooks.hook import EXECUTE, FAST_PATH, Hook


class EveryThread:
    """Keeps a callback in every thread that runs eager ops, from now until `remove()`.

    Args:
      callback: An op callback of TensorFlow: `(op_type, inputs, attrs, outputs, op_name, graph)`. It returns
        `callback_result(outputs)`.
      translated: Takes the exception of an op or function that failed, and returns the one that the program
        gets, often the same.
    """

    def __init__(
        self, callback: Callable[..., Any], translated: Callable[[Exception], BaseException] | None = None
    ) -> None:
        self._translated = translated or (lambda error: error)
        self._callback = callback
        self._thread = threading.local()
        self._add_callback()
        # Every eager op passes here, so the original has a name of its own.
        self._run_op = FAST_PATH.get()
        self._fast = Hook(FAST_PATH, self._fast_path)
        self._slow = Hook(EXECUTE, self._slow_path)
        self._fast.install()
        self._slow.install()

    def remove(self) -> None:
        """Remove the callback from this thread. It leaves each other thread at the thread's next op."""
        self._fast.remove()
        self.leave_this_thread()
        # Other tools may have added or removed op callbacks, so choose the function as TensorFlow does.
        if self._slow.is_installed or execute.execute is execute.execute_with_callbacks:
            others = context.context().op_callbacks
            execute.execute = execute.execute_with_callbacks if others else execute.quick_execute

    def leave_this_thread(self) -> None:
        """Remove the callback from the running thread."""
        callbacks = context.context().op_callbacks
        if self._callback in callbacks:
            callbacks.remove(self._callback)

    def callback_result(self, outputs: Any) -> Any:
        """The value that the callback returns: the outputs for the next callback and the program.

        Args:
          outputs: The outputs of the op.
        """
        # The last callback returns None: otherwise a program that expects a list would get a tuple.
        callbacks = context.context().op_callbacks  # without ours, if the recording has just ended
        return None if not callbacks or callbacks[-1] == self._callback else outputs

    def _add_callback(self) -> None:
        callbacks = context.context().op_callbacks
        if self._callback not in callbacks:
            # First: a callback after that of another tool may get no outputs.
            callbacks.insert(0, self._callback)
        self._thread.has_callback = True

    def _fast_path(self, *args: Any) -> Any:
        try:
            self._thread.has_callback  # noqa: B018 - missing until the thread has the callback
        except AttributeError:
            self._add_callback()
        try:
            return self._run_op(*args)
        except Exception as error:
            self._raise_other(error)
            raise

    def _slow_path(self, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(self._thread, "has_callback"):
            self._add_callback()
        try:
            return execute.execute_with_callbacks(*args, **kwargs)
        except Exception as error:
            self._raise_other(error)
            raise

    def _raise_other(self, error: Exception) -> None:
        other = self._translated(error)
        if other is not error:
            raise other from None
