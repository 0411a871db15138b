"""A command of the shell as a value: name, aliases, arguments, and the function that answers.

A table of them (`commands.table`) is what the shell runs, what `help` prints, what completion offers, and
what the documents and tests iterate.
"""

from __future__ import annotations

import argparse
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.program import Detach, Leave, Resume
from tb_debugger_plugin.shell.screen import Screen

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

#: What a command returns: something to show, or the end of the shell.
Answer: TypeAlias = "Screen | Resume | Leave | Detach"


class Needs(enum.Enum):
    """What a command cannot do without."""

    NOTHING = "nothing"
    RECORDING = "a recording"
    PROGRAM = "a program that is stopped"
    SCREEN = "the full screen"
    LIVE = "a running program to which the shell is attached"
    EITHER = "a program that is stopped, or to which the shell is attached"


class Completes(enum.Enum):
    """What a word of a command may be."""

    NOTHING = "nothing"
    COMMAND = "the name of a command"
    TENSOR = "a tensor"
    NODE = "a node"
    FILTER = "a tensor filter"
    FEED = "a feed"
    SOURCE = "a source file"
    RUN = "a run"
    FUNCTION = "a function"
    SETTING = "a setting"


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Raise a :class:`UsageError`."""
        raise UsageError(f"{self.prog}: {message}. `help {self.prog}` shows its arguments.")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Raise a :class:`UsageError`; nothing here ends the process."""
        raise UsageError(message or f"{self.prog} ended with {status}.")


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes:
      name: Its name.
      aliases: Short names.
      summary: One line that says what it does.
      run: Answers it.
      add_arguments: Adds its arguments to a parser.
      needs: What it cannot do without.
      completes: What its positional arguments are.
      option_completes: What the value of an option is, by each name of the option.
      examples: Command lines that `help` shows.
    """

    name: str
    aliases: tuple[str, ...]
    summary: str
    run: Callable[[Shell, argparse.Namespace], Answer]
    add_arguments: Callable[[argparse.ArgumentParser], None] = _no_arguments
    needs: Needs = Needs.RECORDING
    completes: Completes = Completes.NOTHING
    option_completes: tuple[tuple[str, Completes], ...] = ()
    examples: tuple[str, ...] = ()

    def parser(self) -> Parser:
        """Return a parser of its arguments, without the name."""
        parser = Parser(prog=self.name, description=self.summary, add_help=False, allow_abbrev=False)
        self.add_arguments(parser)
        return parser
