"""Runs a module as a program that ends when its parent program ends, even if the parent was killed.

`python -m tb_debugger_plugin.cli.child MODULE ARGUMENT …` with a pipe as its standard input. The parent holds
the other end of the pipe and need not do anything: the system closes it even when the parent is killed.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Final

_STDIN: Final = 0
#: Seconds that the module may take to end by itself.
_PATIENCE_S: Final = 10.0


def start(module: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a module that ends with this program.

    Args:
      module: The full name of the module.
      *arguments: Its command line.
      **options: Options of `subprocess.Popen`, except `stdin`, which is the pipe.
    """
    command = [sys.executable, "-m", __name__, module, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, **options)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process from :func:`start`, unless it has ended, and wait for it."""
    process.terminate()
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _end_with_the_parent() -> None:
    while os.read(_STDIN, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE_S)
    os._exit(1)


def main() -> None:
    """Run the module that the first argument names."""
    threading.Thread(target=_end_with_the_parent, name="tb-debugger-parent", daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
