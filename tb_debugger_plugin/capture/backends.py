"""Knows when Keras computes with something else than TensorFlow, of which nothing can be recorded."""

from __future__ import annotations

import sys
from typing import Any

from tb_debugger_plugin.capture.not_recorded import Missing
from tb_debugger_plugin.events.not_recorded import NotRecordedReason


def other_backend() -> Missing | None:
    """What is not recorded because Keras computes without TensorFlow; None where it does not."""
    keras: Any = sys.modules.get("keras")
    asked = getattr(getattr(keras, "config", None), "backend", None)
    backend = "tensorflow" if asked is None else str(asked())
    if backend == "tensorflow":
        return None
    return Missing(
        NotRecordedReason.OTHER_BACKEND,
        f"The debugger records operations of TensorFlow, and Keras computes with {backend}, of which it sees "
        "nothing: set the environment variable KERAS_BACKEND to tensorflow before the program imports Keras.",
    )
