"""Detects that Keras computes with another backend than TensorFlow, which cannot be recorded."""

from __future__ import annotations

import sys

from tb_debugger_plugin.capture.not_recorded import Missing
from tb_debugger_plugin.events.not_recorded import NotRecordedReason


def other_backend() -> Missing | None:
    """Return what is not recorded because Keras has another backend; None when its backend is TensorFlow."""
    keras = sys.modules.get("keras")
    get_backend = getattr(getattr(keras, "config", None), "backend", None)
    backend = "tensorflow" if get_backend is None else str(get_backend())
    if backend == "tensorflow":
        return None
    return Missing(
        NotRecordedReason.OTHER_BACKEND,
        f"The debugger only records TensorFlow operations, but Keras computes with {backend}: set the "
        "environment variable KERAS_BACKEND to tensorflow before the program imports Keras.",
    )
