"""A debugger for TensorFlow programs: records them and shows in TensorBoard where a bad value came from.

Use::

    import tb_debugger_plugin

    tb_debugger_plugin.enable_dump_debug_info("/path/to/logdir", "FULL_HEALTH", circular_buffer_size=-1)
    ...  # the program
    # then: tensorboard --logdir /path/to/logdir
    # or: print(tb_debugger_plugin.open_run("/path/to/logdir").why())

The names are looked up when they are first used, because the viewer imports this package without TensorFlow.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from tb_debugger_plugin.events.version import __version__ as __version__

if TYPE_CHECKING:
    from tb_debugger_plugin.capture.api import BadValue as BadValue
    from tb_debugger_plugin.capture.api import KeepValues as KeepValues
    from tb_debugger_plugin.capture.api import disable_dump_debug_info as disable_dump_debug_info
    from tb_debugger_plugin.capture.api import enable_dump_debug_info as enable_dump_debug_info
    from tb_debugger_plugin.capture.api import step as step
    from tb_debugger_plugin.capture.temporary import check_numerics as check_numerics
    from tb_debugger_plugin.capture.temporary import disable_check_numerics as disable_check_numerics
    from tb_debugger_plugin.errors import NumericsError as NumericsError
    from tb_debugger_plugin.events.dumps.datum import has_inf_or_nan as has_inf_or_nan
    from tb_debugger_plugin.live.program.api import enable_breakpoints as enable_breakpoints
    from tb_debugger_plugin.live.program.api import record as record
    from tb_debugger_plugin.reading.dumps.dump_dir import DebugDumpDir as DebugDumpDir
    from tb_debugger_plugin.reading.rules_of_recording import BrokenRule as BrokenRule
    from tb_debugger_plugin.reading.run import open_run as open_run
    from tb_debugger_plugin.techniques.assertions import assert_finite as assert_finite
    from tb_debugger_plugin.techniques.assertions import assert_that as assert_that
    from tb_debugger_plugin.techniques.breakpoints import breakpoint_here as breakpoint_here
    from tb_debugger_plugin.techniques.fetching import fetch as fetch
    from tb_debugger_plugin.techniques.gradients import gradient_of as gradient_of
    from tb_debugger_plugin.techniques.interposing import interpose as interpose
    from tb_debugger_plugin.techniques.plotting import plot_tensor as plot_tensor
    from tb_debugger_plugin.techniques.printing import print_tensor as print_tensor

#: The public names and their modules; the imports above give them their types.
_MODULES = {
    "BadValue": "capture.api",
    "BrokenRule": "reading.rules_of_recording",
    "DebugDumpDir": "reading.dumps.dump_dir",
    "KeepValues": "capture.api",
    "NumericsError": "errors",
    "assert_finite": "techniques.assertions",
    "assert_that": "techniques.assertions",
    "breakpoint_here": "techniques.breakpoints",
    "check_numerics": "capture.temporary",
    "disable_check_numerics": "capture.temporary",
    "disable_dump_debug_info": "capture.api",
    "enable_breakpoints": "live.program.api",
    "enable_dump_debug_info": "capture.api",
    "fetch": "techniques.fetching",
    "gradient_of": "techniques.gradients",
    "has_inf_or_nan": "events.dumps.datum",
    "interpose": "techniques.interposing",
    "open_run": "reading.run",
    "plot_tensor": "techniques.plotting",
    "print_tensor": "techniques.printing",
    "record": "live.program.api",
    "step": "capture.api",
}
__all__ = list(_MODULES)

#: The folder for the recording of a program that imports this package, which is then guarded: mode GUARD.
GUARD_VARIABLE = "TB_DEBUGGER_GUARD"

#: The modules of the table that need no TensorFlow.
_WITHOUT_TENSORFLOW = ("errors", "events.", "reading.")


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"{__name__}.{_MODULES[name]}"
    if _MODULES[name].startswith(_WITHOUT_TENSORFLOW):
        return getattr(importlib.import_module(module), name)
    return _from_recorder(f"{__name__}.{name}", module)


def __dir__() -> list[str]:
    return _names(globals())


def _names(module: Mapping[str, object]) -> list[str]:
    """Return the names that completion offers for a module, with public names that were not looked up yet."""
    public = module["__all__"]
    assert isinstance(public, list)
    return sorted({*public, *(name for name in module if name.startswith("__"))})


def _from_recorder(name: str, module: str) -> object:
    """Import a public name of the recorder; without TensorFlow, a function that raises `ImportError`."""
    try:
        import tensorflow  # noqa: F401
    except ImportError as error:
        return _raises_import_error(name, error)
    return getattr(importlib.import_module(module), name.rpartition(".")[2])


def _raises_import_error(name: str, error: ImportError) -> Callable[..., NoReturn]:
    reason = f"TensorFlow cannot be imported: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name == "tensorflow":
        reason = "TensorFlow is not installed: run `pip install tensorflow` (or tensorflow-cpu)."
    sentence = f"{name} records a TensorFlow program, and {reason}"

    def missing(*_: object, **__: object) -> NoReturn:
        raise ImportError(sentence)

    missing.__module__, _, missing.__name__ = name.rpartition(".")
    missing.__qualname__, missing.__doc__ = missing.__name__, sentence
    return missing


if os.environ.get(GUARD_VARIABLE):
    importlib.import_module(f"{__name__}.tfdbg.run_program").guard_this_process(os.environ[GUARD_VARIABLE])
