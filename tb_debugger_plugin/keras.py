"""The debugger for Keras: `model.fit(..., callbacks=[DebuggerCallback("/path/to/logdir")])`.

The name is looked up when it is first used, because the viewer imports this package without TensorFlow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_debugger_plugin import _from_recorder, _names

if TYPE_CHECKING:
    from tb_debugger_plugin.live.program.keras_callback import DebuggerCallback as DebuggerCallback

__all__ = ["DebuggerCallback"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _from_recorder(f"{__name__}.{name}", "tb_debugger_plugin.live.program.keras_callback")


def __dir__() -> list[str]:
    return _names(globals())
