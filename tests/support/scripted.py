"""A user interface that answers by a script, for tests of what opens the shell.

Use::

    script = Script(["lt", Resume(RunRequest())], ["pt logs:0"])
    LocalCLIDebugWrapperSession(session, ui_type=script)
    script.texts()  # what the shell showed, an entry for each time that it was opened
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tb_debugger_plugin.shell.program import Call, Detach, Leave, Resume, RunRequest
from tb_debugger_plugin.shell.screen import Screen, text_of
from tb_debugger_plugin.shell.shell import Shell


def go_on(**request: Any) -> Resume:
    """Returns the end of a shell after which the program goes on."""
    return Resume(RunRequest(**request))


class Script:
    """What is typed, each time that the shell opens; after the script the program goes on without it.

    Args:
      *visits: For each time, command lines, and at the end how the program goes on. An end may stand alone.

    Attributes:
      calls: The calls at which the shell was opened.
      screens: The screens of each time: the first one, and the answers.
    """

    def __init__(self, *visits: Sequence[str | Resume | Leave | Detach] | Resume | Leave | Detach) -> None:
        self._visits = [[one] if isinstance(one, (Resume, Leave, Detach)) else list(one) for one in visits]
        self.calls: list[Call] = []
        self.screens: list[list[Screen]] = []

    def converse(self, shell: Shell, first: Screen | str = "") -> Resume | Leave | Detach:
        """Answer one visit."""
        assert shell.call is not None
        self.calls.append(shell.call)
        shown: list[Screen] = []
        self.screens.append(shown)
        opening = shell.answer(first) if isinstance(first, str) else first
        if isinstance(opening, Screen):
            shown.append(_read(opening))
        number = len(self.calls) - 1
        for line in self._visits[number] if number < len(self._visits) else ():
            answer = shell.answer(line) if isinstance(line, str) else line
            if not isinstance(answer, Screen):
                assert answer is not None
                return answer
            shown.append(_read(answer))
        return Detach()

    @property
    def is_done(self) -> bool:
        """Whether the shell was opened as often as the script says."""
        return len(self.calls) == len(self._visits)

    def texts(self) -> list[str]:
        """Returns what was shown each time."""
        return ["\n".join(_text(one) for one in screens) for screens in self.screens]


def _read(screen: Screen) -> Screen:
    # Lines of a run are read when they are shown, which needs the run.
    return Screen(list(screen.lines), screen.mood, screen.title)


def _text(screen: Screen) -> str:
    return "\n".join([screen.title, *map(text_of, screen.lines)])
