"""Recordings into a temporary folder: to stop at the first bad value, and to fetch values of one call.

Invariant: the folder is removed when the recording ends.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace

from tb_debugger_plugin.capture import api
from tb_debugger_plugin.capture.keep_values import KeepValues
from tb_debugger_plugin.capture.on_alert import OnAlert, make_on_alert
from tb_debugger_plugin.capture.options import Options, make_options
from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.errors import RecordingError, UsageError
from tb_debugger_plugin.events.modes import TensorDebugMode

#: The tensors that `check_numerics` has on record to explain a bad value.
_CHECKED_TENSORS = 10_000


def check_numerics(
    stack_height_limit: int = 30,
    path_length_limit: int = 50,
    *,
    kinds: Iterable[str] | None = None,
    ignore: Iterable[str] | str = (),
) -> None:
    """Raise a `NumericsError` as soon as any op computes an infinity or NaN, with the reason in its text.

    A drop-in for `tf.debugging.enable_check_numerics`. Call it once, at any time::

        tb_debugger_plugin.check_numerics()
        ...  # the program

    It covers all threads, gradients, and functions that were traced before, also those that XLA compiles,
    which raise after their call. It records the last 10,000 tensors into a temporary folder to explain the
    value, and removes the folder at the end. If a recording is on, give it `on_alert="raise"` instead. A
    second call with the same arguments does nothing.

    Args:
      stack_height_limit: Accepted as TensorFlow's function does, and not needed: the error names the line of
        the program.
      path_length_limit: The same.
      kinds: The bad values that count; see `alert_kinds` of `enable_dump_debug_info`.
      ignore: Ops whose bad values are meant; see `ignore_alerts` of `enable_dump_debug_info`.

    Raises:
      UsageError: An argument cannot be used, or a recording is on. It is a `ValueError`.
      RecordingError: There is no folder for temporary files. It is a `RuntimeError`.
    """
    del stack_height_limit, path_length_limit
    on_alert = make_on_alert("raise", kinds, ignore)
    with api.current_lock:
        on = api.running()
        if on is not None:
            if not _checks(on):
                raise UsageError(
                    f"A recording to {on.dump_root} is on: give on_alert='raise' to its "
                    "enable_dump_debug_info() or record(), or call disable_dump_debug_info() before "
                    "check_numerics()."
                )
            if on.requested.on_alert == on_alert:
                return
            on.close()
        _begin(_temporary(on_alert))


def _begin(options: Options) -> Recording:
    try:
        return api.begin(options)
    except BaseException:
        shutil.rmtree(options.dump_root, ignore_errors=True)
        raise


def _temporary(on_alert: OnAlert | None) -> Options:
    try:
        folder = tempfile.mkdtemp(prefix="tb_debugger_")
    except OSError as error:
        raise RecordingError(
            f"There is no folder for temporary files ({error}): set TMPDIR to one."
        ) from error
    return make_options(folder, "FULL_HEALTH", _CHECKED_TENSORS, on_alert=on_alert, is_temporary=True)


def _checks(recording: Recording) -> bool:
    """Whether `check_numerics` began a recording."""
    return recording.requested.is_temporary and recording.requested.on_alert is not None


def begin_to_fetch(rules: tuple[KeepValues, ...]) -> Recording:
    """Begin a recording into a temporary folder that keeps only some values: for `techniques.fetching`.

    Args:
      rules: The values.

    Raises:
      UsageError: A recording is on.
      RecordingError: There is no folder for temporary files.
    """
    with api.current_lock:
        on = api.running()
        if on is not None:
            what = "check_numerics() is on" if _checks(on) else f"a recording to {on.dump_root} is on"
            raise UsageError(
                f"fetch() records the call, and {what}: there is one recording at a time. End it before, or "
                "give keep_values to the recording."
            )
        return _begin(
            replace(
                _temporary(None),
                mode=TensorDebugMode.NO_TENSOR,
                circular_buffer_size=-1,
                keep_values=rules,
                only_kept=True,
            )
        )


def disable_check_numerics() -> None:
    """End what `check_numerics` began; does nothing when it is not on."""
    with api.current_lock:
        on = api.running()
        if on is not None and _checks(on):
            on.close()
