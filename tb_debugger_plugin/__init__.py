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
    from tb_debugger_plugin.capture.recording import disable_dump_debug_info as disable_dump_debug_info
    from tb_debugger_plugin.capture.recording import enable_dump_debug_info as enable_dump_debug_info
    from tb_debugger_plugin.capture.recording import record as record

__all__ = ["disable_dump_debug_info", "enable_dump_debug_info", "record"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import tensorflow  # noqa: F401
    except ImportError:
        raise ImportError(
            f"tb_debugger_plugin.{name} records a TensorFlow program, and TensorFlow is not installed: "
            "run `pip install tensorflow` (or tensorflow-cpu)."
        ) from None
    from tb_debugger_plugin.capture import recording

    return getattr(recording, name)
