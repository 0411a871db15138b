"""A Keras callback that records a call of `fit`, `evaluate` or `predict`."""

from __future__ import annotations

import logging
import os
from typing import Any, TypeAlias

import tensorflow as tf

from tb_debugger_plugin.capture import api
from tb_debugger_plugin.capture.options import absolute
from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.capture.stacks import calls

#: The numbers that Keras reports. The callback does not read them.
_Logs: TypeAlias = "dict[str, Any] | None"
_log = logging.getLogger("tb_debugger_plugin")


class DebuggerCallback(tf.keras.callbacks.Callback):
    """Records a Keras model while it trains, is evaluated or predicts.

    Use::

        model.fit(x, y, callbacks=[DebuggerCallback("/path/to/logdir")])

    Each call of `fit`, `evaluate` or `predict` is a separate recording in the folder; it also ends when the
    call raises. The model may have been trained before: its functions are recorded too, and have no watch ops
    afterwards. If a recording is already on, the callback changes nothing; if that recording has another
    folder, the log says so.

    Args:
      logdir: Folder for the event files; see `enable_dump_debug_info`.
      mode: What to record of each tensor; `"FULL_HEALTH"` unless given.
      **options: Other arguments of `enable_dump_debug_info`; `circular_buffer_size` is -1 unless given, which
        keeps everything. With `on_alert="stop"` the training ends after the batch with the first bad value.

    Raises:
      UsageError: When the recording begins: an argument cannot be used.
      RecordingError: When the recording begins: the folder cannot be written.
    """

    def __init__(self, logdir: str | os.PathLike[str], mode: str = "FULL_HEALTH", **options: Any) -> None:
        super().__init__()
        self._supports_tf_logs = True  # the callback does not read the logs, so Keras 2 need not fetch them
        self._arguments: dict[str, Any] = {
            "dump_root": logdir,
            "tensor_debug_mode": mode,
            "circular_buffer_size": -1,
            **options,
        }
        self._recording: Recording | None = None
        self._call: calls.Call | None = None
        self._depth = 0  # validation begins and ends inside a `fit`

    def _implements_train_batch_hooks(self) -> bool:
        """Whether Keras 2 calls the batch methods. Keras 2 also reads this when the class is from Keras 3."""
        return True

    _implements_test_batch_hooks = _implements_predict_batch_hooks = _implements_train_batch_hooks

    def on_train_begin(self, logs: _Logs = None) -> None:
        """Begin to record; a recording that an earlier `fit` left on ends."""
        self._begin(anew=True)

    def on_train_end(self, logs: _Logs = None) -> None:
        """End the recording and write out all files."""
        self._end()

    def on_test_begin(self, logs: _Logs = None) -> None:
        """Begin to record, unless this is the validation of a `fit`."""
        self._begin()

    def on_test_end(self, logs: _Logs = None) -> None:
        """End the recording, unless this is the validation of a `fit`."""
        self._end()

    def on_predict_begin(self, logs: _Logs = None) -> None:
        """Begin to record."""
        self._begin()

    def on_predict_end(self, logs: _Logs = None) -> None:
        """End the recording and write out all files."""
        self._end()

    def on_train_batch_end(self, batch: int, logs: _Logs = None) -> None:
        """Mark the end of a step, for `every_n_steps` and `step_range`; end the training after an alert."""
        api.step()
        if self._recording is not None and self._recording.stopped_at_bad_value:
            self.model.stop_training = True

    def on_test_batch_end(self, batch: int, logs: _Logs = None) -> None:
        """Mark the end of a step."""
        api.step()

    def on_predict_batch_end(self, batch: int, logs: _Logs = None) -> None:
        """Mark the end of a step."""
        api.step()

    def _begin(self, *, anew: bool = False) -> None:
        if anew or (self._call is not None and not self._call.is_running()):
            self._end_recording()  # Keras calls no method when a call raises
        self._depth += 1
        if self._depth == 1:
            self._call = calls.keras_call()
            self._record()

    def _record(self) -> None:
        on = api.running()
        if on is None:
            self._recording = api.enable_dump_debug_info(**self._arguments)
            if self._call is not None:
                self._recording.end_with(self._call)
        elif on.dump_root != (root := absolute(self._arguments["dump_root"])):
            _log.warning(
                "DebuggerCallback records nothing to %s, because a recording to %s is on. A process has one "
                "recording at a time: call tb_debugger_plugin.disable_dump_debug_info() before to end it.",
                root,
                on.dump_root,
            )

    def _end(self) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self._end_recording()

    def _end_recording(self) -> None:
        """End the callback's recording; the next call begins another one."""
        if self._recording is not None:
            self._recording.close()
        self._recording = self._call = None
        self._depth = 0
