"""What tests ask of the answers of a shell: the lines, the error, the links."""

from __future__ import annotations

from tb_debugger_plugin.shell.command import Answer
from tb_debugger_plugin.shell.screen import Screen, text_of


def screen(answer: Answer | None) -> Screen:
    """A screen that is no error."""
    assert isinstance(answer, Screen)
    assert not answer.is_error, text_of(answer.lines[0])
    return answer


def lines_of(answer: Answer | None) -> list[str]:
    """The lines of a screen, without spaces at their ends."""
    return [text_of(line).rstrip() for line in screen(answer).lines]


def error_of(answer: Answer | None) -> str:
    """The only line of a screen that is an error."""
    assert isinstance(answer, Screen) and answer.is_error
    (line,) = answer.lines
    return text_of(line)


def links_of(answer: Answer | None) -> dict[str, str]:
    """The commands of a screen by the text of their links; the first one of each text."""
    found: dict[str, str] = {}
    for line in screen(answer).lines:
        for part in line:
            if part.command is not None:
                found.setdefault(part.text.strip(), part.command)
    return found
