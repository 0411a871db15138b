"""A Keras callback that records a call of `fit`, `evaluate` or `predict`, and lets debuggers stop it."""

from __future__ import annotations

import logging
import os

from tb_debugger_plugin.capture import api
from tb_debugger_plugin.capture.keras_call import KerasCall, Logs
from tb_debugger_plugin.capture.options import absolute
from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.capture.stacks.calls import RunningCall
from tb_debugger_plugin.live.program.api import Arguments, Breakpoints, enable_at_calls, take_own

_log = logging.getLogger("tb_debugger_plugin")


class DebuggerCallback(KerasCall):
    """Records a Keras model while it trains, is evaluated or predicts.

    Use::

        model.fit(x, y, callbacks=[DebuggerCallback("/path/to/logdir")])

    Each call of `fit`, `evaluate` or `predict` is a separate recording in the folder; it also ends when the
    call raises. The model may have been trained before: its functions are recorded too, and have no watch ops
    afterwards. If a recording is already on, the callback changes nothing; if that recording has another
    folder, the log says so.

    Args:
      logdir: Folder for the event files; see `enable_dump_debug_info`.
      mode: What to record of each tensor. None (the default): `"FULL_HEALTH"`, and `"FULL_NUMERICS"` if the
        callback is interactive.
      interactive: Whether debuggers can stop the calls; see `enable_breakpoints`. If a recording to the
        folder is on, they can stop the calls that the callback sees.
      **options: Other arguments of `enable_dump_debug_info`; `circular_buffer_size` is -1 unless given, which
        keeps everything, up to `max_bytes`. With `on_alert="stop"` the training ends after the batch with
        the first bad value, or the batch during which a rule is found broken. If the callback is interactive,
        those of `enable_breakpoints`, too.

    Raises:
      UsageError: An argument cannot be used; some are checked when the recording begins.
      RecordingError: When the recording begins: the folder cannot be written.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        mode: str | None = None,
        *,
        interactive: bool = False,
        **options: object,
    ) -> None:
        super().__init__()
        self._logdir = logdir
        self._interactive = interactive
        self._of_breakpoints = take_own(options, is_interactive=interactive)
        defaults = {} if interactive else {"tensor_debug_mode": "FULL_HEALTH", "circular_buffer_size": -1}
        self._arguments: Arguments = {**defaults, **options}
        if mode is not None:
            self._arguments["tensor_debug_mode"] = mode
        self._recording: Recording | None = None
        self._breakpoints: Breakpoints | None = None

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Mark the end of a step, for `every_n_steps` and `step_range`; end the training after an alert."""
        super().on_train_batch_end(batch, logs)
        if self._recording is not None and self._recording.stopped_at_alert:
            self.model.stop_training = True

    def _begin(self, call: RunningCall | None) -> None:
        on = api.running()
        if on is None:
            self._recording = self._record()
            if call is not None:
                self._recording.end_with(call)
        elif on.dump_root == (root := absolute(self._logdir)):
            if self._interactive:
                self._breakpoints = enable_at_calls(root, **self._of_breakpoints)
        else:
            _log.warning(
                "DebuggerCallback records nothing to %s, because a recording to %s is on. A process has one "
                "recording at a time: call tb_debugger_plugin.disable_dump_debug_info() before to end it.",
                root,
                on.dump_root,
            )

    def _record(self) -> Recording:
        if not self._interactive:
            return api.enable_dump_debug_info(self._logdir, **self._arguments)
        self._breakpoints = enable_at_calls(self._logdir, **self._of_breakpoints, **self._arguments)
        return self._breakpoints.recording

    def _end(self) -> None:
        """End what the callback began; the next call begins it again."""
        breakpoints, recording = self._breakpoints, self._recording
        self._recording = self._breakpoints = None
        if recording is not None:
            recording.finish()
        if breakpoints is not None:
            breakpoints.close()
