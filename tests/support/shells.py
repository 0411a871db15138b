"""Shells over folders, and what tests ask of their answers: the lines, the error, the links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.shell.command import Answer
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.screen import Line, Screen, plain, text_of
from tb_debugger_plugin.shell.shell import Shell


class NumberedLines(Sequence[Line]):
    """Lines that are made when they are asked for, and counted."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.made = 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int | slice) -> Line:
        self.made += 1
        return plain(f"line {index}")


def shell_over(folder: Path, **facts: object) -> Shell:
    """A shell over the runs of a folder."""
    return Shell(COMMANDS, location(str(folder)), **facts)


@contextmanager
def shells_over(folder: Path, *names: str) -> Iterator[dict[str, Shell]]:
    """Shells over some folders of one, by name."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(shell_over(folder / name)) for name in names}


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
    assert isinstance(answer, Screen) and answer.is_error, answer
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


def last_links_of(answer: Answer | None) -> dict[str, str]:
    """The same; the last one of each text."""
    lines = screen(answer).lines
    return {part.text.strip(): part.command for line in lines for part in line if part.command is not None}
