"""Runs a program under the shell, or records it: the other half of `tbdbg run`.

`python -m tb_debugger_plugin.tfdbg.run_program SETTINGS PROGRAM ARGUMENT …`, where SETTINGS is a JSON object
with the fields of :class:`Settings`, and PROGRAM is a script, or ``-m`` and a module. The program finds
`sys.argv`, `sys.path` and `__main__` as if Python ran it, and its exit status is that of the process.

A program that nobody ran so, but that imports this package, is guarded if its environment asks for it.

TensorFlow is imported by the program, not before: the program may choose environment variables first.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tb_debugger_plugin.errors import DebuggerError

if TYPE_CHECKING:
    from tb_debugger_plugin.tfdbg.function_shell import FunctionShell

#: What a process has imported that shows recordings.
_VIEWER: Final = "tensorboard.program"


class Settings(NamedTuple):
    """What happens around the program.

    Attributes:
      shell: Whether the shell opens around its calls.
      logdir: Folder for the recording; None for a temporary one with the shell, and else for a usual one.
      mode: What to record of each tensor, without the shell; None for what is usual.
      ui: The user interface of the shell; None to choose.
      interactive: Whether the page of the debugger can stop the program.
      wait: Whether the program then waits before its first call or op; or the most seconds.
      when_alone: Seconds that it waits when its last debugger has left; None for what is usual.
      may_change_values: Whether the page may change values.
    """

    shell: bool
    logdir: str | None
    mode: str | None
    ui: str | None
    interactive: bool = False
    wait: bool | float = True
    when_alone: float | None = None
    may_change_values: bool = False


def main(argv: Sequence[str]) -> None:
    """Run a program.

    Args:
      argv: The settings, the program, and its arguments.
    """
    settings, program = Settings(**json.loads(argv[0])), list(argv[1:])
    stop: list[Callable[[], None]] = []
    _after_import("tensorflow", lambda: stop.append(_begin(settings)))
    try:
        if program[0] == "-m":
            _run_module(program[1:])
        else:
            _run_script(program)
    finally:
        for each in stop:
            each()


def _begin(settings: Settings) -> Callable[[], None]:
    """Begin to debug the program that has just imported TensorFlow; return what ends it."""
    try:
        if settings.shell:
            from tb_debugger_plugin.tfdbg.function_shell import shell

            opened = shell(settings.logdir, ui=settings.ui)
            opened.start()
            return lambda: _end_shell(opened)
        if settings.interactive:
            return _enable_breakpoints(settings)
        return _record(settings.logdir, settings.mode or "FULL_HEALTH")
    except DebuggerError as error:
        print(f"tbdbg: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def _record(logdir: str | None, mode: str) -> Callable[[], None]:
    from tb_debugger_plugin.capture import api
    from tb_debugger_plugin.live.program.api import DEFAULT_LOGDIR

    api.enable_dump_debug_info(logdir or DEFAULT_LOGDIR, mode, circular_buffer_size=-1)
    return api.disable_dump_debug_info


def guard_this_process(logdir: str) -> None:
    """Record this process in mode GUARD from when it has imported TensorFlow; a viewer is left alone.

    Args:
      logdir: The folder for the recording.
    """
    if "tensorflow" in sys.modules:
        _guard(logdir)
    else:
        _after_import("tensorflow", lambda: _guard(logdir))


def _guard(logdir: str) -> None:
    if _VIEWER in sys.modules:
        return
    try:
        _record(logdir, "GUARD")
    except Exception as error:  # whatever it is, the program goes on
        print(f"tb_debugger_plugin: This program is not guarded: {error}", file=sys.stderr)


def _end_shell(shell: FunctionShell) -> None:
    """End the shell, and say so if it has never opened."""
    if shell.is_on and not shell.num_calls:
        print(
            "tbdbg: The shell did not open, because the program called no tf.function. Mark its steps with"
            " tb_debugger_plugin.step(); or record it with `tbdbg run`, and look at the recording with"
            " `tbdbg shell`.",
            file=sys.stderr,
        )
    shell.stop()


def _enable_breakpoints(settings: Settings) -> Callable[[], None]:
    from tb_debugger_plugin.live.program.api import DEFAULT_LOGDIR, enable_breakpoints

    given = {"tensor_debug_mode": settings.mode, "when_alone": settings.when_alone}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return enable_breakpoints(
        settings.logdir or DEFAULT_LOGDIR,
        wait=settings.wait,
        may_change_values=settings.may_change_values,
        **options,
    ).close


def _run_script(program: list[str]) -> None:
    path = program[0]
    if os.path.isdir(path):
        sys.argv = program
        sys.path.pop(0)  # run_path adds the folder
        runpy.run_path(path, run_name="__main__")
        return
    sys.argv, sys.path[0] = program, os.path.dirname(os.path.realpath(path))
    path = os.path.abspath(path)  # as in the program that Python runs
    module = ModuleType("__main__")
    vars(module).update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    with open(path, "rb") as source:
        code = compile(source.read(), path, "exec", dont_inherit=True)
    exec(code, vars(module))


def _run_module(program: list[str]) -> None:
    sys.argv = program
    runpy.run_module(program[0], run_name="__main__", alter_sys=True)


def _after_import(name: str, call: Callable[[], None]) -> None:
    """Call a function when the program has imported a module for the first time."""
    sys.meta_path.insert(0, _Finder(name, call))


class _Finder(importlib.abc.MetaPathFinder):
    """Lets other finders find a module, once, and its loader call a function afterwards."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name = name
        self._call = call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module without this finder."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: importlib.abc.Loader) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # the method of the class is there again
            execute(module)
            self._call()

        vars(loader)["exec_module"] = exec_module


if __name__ == "__main__":
    main(sys.argv[1:])
