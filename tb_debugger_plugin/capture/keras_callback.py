"""The Keras callback: a recording that lasts as long as a call of `fit`, `evaluate` or `predict`."""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf

from tb_debugger_plugin.capture import api
from tb_debugger_plugin.capture.recording import Recording


class DebuggerCallback(tf.keras.callbacks.Callback):
    """Records a Keras model while it trains, is evaluated or predicts.

    Use::

        model.fit(x, y, callbacks=[DebuggerCallback("/path/to/logdir")])

    Each call of `fit`, `evaluate` or `predict` is a run of its own in a folder. The model may have been
    trained
    before: its functions are recorded all the same, and are the plain ones again afterwards. Inside a
      recording
    that is on already, the callback changes nothing.

    Args:
      logdir: Folder for the event files; see `enable_dump_debug_info`.
      mode: What is recorded of each tensor; `"FULL_HEALTH"` unless given.
      **options: Other arguments of `enable_dump_debug_info`; `circular_buffer_size` is -1 unless given, which
        keeps everything.

    Raises:
      UsageError: When the recording begins: an argument cannot be used.
      RecordingError: When the recording begins: the folder cannot be written.
    """

    def __init__(self, logdir: str | os.PathLike[str], mode: str = "FULL_HEALTH", **options: Any) -> None:
        super().__init__()
        self._arguments = {
            "dump_root": logdir,
            "tensor_debug_mode": mode,
            "circular_buffer_size": -1,
            **options,
        }
        self._recording: Recording | None = None
        self._depth = 0  # validation begins and ends inside a `fit`

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Begin to record."""
        self._begin()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """End the recording and write out all files."""
        self._end()

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Begin to record, unless this is the validation of a `fit`."""
        self._begin()

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """End the recording, unless this is the validation of a `fit`."""
        self._end()

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Begin to record."""
        self._begin()

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """End the recording and write out all files."""
        self._end()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Mark the end of a step, by which `every_n_steps` and `step_range` count."""
        api.step()

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Mark the end of a step."""
        api.step()

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Mark the end of a step."""
        api.step()

    def _begin(self) -> None:
        self._depth += 1
        if self._depth == 1 and not api.is_recording():
            self._recording = api.enable_dump_debug_info(**self._arguments)

    def _end(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._recording is not None:
            self._recording.close()
            self._recording = None
