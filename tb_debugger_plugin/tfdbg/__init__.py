"""tfdbg for today's TensorFlow: the shell around functions, Keras, sessions and hooks, and dumps of sessions.

Use::

    from tb_debugger_plugin import tfdbg

    with tfdbg.shell():
        train()

    session = tfdbg.LocalCLIDebugWrapperSession(session)
    hooks = [tfdbg.DumpingDebugHook("/path/to/dumps")]

The names of sessions and hooks are those of ``tensorflow.python.debug``. All names are looked up when they
are first used, because the viewer imports this package without TensorFlow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

import tb_debugger_plugin

if TYPE_CHECKING:
    from tb_debugger_plugin.events.dumps.datum import DebugTensorDatum as DebugTensorDatum
    from tb_debugger_plugin.events.dumps.datum import has_inf_or_nan as has_inf_or_nan
    from tb_debugger_plugin.reading.dumps.dump_dir import DebugDumpDir as DebugDumpDir
    from tb_debugger_plugin.tfdbg.dumping_session import (
        DumpingDebugWrapperSession as DumpingDebugWrapperSession,
    )
    from tb_debugger_plugin.tfdbg.function_shell import shell as shell
    from tb_debugger_plugin.tfdbg.hooks import DumpingDebugHook as DumpingDebugHook
    from tb_debugger_plugin.tfdbg.hooks import LocalCLIDebugHook as LocalCLIDebugHook
    from tb_debugger_plugin.tfdbg.live_session import TensorBoardDebugHook as TensorBoardDebugHook
    from tb_debugger_plugin.tfdbg.live_session import (
        TensorBoardDebugWrapperSession as TensorBoardDebugWrapperSession,
    )
    from tb_debugger_plugin.tfdbg.local_session import (
        LocalCLIDebugWrapperSession as LocalCLIDebugWrapperSession,
    )
    from tb_debugger_plugin.tfdbg.shell_callback import ShellCallback as ShellCallback
    from tb_debugger_plugin.tfdbg.watches import WatchOptions as WatchOptions
    from tb_debugger_plugin.tfdbg.watches import add_debug_tensor_watch as add_debug_tensor_watch
    from tb_debugger_plugin.tfdbg.watches import watch_graph as watch_graph
    from tb_debugger_plugin.tfdbg.watches import watch_graph_with_denylists as watch_graph_with_denylists

#: The modules of the public names.
_MODULES: Final = {
    "DebugDumpDir": "tb_debugger_plugin.reading.dumps.dump_dir",
    "DebugTensorDatum": "tb_debugger_plugin.events.dumps.datum",
    "DumpingDebugHook": "tb_debugger_plugin.tfdbg.hooks",
    "DumpingDebugWrapperSession": "tb_debugger_plugin.tfdbg.dumping_session",
    "LocalCLIDebugHook": "tb_debugger_plugin.tfdbg.hooks",
    "LocalCLIDebugWrapperSession": "tb_debugger_plugin.tfdbg.local_session",
    "ShellCallback": "tb_debugger_plugin.tfdbg.shell_callback",
    "TensorBoardDebugHook": "tb_debugger_plugin.tfdbg.live_session",
    "TensorBoardDebugWrapperSession": "tb_debugger_plugin.tfdbg.live_session",
    "WatchOptions": "tb_debugger_plugin.tfdbg.watches",
    "add_debug_tensor_watch": "tb_debugger_plugin.tfdbg.watches",
    "has_inf_or_nan": "tb_debugger_plugin.events.dumps.datum",
    "shell": "tb_debugger_plugin.tfdbg.function_shell",
    "watch_graph": "tb_debugger_plugin.tfdbg.watches",
    "watch_graph_with_denylists": "tb_debugger_plugin.tfdbg.watches",
}
__all__ = list(_MODULES)

#: Names of ``tensorflow.python.debug`` that are not here, and what replaces them.
_REPLACED: Final = {
    "GradientsDebugger": "gradients are recorded in any recording, by the name of their tensor or variable"
    " (docs/guide/techniques.md), and gradient_of() returns those of one function; TensorFlow's class works"
    " beside our wrappers",
    "GrpcDebugHook": "use TensorBoardDebugHook, which needs no server, or DumpingDebugHook",
    "GrpcDebugWrapperSession": "use TensorBoardDebugWrapperSession, which needs no server, or"
    " DumpingDebugWrapperSession",
    "load_tensor_from_event": "use DebugDumpDir(folder).dumped_tensor_data, whose get_tensor() reads a value",
    "load_tensor_from_event_file": "use DebugDumpDir(folder).dumped_tensor_data, whose get_tensor() reads a"
    " value",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if name in _REPLACED:
        raise AttributeError(f"There is no tfdbg.{name}: {_REPLACED[name]}.", name=name, obj=None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if module.startswith(("tb_debugger_plugin.events.", "tb_debugger_plugin.reading.")):
        return getattr(importlib.import_module(module), name)
    return tb_debugger_plugin._from_recorder(f"{__name__}.{name}", module)


def __dir__() -> list[str]:
    return tb_debugger_plugin._names(globals())
