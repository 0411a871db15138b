"""Command lines as they are typed at a prompt.

At a terminal they are edited with Python's `readline`: Tab completes, Up and Down look for what was typed
before. What readline had before (the lines and the completion of a Python prompt) is put back.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import Final, TextIO

from tb_debugger_plugin.shell.completion import complete
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.history import History, history_file
from tb_debugger_plugin.shell.ui.styles import is_terminal

try:
    import readline
except ImportError:  # Python can be built without it
    readline = None  # type: ignore[assignment]

PROMPT: Final = "tbdbg> "
_AGAIN: Final = "(Ctrl-C again leaves the shell, and so does `exit`.)"
# What the keys do while we read a line, and what Python's own prompt expects of them.
_GNU: Final = (
    "tab: complete",
    r'"\e[A": history-search-backward',
    r'"\e[B": history-search-forward',
)
_GNU_BEFORE: Final = (r'"\e[A": previous-history', r'"\e[B": next-history')
_EDITLINE: Final = (
    "bind ^I rl_complete",
    "bind ^[[A ed-search-prev-history",
    "bind ^[[B ed-search-next-history",
)
_EDITLINE_BEFORE: Final = ("bind ^[[A ed-prev-history", "bind ^[[B ed-next-history")


def typed_lines(shell: Shell, source: TextIO, out: TextIO) -> Iterator[str]:
    """Yield what is typed after a prompt, until the end of the file.

    Args:
      shell: What completes the lines.
      source: Where lines come from.
      out: Where the prompt goes.
    """
    # Python edits lines of these two only.
    at_terminal = source is sys.stdin and out is sys.stdout and is_terminal(source) and is_terminal(out)
    if at_terminal and readline is not None:
        return _edited_lines(shell, out)
    return _read_lines(source, out)


def _read_lines(source: TextIO, out: TextIO) -> Iterator[str]:
    # The commands of a pipe are not echoed, so prompts would stand alone.
    prompt, end = (PROMPT, "\n") if is_terminal(source) else ("", "")
    while True:
        print(prompt, end="", flush=True, file=out)
        line = _next_line(source)
        if not line:
            print(end, end="", file=out)
            return
        yield line.rstrip("\n")


def _next_line(source: TextIO) -> str:
    """Return the next line; empty at the end, and where nothing can be read."""
    with contextlib.suppress(OSError, ValueError):
        return source.readline()
    return ""


def _edited_lines(shell: Shell, out: TextIO) -> Iterator[str]:
    history = History(history_file())
    interrupts = 0
    while True:
        try:
            with _editing(shell, history):
                line = input(PROMPT)
        except EOFError:
            print(file=out)
            return
        except KeyboardInterrupt:
            interrupts += 1
            print("\n" + (_AGAIN if interrupts == 1 else ""), file=out)
            if interrupts == 1:
                continue
            line = "exit"
        interrupts = 0
        history.add(line)
        yield line


@contextlib.contextmanager
def _editing(shell: Shell, history: History) -> Iterator[None]:
    """Give readline our lines and our completion, and take them back."""
    count = readline.get_current_history_length()
    lines = [line for line in map(readline.get_history_item, range(1, count + 1)) if line is not None]
    completer, delims = readline.get_completer(), readline.get_completer_delims()
    _set_lines(history.lines())
    readline.set_completer(_Completer(shell))
    readline.set_completer_delims(" \t")
    _bind(*(_EDITLINE if _is_editline() else _GNU))
    try:
        yield
    finally:
        _set_lines(lines)
        readline.set_completer(completer)
        readline.set_completer_delims(delims)
        _bind(*(_EDITLINE_BEFORE if _is_editline() else _GNU_BEFORE))


def _is_editline() -> bool:
    return "libedit" in (readline.__doc__ or "")


def _bind(*lines: str) -> None:
    for line in lines:
        readline.parse_and_bind(line)


def _set_lines(lines: Iterable[str]) -> None:
    readline.clear_history()
    for line in lines:
        readline.add_history(line)


class _Completer:
    """Answers readline, which asks for one candidate after another."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._found: list[str] = []

    def __call__(self, text: str, state: int) -> str | None:
        if state == 0:
            self._found = self._candidates()
        return self._found[state] if state < len(self._found) else None

    def _candidates(self) -> list[str]:
        line, begin = readline.get_line_buffer(), readline.get_begidx()
        found = complete(self._shell, line, readline.get_endidx())
        # readline replaces its own word, which may begin before what is completed.
        if found.start >= begin:
            return [line[begin : found.start] + one for one in found.candidates]
        return [one[begin - found.start :] for one in found.candidates]
