"""Op callbacks in every thread.

TensorFlow keeps op callbacks per thread. In comes one callback; it is added to each thread when that thread
runs its first eager op or calls its first function: both pass through one function each, which Python code
looks up in a module at every call. Rule: after `remove()` both are TensorFlow's own again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context, execute


class EveryThread:
    """Keeps a callback in every thread that runs eager ops, from now until `remove()`.

    Args:
      callback: As `tf.debugging`'s op callbacks: `(op_type, inputs, attrs, outputs, op_name, graph)`. It
        returns `passed_on(outputs)`.
    """

    def __init__(self, callback: Callable[..., Any]) -> None:
        self._callback = callback
        self._thread = threading.local()
        self._run_op = pywrap_tfe.TFE_Py_FastPathExecute
        self._join()
        pywrap_tfe.TFE_Py_FastPathExecute = self._fast_path
        execute.execute = self._slow_path

    def remove(self) -> None:
        """Take the callback out of this thread, and out of each other one when it next runs an op."""
        if pywrap_tfe.TFE_Py_FastPathExecute == self._fast_path:
            pywrap_tfe.TFE_Py_FastPathExecute = self._run_op
        self.leave_this_one()
        # Other tools with op callbacks may have come and gone before or after us: decide as TensorFlow does.
        if execute.execute in (self._slow_path, execute.execute_with_callbacks):
            others = context.context().op_callbacks
            execute.execute = execute.execute_with_callbacks if others else execute.quick_execute

    def leave_this_one(self) -> None:
        """Take the callback out of the running thread."""
        callbacks = context.context().op_callbacks
        if self._callback in callbacks:
            callbacks.remove(self._callback)

    def passed_on(self, outputs: Any) -> Any:
        """What the callback returns: TensorFlow hands it to the next one, and takes it for the op's own.

        Args:
          outputs: Of the op.
        """
        # The last one need not, and should not: the program may have had a list, and gets a tuple.
        callbacks = context.context().op_callbacks  # without ours, when the recording has just ended
        return None if not callbacks or callbacks[-1] == self._callback else outputs

    def _join(self) -> None:
        callbacks = context.context().op_callbacks
        if self._callback not in callbacks:
            # In front: what comes after the callback of another tool may be told that there are no outputs.
            callbacks.insert(0, self._callback)
        self._thread.joined = True

    def _fast_path(self, *args: Any) -> Any:
        try:
            self._thread.joined  # noqa: B018 - an attribute of a thread that has joined
        except AttributeError:
            self._join()
        return self._run_op(*args)

    def _slow_path(self, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(self._thread, "joined"):
            self._join()
        return execute.execute_with_callbacks(*args, **kwargs)
