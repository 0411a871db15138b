"""The user interface of plain lines: for pipes, scripts, and terminals that cannot do more.

Reads command lines from a file or from the arguments, and prints screens as text. It escapes every text of a
recording.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TextIO

from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.shell.command import Answer
from tb_debugger_plugin.shell.program import Detach, Leave, Resume
from tb_debugger_plugin.shell.screen import Screen, Style
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.styles import painter

#: Lines of an answer that are printed; ``> file`` writes all.
MAX_LINES: Final = 10_000


def show(answer: Screen, out: TextIO) -> None:
    """Print a screen; on a terminal in colours."""
    paint = painter(out)
    if answer.title:
        print(paint(f"--- {printable(answer.title)} ---", Style.HEADING), file=out)
    for number in range(answer.begin, min(len(answer.lines), answer.begin + MAX_LINES)):
        line = answer.lines[number]
        print("".join(paint(printable(part.text), part.style) for part in line).rstrip(), file=out)
    left = len(answer.lines) - answer.begin - MAX_LINES
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
      lines: Returns what is typed, by the shell that completes it.
      out: Where answers go.
    """

    has_screen = False

    def __init__(self, lines: Callable[[Shell], Iterator[str]], out: TextIO) -> None:
        self._lines = lines
        self._out = out

    def converse(self, shell: Shell, first: Screen | str = "") -> Resume | Leave | Detach:
        """Show a screen and answer command lines, until one ends the shell.

        Args:
          shell: The shell.
          first: What is shown at the start: a screen, or the answer of a command line.

        Returns:
          How the program goes on. At the end of the lines it goes on without the shell.
        """
        lines = self._lines(shell)
        if isinstance(first, Screen):
            show(first, self._out)
        else:
            lines = itertools.chain([first], lines)
        for line in lines:
            answer = self._answer(shell, line)
            if isinstance(answer, (Resume, Leave, Detach)):
                return answer
        return Detach()

    def _answer(self, shell: Shell, line: str) -> Answer | None:
        """Answer a line; Ctrl-C ends the answer, not the shell."""
        try:
            answer = shell.answer(line)
            if isinstance(answer, Screen):
                show(answer, self._out)
            return answer
        except KeyboardInterrupt:
            print("\n(interrupted)", file=self._out)
            return None
