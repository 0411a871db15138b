"""A program at a pseudo-terminal: a test types, waits for what is shown, and closes the terminal."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.support.checkout import ROOT

PATIENCE_S = 60.0
#: A new session has no terminal until it opens one that no other session has.
#: What runs in the background ignores Ctrl-C, and so would its children.
_TAKE_TERMINAL = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as a terminal has it, also under nohup
os.execvp(sys.argv[1], sys.argv[1:])
"""
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?<>=$]*[ -/]*[@-~]|\][^\x07]*\x07|[=>()][A-Z0-9]?)")


def _environment() -> dict[str, str]:
    """The variables of the test, without the size of its own window."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}


class Terminal:
    """A program whose input, output and errors are one terminal.

    Args:
      command: The program and its arguments.
      environment: Variables besides those of the test.
      columns: The width of the window.
      rows: Its height.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self._master, slave = pty.openpty()
        self.resize(columns, rows)
        self._lock = threading.Lock()  # guards the text
        self._text = ""
        self._expected = 0
        self._is_closing = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *command],
            cwd=ROOT,
            env={**_environment(), "TERM": "xterm-256color", **(environment or {})},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self.hang_up()

    def _read(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        with contextlib.suppress(OSError):
            while not self._is_closing.is_set():
                # A terminal that is being read is not closed by closing its number.
                if select.select([self._master], [], [], 0.05)[0]:
                    text = decode(os.read(self._master, 65536))
                    with self._lock:
                        self._text += text

    @property
    def raw(self) -> str:
        """All that was written, with the escape sequences."""
        with self._lock:
            return self._text

    @property
    def shown(self) -> str:
        """All that was written, with a line feed for each escape sequence that may move the cursor."""
        return _ESCAPE.sub(lambda found: "" if found[0].endswith("m") else "\n", self.raw)

    def send(self, text: str) -> None:
        """Type."""
        os.write(self._master, text.encode())

    def wait_for(self, text: str, after: int = 0) -> int:
        """Wait until something is shown; returns where it ends, which is where to look for the next one."""
        until = time.monotonic() + PATIENCE_S
        while (at := self.shown.find(text, after)) < 0:
            assert time.monotonic() < until, f"{text!r} is not shown, but {self.shown[after:]!r}"
            time.sleep(0.02)
        return at + len(text)

    def expect(self, text: str) -> str:
        """Wait until something is shown after what was expected before; returns all up to its end."""
        begin, self._expected = self._expected, self.wait_for(text, self._expected)
        return self.shown[begin : self._expected]

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the window."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> None:
        """Close the terminal."""
        if self._master >= 0:
            self._is_closing.set()
            self._reader.join()
            os.close(self._master)
            self._master = -1

    def end(self) -> int:
        """Wait for the end of the program; returns its exit code."""
        return self.process.wait(PATIENCE_S)


def python_at_terminal(folder: Path, *arguments: str) -> Terminal:
    """Starts Python at a terminal that cannot move its cursor; what the shell keeps goes into a folder.

    Args:
      folder: The folder.
      *arguments: The arguments of Python.
    """
    names = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")
    environment = {name: str(folder / name) for name in names}
    environment |= {"TB_DEBUGGER_CACHE": str(folder / "tables"), "TMPDIR": str(folder)}
    environment |= {"TERM": "dumb", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return Terminal([sys.executable, *arguments], environment, columns=200)
