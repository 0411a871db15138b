"""Calls functions in processes of their own that need not import TensorFlow first.

A server process imports it once, makes nothing with it, and forks for each call. The function, its arguments
and its result have to be picklable. What a call prints goes into a file.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from typing import Any, TypeVar

_Result = TypeVar("_Result")

#: Imported by the server, as slow as they are.
_PRELOADED = ["tensorflow", "keras", "sklearn.datasets", "tb_debugger_plugin.capture.api"]
_TIMEOUT_S = 600.0


class CallError(Exception):
    """The process of a call ended without a result."""


@contextmanager
def server() -> Iterator[None]:
    """Calls are possible inside; the server begins with the first one, and ends at the end."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    _context().set_forkserver_preload(_PRELOADED)
    try:
        yield
    finally:
        # Python itself ends them only with the process.
        forkserver._forkserver._stop()  # type: ignore[attr-defined]
        resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


def call(function: Callable[..., _Result], *args: Any, timeout: float = _TIMEOUT_S) -> _Result:
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


def _context() -> Any:
    return multiprocessing.get_context("forkserver")


def _work(function: Callable[..., Any], args: tuple[Any, ...], result: str, said: str) -> None:
    output = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    returned = function(*args)
    Path(f"{result}.part").write_bytes(pickle.dumps(returned))
    os.replace(f"{result}.part", result)
