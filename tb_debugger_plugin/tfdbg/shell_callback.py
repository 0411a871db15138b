"""A Keras callback that opens the shell around the steps of `fit`, `evaluate` and `predict`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import tensorflow as tf

from tb_debugger_plugin.capture import api
from tb_debugger_plugin.capture.stacks import calls
from tb_debugger_plugin.shell.tensor_filters import Predicate
from tb_debugger_plugin.tfdbg.function_shell import FunctionShell, shell

#: The numbers that Keras reports. The callback does not read them.
_Logs: TypeAlias = "dict[str, Any] | None"


class ShellCallback(tf.keras.callbacks.Callback):
    """Opens the shell before and after each step of a Keras model.

    Use::

        model.fit(x, y, callbacks=[tb_debugger_plugin.tfdbg.ShellCallback()])

    A step is what Keras runs by one call of its function: a batch, or `steps_per_execution` of them. The
    shell is around one call of `fit`, `evaluate` or `predict`, with its validation, and does not ask again
    when the user has left it. Use `tfdbg.shell()` instead for what a program does between them. Inside a
    block of `tfdbg.shell()`, the callback does nothing.

    Args:
      dump_root: As for `tfdbg.shell`; a folder that is given serves one call of `fit`.
      ui: As for `tfdbg.shell`.
      tensor_filters: As for `tfdbg.shell`.

    Raises:
      UsageError: When the model begins to run: an argument cannot be used.
      RecordingError: When the model begins to run: the folder cannot be written.
    """

    def __init__(
        self,
        dump_root: str | os.PathLike[str] | None = None,
        *,
        ui: str | None = None,
        tensor_filters: Mapping[str, Predicate] | None = None,
    ) -> None:
        super().__init__()
        self._supports_tf_logs = True  # the callback does not read the logs, so Keras 2 need not fetch them
        self._dump_root, self._ui, self._filters = dump_root, ui, tensor_filters
        self._shell: FunctionShell | None = None
        self._depth = 0  # validation begins and ends inside a `fit`

    def _implements_train_batch_hooks(self) -> bool:
        """Whether Keras 2 calls the batch methods. Keras 2 also reads this when the class is from Keras 3."""
        return True

    _implements_test_batch_hooks = _implements_predict_batch_hooks = _implements_train_batch_hooks

    def on_train_begin(self, logs: _Logs = None) -> None:
        """Begin to look at steps."""
        self._depth = 0  # Keras calls no method when a call raises
        self._begin()

    def on_train_end(self, logs: _Logs = None) -> None:
        """Remove the shell."""
        self._end()

    def on_test_begin(self, logs: _Logs = None) -> None:
        """Begin to look at steps, unless this is the validation of a `fit`."""
        self._begin()

    def on_test_end(self, logs: _Logs = None) -> None:
        """Remove the shell, unless this is the validation of a `fit`."""
        self._end()

    def on_predict_begin(self, logs: _Logs = None) -> None:
        """Begin to look at steps."""
        self._begin()

    def on_predict_end(self, logs: _Logs = None) -> None:
        """Remove the shell."""
        self._end()

    def on_train_batch_end(self, batch: int, logs: _Logs = None) -> None:
        """Mark the end of a step, for models that run eagerly."""
        api.step()

    def on_test_batch_end(self, batch: int, logs: _Logs = None) -> None:
        """Mark the end of a step."""
        api.step()

    def on_predict_batch_end(self, batch: int, logs: _Logs = None) -> None:
        """Mark the end of a step."""
        api.step()

    def _begin(self) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        self._shell = shell(self._dump_root, ui=self._ui, tensor_filters=self._filters)
        self._shell.start(until=calls.keras_call())

    def _end(self) -> None:
        self._depth -= 1
        if self._depth <= 0 and self._shell is not None:
            self._shell.stop()
            self._shell, self._depth = None, 0
