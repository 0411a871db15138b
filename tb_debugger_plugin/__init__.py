"""A debugger for TensorFlow programs: records them, and shows in TensorBoard where a bad value came from.

Use::

    import tb_debugger_plugin

    tb_debugger_plugin.enable_dump_debug_info("/path/to/logdir", "FULL_HEALTH", circular_buffer_size=-1)
    ...  # the program
    # then: tensorboard --logdir /path/to/logdir

The names are looked up when they are first used, because the viewer imports this package without TensorFlow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_debugger_plugin.capture.api import disable_dump_debug_info as disable_dump_debug_info
    from tb_debugger_plugin.capture.api import enable_dump_debug_info as enable_dump_debug_info
    from tb_debugger_plugin.capture.api import record as record
    from tb_debugger_plugin.capture.api import step as step

__all__ = ["disable_dump_debug_info", "enable_dump_debug_info", "record", "step"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _require_tensorflow(f"{__name__}.{name}")
    from tb_debugger_plugin.capture import api

    return getattr(api, name)


def _require_tensorflow(wanted_by: str) -> None:
    """Say what to install when TensorFlow is missing."""
    try:
        import tensorflow  # noqa: F401
    except ImportError:
        raise ImportError(
            f"{wanted_by} records a TensorFlow program, and TensorFlow is not installed: "
            "run `pip install tensorflow` (or tensorflow-cpu)."
        ) from None
