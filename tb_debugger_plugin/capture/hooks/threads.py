"""Adds an op callback to every thread.

TensorFlow keeps op callbacks per thread. This module adds a callback to each thread when the thread runs its
first eager op or calls its first function. TensorFlow has one Python function for each of the two, and looks
it up in a module at every call.

Invariant: after `remove()` both functions are TensorFlow's own again.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType
from typing import Any, TypeAlias

from tensorflow.python.eager import context, execute, record

from tb_debugger_plugin.capture.hooks.hook import EXECUTE, FAST_PATH, Hook

#: Takes the type of an op that is about to run and the frame that runs it. Returns whether it wants no more.
BeforeOp: TypeAlias = Callable[["str | bytes", FrameType], bool]


def of_running_thread() -> Any:
    """Return what has the op callbacks of the running thread as `op_callbacks`.

    Every op looks at them, and TensorFlow's own way there takes 0.7 us.
    """
    runtime = context.context()
    return getattr(runtime, "_thread_local_data", runtime)


class EveryThread:
    """Keeps a callback in every thread that runs eager ops, from now until `remove()`.

    Args:
      callback: An op callback of TensorFlow: `(op_type, inputs, attrs, outputs, op_name, graph)`. It returns
        `callback_result(outputs)`.
      around_calls: Runs each function: takes TensorFlow's own Python function and its arguments.
      translated: Takes the exception of an op or function that failed, and returns the one that the program
        gets, often the same.
      module: The native library.

    Attributes:
      around_calls: Runs each function.
    """

    def __init__(
        self,
        callback: Callable[..., object],
        around_calls: Callable[..., object],
        translated: Callable[[Exception], BaseException] | None = None,
        module: ModuleType | None = None,
    ) -> None:
        self.around_calls = around_calls
        self._translated = translated or (lambda error: error)
        self._callback = callback
        self._thread = threading.local()
        self._of_thread = of_running_thread()
        self._before_op: tuple[BeforeOp, ...] = ()
        #: The outputs of the op that has just run, and others for the program, by thread.
        self._changes: dict[int, list[tuple[object, object]]] = {}
        # Guards _changes, and `changed` of the runner. A finalizer may run an op meanwhile.
        self._changing = threading.RLock()
        self._add_callback()
        self._thread.has_callback = True
        self._run_op = FAST_PATH.get()
        #: Runs eager ops without Python of ours; None without the native library.
        failed = translated and self._raise_other
        self._runner: Any = module and module.OpRunner(self._run_op, self._begin, failed)
        self._fast = Hook(FAST_PATH, self._runner or self._fast_path)
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

    def call_before_next_op(self, call: BeforeOp) -> None:
        """Call a function before the next eager op of each thread. What it raises, the program gets.

        Args:
          call: The function. A thread calls it before each op until it has returned True, and perhaps again
            when there is another such function, or the same is given again.
        """
        if call not in self._before_op:
            self._before_op += (call,)
        self._thread = threading.local()  # so each thread begins again, and no op pays for the question
        if self._runner is not None:
            self._runner.forget_threads()

    def callback_result(self, outputs: object) -> object:
        """Return the value that the callback returns: the outputs for the next callback and the program.

        Args:
          outputs: The outputs of the op.
        """
        # The last callback returns None: otherwise a program that expects a list would get a tuple.
        callbacks = self._of_thread.op_callbacks  # without ours, if the recording has just ended
        return None if not callbacks or callbacks[-1] == self._callback else outputs

    def change(self, outputs: Sequence[object], others: Sequence[object]) -> None:
        """Let the op that has just run in this thread return other outputs, whose gradients are the same.

        TensorFlow takes no outputs from op callbacks of eager ops.

        Args:
          outputs: Its outputs.
          others: As many others.
        """
        record.record_operation("Identity", list(others), list(outputs), lambda *gradients: gradients)
        with self._changing:
            self._changes[threading.get_ident()] = list(zip(outputs, others, strict=True))
            if self._runner is not None:
                self._runner.changed = self._changed

    def _changed(self, result: object) -> object:
        with self._changing:
            changes = self._changes.pop(threading.get_ident(), None)
            if self._runner is not None and not self._changes:
                self._runner.changed = None  # no op asks until there are others
        return result if changes is None else _with_changes(result, changes)

    def _begin(self, op_type: str | bytes, frame: FrameType) -> bool:
        """Do what comes before the first op of a thread; return whether that is done."""
        thread = self._thread  # another one if a function is added meanwhile: then the thread begins again
        if hasattr(thread, "has_callback"):
            return True  # it has called a function
        self._add_callback()
        is_done = all([call(op_type, frame) for call in self._before_op])
        if is_done:
            thread.has_callback = True
        return is_done

    def _add_callback(self) -> None:
        callbacks = context.context().op_callbacks
        if self._callback not in callbacks:
            # First: a callback after that of another tool may get no outputs.
            callbacks.insert(0, self._callback)

    def _fast_path(self, *args: Any) -> object:
        try:
            self._thread.has_callback  # noqa: B018 - missing until the thread has the callback
        except AttributeError:
            self._begin(args[1], sys._getframe(1))
        try:
            result = self._run_op(*args)
        except Exception as error:
            self._raise_other(error)
            raise
        return self._changed(result) if self._changes else result

    def _slow_path(self, *args: Any, **kwargs: Any) -> object:
        if not hasattr(self._thread, "has_callback"):
            self._begin(args[0] if args else kwargs["op_name"], sys._getframe(1))
        try:
            result = self.around_calls(execute.execute_with_callbacks, *args, **kwargs)
        except Exception as error:
            self._raise_other(error)
            raise
        return self._changed(result) if self._changes else result

    def _raise_other(self, error: Exception) -> None:
        other = self._translated(error)
        if other is not error:
            raise other from None


def _with_changes(result: object, changes: list[tuple[object, object]]) -> object:
    """Return what an op returns, a tensor or lists of them, with other tensors."""
    if isinstance(result, (list, tuple)):
        return type(result)([_with_changes(one, changes) for one in result])
    return next((other for output, other in changes if output is result), result)
