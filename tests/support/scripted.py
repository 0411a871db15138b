"""Users of the shell who follow a script, for tests of what opens the shell.

:class:`Script` types command lines into a user interface; :class:`ScriptedUser` only says how the program
goes on, in the place of a terminal. ::

    script = Script(["lt", Resume(RunRequest())], ["pt logs:0"])
    LocalCLIDebugWrapperSession(session, ui_type=script)
    script.texts()  # what the shell showed, an entry for each time that it was opened
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tb_debugger_plugin.shell.program import Call, Detach, Leave, Resume, RunRequest
from tb_debugger_plugin.shell.screen import Screen, text_of
from tb_debugger_plugin.shell.shell import Shell

#: Runs on until a tensor is bad.
TILL_BAD: Final = RunRequest(till_filter="has_inf_or_nan")
End = Resume | Leave | Detach


def go_on(**request: object) -> Resume:
    """Returns the end of a shell after which the program goes on."""
    return Resume(RunRequest(**request))


class _User:
    """Someone at whom the shell is opened.

    Attributes:
      calls: The calls at which the shell was opened.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def _comes(self, shell: Shell) -> None:
        assert shell.call is not None
        self.calls.append(shell.call)

    @property
    def stops(self) -> list[str]:
        """Where the shell was open: ``>3`` before call 3, ``3>`` after it."""
        return [f"{call.number}>" if call.is_over else f">{call.number}" for call in self.calls]


class ScriptedUser(_User):
    """Answers each opening of the shell by the next entry of a script, and afterwards by `run`.

    Args:
      script: How the program goes on: a request, or how the shell is left.
      look: Called while the shell is open.
    """

    def __init__(
        self,
        script: Sequence[RunRequest | Leave | Detach] = (),
        look: Callable[[Shell], None] | None = None,
    ) -> None:
        super().__init__()
        self.script = list(script)
        self.look = look

    def __call__(self, shell: Shell) -> End:
        """Look at the call, and go on."""
        self._comes(shell)
        if self.look is not None:
            self.look(shell)
        answer = self.script.pop(0) if self.script else RunRequest()
        return Resume(answer) if isinstance(answer, RunRequest) else answer


class Script(_User):
    """What is typed, each time that the shell opens; after the script the program goes on without it.

    Args:
      *visits: For each time, command lines, and at the end how the program goes on. An end may stand alone.

    Attributes:
      screens: The screens of each time: the first one, and the answers.
    """

    def __init__(self, *visits: Sequence[str | End] | End) -> None:
        super().__init__()
        self._visits = [[one] if isinstance(one, (Resume, Leave, Detach)) else list(one) for one in visits]
        self.screens: list[list[Screen]] = []

    def converse(self, shell: Shell, first: Screen | str = "") -> End:
        """Answer one visit."""
        self._comes(shell)
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

    def texts(self) -> list[str]:
        """Returns what was shown each time."""
        return ["\n".join(_text(one) for one in screens) for screens in self.screens]


def _read(screen: Screen) -> Screen:
    # Lines of a run are read when they are shown, which needs the run.
    return Screen(list(screen.lines), screen.mood, screen.title)


def _text(screen: Screen) -> str:
    return "\n".join([screen.title, *map(text_of, screen.lines)])


def lines_of(shell: Shell, command: str) -> list[str]:
    """Returns the lines of an answer; an error fails."""
    answer = shell.answer(command)
    assert isinstance(answer, Screen)
    lines = [text_of(line) for line in answer.lines]
    assert not answer.is_error, lines
    return lines


def tensors(shell: Shell, options: str = "") -> list[str]:
    """Returns the names that `lt` lists."""
    return [line.split()[-1] for line in lines_of(shell, f"lt {options}") if line.startswith("[")]
