"""What tests of the shell ask of its answers."""

from __future__ import annotations

from tb_debugger_plugin.shell.command import Answer
from tb_debugger_plugin.shell.screen import Screen, text_of


def texts(answer: Answer | None) -> list[str]:
    """The lines of a screen, which is no error."""
    assert isinstance(answer, Screen)
    lines = [text_of(line).rstrip() for line in answer.lines]
    assert not answer.is_error, lines
    return lines


def error(answer: Answer | None) -> str:
    """The line of a screen that is an error."""
    assert isinstance(answer, Screen) and answer.is_error, answer
    (line,) = answer.lines
    return text_of(line)


def links(answer: Answer | None) -> dict[str, str]:
    """The commands of the links of a screen, by text."""
    assert isinstance(answer, Screen)
    return {part.text.strip(): part.command for line in answer.lines for part in line if part.command}
