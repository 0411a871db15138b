"""A user of the shell who follows a script, in the place of a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tb_debugger_plugin.shell.program import Call, Detach, Leave, Resume, RunRequest
from tb_debugger_plugin.shell.screen import Screen, text_of
from tb_debugger_plugin.shell.shell import Shell

#: Runs on until a tensor is bad.
TILL_BAD = RunRequest(till_filter="has_inf_or_nan")


@dataclass
class ScriptedUser:
    """Answers each opening of the shell by the next entry of a script, and afterwards by `run`.

    Attributes:
      script: How the program goes on: a request, or how the shell is left.
      look: Called while the shell is open.
      calls: The calls at which it was open.
    """

    script: list[RunRequest | Leave | Detach] = field(default_factory=list)
    look: Callable[[Shell], None] | None = None
    calls: list[Call] = field(default_factory=list)

    def __call__(self, shell: Shell) -> Resume | Leave | Detach:
        """Look at the call, and go on."""
        assert shell.call is not None
        self.calls.append(shell.call)
        if self.look is not None:
            self.look(shell)
        answer = self.script.pop(0) if self.script else RunRequest()
        return Resume(answer) if isinstance(answer, RunRequest) else answer

    @property
    def stops(self) -> list[str]:
        """Where the shell was open: ``>3`` before call 3, ``3>`` after it."""
        return [f"{call.number}>" if call.is_over else f">{call.number}" for call in self.calls]


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
