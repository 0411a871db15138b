"""A Keras callback that opens the shell around the steps of `fit`, `evaluate` and `predict`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tb_debugger_plugin.capture.keras_call import KerasCall
from tb_debugger_plugin.capture.stacks.calls import RunningCall
from tb_debugger_plugin.events.dumps.datum import Predicate
from tb_debugger_plugin.tfdbg.function_shell import FunctionShell, shell


class ShellCallback(KerasCall):
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
        self._dump_root, self._ui, self._filters = dump_root, ui, tensor_filters
        self._shell: FunctionShell | None = None

    def _begin(self, call: RunningCall | None) -> None:
        self._shell = shell(self._dump_root, ui=self._ui, tensor_filters=self._filters)
        self._shell.start(until=call)

    def _end(self) -> None:
        if self._shell is not None:
            self._shell.stop()
        self._shell = None
