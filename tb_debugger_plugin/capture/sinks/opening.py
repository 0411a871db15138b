"""Opens the sink of a new recording: the native library if it can be used, else TensorFlow's own ops."""

from __future__ import annotations

import functools
import logging
import os
import uuid

from tb_debugger_plugin import native
from tb_debugger_plugin.capture.options import Options, is_remote
from tb_debugger_plugin.capture.sinks.native import NativeSink
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.sinks.stock import StockSink
from tb_debugger_plugin.errors import RecordingError, UsageError

#: The run id of all recordings of a process, as in TensorFlow, or of all processes of a job that set it.
_RUN_ID = os.environ.get("TB_DEBUGGER_RUN_ID") or uuid.uuid4().hex[:8]
_log = logging.getLogger("tb_debugger_plugin")


def open_sink(options: Options, host: str) -> Sink:
    """Create the files of a recording.

    Args:
      options: What to record, and where.
      host: Name of this host.

    Raises:
      UsageError: The dump root is a file.
      RecordingError: The dump root cannot be written.
    """
    try:
        if is_remote(options.dump_root):
            return StockSink(options, _RUN_ID)
        os.makedirs(options.dump_root, exist_ok=True)
        module = native.load()
        if module is not None:
            return NativeSink(options, host, _RUN_ID, module)
        _warn_that_it_is_slow()
        return StockSink(options, _RUN_ID)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(
            f"{options.dump_root} is a file: give a new or existing folder as dump_root."
        ) from None
    except OSError as error:
        raise RecordingError(
            f"{options.dump_root} cannot be written ({error}): give another folder as dump_root, "
            "or change its permissions."
        ) from error


@functools.cache  # once in a process is enough
def _warn_that_it_is_slow() -> None:
    _log.warning(
        "Recording with TensorFlow's stock debug ops, which are several times slower: %s. "
        "Install a C++ compiler and reinstall tb-debugger-plugin.",
        native.unavailable_reason(),
    )
