"""Calls functions, and runs programs, in processes of their own that need not import TensorFlow first.

A server process imports it once, makes nothing with it, and forks for each call. The function, its arguments
and its result have to be picklable. What a call prints goes into a file. The server begins with the first
call; it ends with :func:`server`, or else with this process.

A program that is started for how it starts or dies, or with variables that TensorFlow reads when it is
imported, needs a process of its own from the beginning.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import pickle
import runpy
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import TypeVar

_Result = TypeVar("_Result")

#: Imported by the server, as slow as they are.
_PRELOADED = ["tensorflow", "keras", "sklearn.datasets", "tb_debugger_plugin.capture.api"]
_TIMEOUT_S = 600.0


class CallError(Exception):
    """The process of a call ended without a result."""


@contextlib.contextmanager
def server() -> Iterator[None]:
    """Calls are possible inside; the server begins with the first one, and ends at the end."""
    try:
        yield
    finally:
        # Python itself ends them only with the process.
        forkserver._forkserver._stop()  # type: ignore[attr-defined]
        resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


def call(function: Callable[..., _Result], *args: object, timeout: float = _TIMEOUT_S) -> _Result:
    """Call a function of a module in a new process.

    Args:
      function: A function on module level.
      args: Its arguments.
      timeout: Seconds after which the process is ended.

    Returns:
      What it returns.

    Raises:
      CallError: It raised, took too long, or its process ended; with the end of what was printed.
    """
    with tempfile.TemporaryDirectory(prefix="zoo-call-") as folder:
        result, said = Path(folder, "result"), Path(folder, "said")
        process = _context().Process(target=_work, args=(function, args, str(result), str(said)))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
        if not result.exists():
            text = said.read_text(errors="replace")[-2000:] if said.exists() else ""
            raise CallError(f"The process of {function.__name__} ended with {process.exitcode}:\n{text}")
        returned: _Result = pickle.loads(result.read_bytes())
        return returned


def run(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    input: str = "",
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run Python as `subprocess.run([sys.executable, *arguments])` does.

    Args:
      arguments: `-c TEXT`, `-m MODULE` or the path of a script, and what `sys.argv` has after it.
      env: The variables; None for those of this process.
      cwd: The folder to run in; None for that of this process.
      input: What it reads.
      timeout: Seconds after which the process is killed.

    Returns:
      Its exit code and what it printed.
    """
    with tempfile.TemporaryDirectory(prefix="program-") as folder:
        files = [Path(folder, name) for name in ("in", "out", "err")]
        files[0].write_text(input)
        given = (list(arguments), dict(env or os.environ), str(cwd or Path.cwd()), [*map(str, files)])
        process = _context().Process(target=_run_program, args=given)
        process.start()
        process.join(timeout or _TIMEOUT_S)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(
                arguments, timeout or _TIMEOUT_S, *map(Path.read_bytes, files[1:])
            )
        printed = [file.read_text(errors="replace") if file.exists() else "" for file in files[1:]]
        return subprocess.CompletedProcess(arguments, process.exitcode, *printed)


def _run_program(arguments: list[str], env: dict[str, str], cwd: str, files: list[str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, file in enumerate(files):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT), number)
    sys.stdin, sys.stdout, sys.stderr = (open(number, "w" if number else "r") for number in range(3))
    code = 0
    try:
        _execute(arguments)
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
        if isinstance(exit.code, str):
            print(exit.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    # As at the end of Python; processes of `multiprocessing` end without.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _execute(arguments: list[str]) -> None:
    how, *rest = arguments
    if how == "-c":
        sys.argv, sys.path[:0] = ["-c", *rest[1:]], [""]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    elif how == "-m":
        sys.argv, sys.path[:0] = rest, [""]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[:0] = arguments, [str(Path(how).resolve().parent)]
        runpy.run_path(how, run_name="__main__")


def _context() -> ForkServerContext:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _work(function: Callable[..., object], args: tuple[object, ...], result: str, said: str) -> None:
    output = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    returned = function(*args)
    Path(f"{result}.part").write_bytes(pickle.dumps(returned))
    os.replace(f"{result}.part", result)
