"""The user interface of plain lines: for pipes, scripts, and terminals that cannot do more.

Reads command lines from a file or from the arguments, and prints screens as text. It escapes every text of a
recording.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Final, TextIO

from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.shell.program import Detach, Leave, Resume
from tb_debugger_plugin.shell.screen import Screen, text_of
from tb_debugger_plugin.shell.shell import Shell

#: Lines of an answer that are printed; ``> file`` writes all.
MAX_LINES: Final = 10_000
PROMPT: Final = "tbdbg> "


def show(answer: Screen, out: TextIO) -> None:
    """Print a screen."""
    if answer.title:
        print(f"--- {printable(answer.title)} ---", file=out)
    for line in answer.lines[:MAX_LINES]:
        print(printable(text_of(line)).rstrip(), file=out)
    left = len(answer.lines) - MAX_LINES
    if left > 0:
        print(f"({left:,} more lines; add `> FILE` to write all of them)", file=out)


def run_commands(shell: Shell, commands: Iterable[str], out: TextIO) -> int:
    """Run command lines, until one fails or ends the shell.

    Returns:
      The exit code: 1 if a command failed.
    """
    for line in commands:
        answer = shell.answer(line)
        if isinstance(answer, Screen):
            show(answer, out)
            if answer.is_error:
                return 1
        if isinstance(answer, Leave):
            return answer.code
    return 0


class PlainLines:
    """Talks in lines with whoever types them.

    Args:
      lines: Where command lines come from.
      out: Where answers go.
    """

    def __init__(self, lines: Iterator[str], out: TextIO) -> None:
        self._lines = lines
        self._out = out

    def converse(self, shell: Shell, first: Screen | None = None) -> Resume | Leave | Detach:
        """Show a screen and answer command lines, until one ends the shell.

        Args:
          shell: The shell.
          first: What is shown at the start.

        Returns:
          How the program goes on. At the end of the lines it goes on without the shell.
        """
        if first is not None:
            show(first, self._out)
        for line in self._lines:
            answer = shell.answer(line)
            if isinstance(answer, Screen):
                show(answer, self._out)
            elif answer is not None:
                return answer
        return Detach()


def typed_lines(out: TextIO, source: TextIO) -> Iterator[str]:
    """Yields what is typed after a prompt, until the end of the file.

    Args:
      out: Where the prompt goes.
      source: Where lines come from.
    """
    for _ in itertools.count():
        print(PROMPT, end="", flush=True, file=out)
        line = source.readline()
        if not line:
            print(file=out)
            return
        yield line.rstrip("\n")
