"""A program at a terminal of its own, which a test types into and reads from.

Use::

    with AtTerminal("-c", "print(input('name? '))") as program:
        program.expect("name? ")
        program.type("me")
        assert program.wait() == 0
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from types import TracebackType

_SECONDS = 60.0
#: Makes the terminal the one that sends Ctrl-C and hangs up, and becomes the program.
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


class AtTerminal:
    """Python with a terminal as its input and output; lives until the end of the block.

    Args:
      *arguments: The arguments of Python.
      **environment: Variables of the environment.

    Attributes:
      seen: What was printed so far.
    """

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.seen = ""
        self._read = 0
        self._terminal, inner = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *arguments],
            stdin=inner,
            stdout=inner,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TERM": "dumb", "TF_CPP_MIN_LOG_LEVEL": "3", "COLUMNS": "200", **environment},
            start_new_session=True,
        )
        os.close(inner)

    def __enter__(self) -> AtTerminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        if self._terminal >= 0:
            os.close(self._terminal)

    def expect(self, pattern: str) -> str:
        """Wait until something is printed after what was waited for last; returns all up to its end."""
        until = time.monotonic() + _SECONDS
        while (found := re.search(pattern, self.seen[self._read :])) is None:
            assert time.monotonic() < until and self._read_more(), f"no {pattern!r} in:\n{self.seen}"
        text = self.seen[self._read : self._read + found.end()]
        self._read += found.end()
        return text

    def _read_more(self) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], 1.0)
        try:
            data = os.read(self._terminal, 1 << 16) if ready else b""
        except OSError:  # the program has ended
            return False
        self.seen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return True

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._terminal, f"{line}\n".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.write(self._terminal, b"\x03")

    def hang_up(self) -> None:
        """Close the terminal."""
        os.close(self._terminal)
        self._terminal = -1

    def wait(self) -> int:
        """Wait until the program ends; returns its exit status."""
        until = time.monotonic() + _SECONDS
        while self._terminal >= 0 and self._process.poll() is None and time.monotonic() < until:
            self._read_more()
        return self._process.wait(_SECONDS)
