"""The shell without a terminal: takes command lines, returns screens.

A shell looks at the runs of a logdir, or at the call of a program that is stopped. No command and no name
in a recording can end it: whatever fails becomes a screen that says so.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final

import duckdb

from tb_debugger_plugin.errors import DebuggerError, UsageError, user_message
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.shell import screen, words
from tb_debugger_plugin.shell.attached import Attached
from tb_debugger_plugin.shell.command import Answer, Command, Needs
from tb_debugger_plugin.shell.program import Call
from tb_debugger_plugin.shell.screen import Mood, Screen
from tb_debugger_plugin.shell.settings import Settings
from tb_debugger_plugin.shell.tensor_filters import TensorFilters

#: What is missing where a command cannot be used.
_MISSING: Final = {
    Needs.PROGRAM: "a program that is stopped; this is a recording.",
    Needs.SCREEN: "the full screen; these are plain lines.",
    Needs.LIVE: "a running program: start the shell with `tbdbg shell --attach LOGDIR`.",
    Needs.EITHER: "a program that is stopped; this is a recording.",
}


class Shell:
    """A shell; ``close()`` closes the run that it has open.

    Args:
      commands: The commands by the groups of `help`; `commands.table` has them all.
      logdir: The folder with the runs; None for a program that has not recorded anything yet.
      name: The run to open first; None for the only one.
      call: The call at which a program is stopped; None without a program.
      filters: The tensor filters; None for the built-in ones.
      settings: The settings of the user; None for the defaults.
      attached: The running programs of the logdir; None if the shell is not attached to any.

    Attributes:
      logdir: As given.
      call: As given. Whoever stops the program replaces it.
      filters: The tensor filters.
      settings: The settings.
      attached: As given. Whoever gave it closes it.
      has_screen: Whether the answers are shown on a full screen, which sets it.
    """

    def __init__(
        self,
        commands: Mapping[str, Sequence[Command]],
        logdir: Location | None,
        name: str | None = None,
        *,
        call: Call | None = None,
        filters: TensorFilters | None = None,
        settings: Settings | None = None,
        attached: Attached | None = None,
    ) -> None:
        self.logdir = logdir
        self.call = call
        self.filters = TensorFilters() if filters is None else filters
        self.settings = Settings() if settings is None else settings
        self.attached = attached
        self.has_screen = False
        self._groups = commands
        self._by_name = {
            name: one for group in commands.values() for one in group for name in (one.name, *one.aliases)
        }
        self._name = name
        self._run: Run | None = None

    def __enter__(self) -> Shell:
        """Return the shell; the end of the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the run."""
        self.close()

    def close(self) -> None:
        """Close the run that is open."""
        if self._run is not None:
            self._run.close()
            self._run = None

    # The run.

    @property
    def run(self) -> Run:
        """The run that the commands ask; opened when it is first asked for.

        Raises:
          NotFoundError: There are no runs, or there are several and none was chosen.
        """
        if self._run is None:
            self._run = Run(choose.only(self.folder, self._name, "`runs NAME`"))
        return self._run

    @property
    def run_name(self) -> str | None:
        """The name of the run that is open or was named."""
        return self._name if self._run is None else self._run.name

    @property
    def folder(self) -> Location:
        """The logdir.

        Raises:
          UsageError: Nothing is recorded yet.
        """
        if self.logdir is None:
            raise UsageError("Nothing is recorded yet: `run` records the next call.")
        return self.logdir

    def choose_run(self, name: str) -> Run:
        """Open another run of the logdir.

        Raises:
          NotFoundError: There is no such run.
        """
        found = choose.only(self.folder, name, "`runs NAME`")
        self.close()
        self._name, self._run = name, Run(found)
        return self._run

    def look_at(self, logdir: Location | None, call: Call | None) -> None:
        """Look at another call of a program.

        Args:
          logdir: The folder of its recording; None if it is not recorded.
          call: The call.
        """
        self.close()
        self.logdir, self._name, self.call = logdir, None, call

    # Command lines.

    def answer(self, line: str) -> Answer | None:
        """Run a command line.

        Args:
          line: The command line.

        Returns:
          A screen; or how a program goes on; or the end of the shell; None for an empty line.
        """
        try:
            command_line = words.parse(line)
            if not command_line.words:
                return None
            answer = self._run_command(command_line.words)
            if isinstance(answer, Screen) and command_line.file is not None:
                return self._written(answer, command_line.file)
            return answer
        except Exception as error:  # whatever a recording or a filter does, the shell goes on
            return error_screen(error)

    def _run_command(self, given: Sequence[str]) -> Answer:
        command = self.command(given[0])
        if self._misses(command.needs):
            raise UsageError(f"{command.name} needs {_MISSING[command.needs]}")
        return command.run(self, command.parser().parse_args(given[1:]))

    def command(self, name: str) -> Command:
        """Return the command of a name or an alias.

        Raises:
          UsageError: There is none.
        """
        command = self._by_name.get(name)
        if command is None:
            near = difflib.get_close_matches(name, self._by_name, 1)
            hint = f"did you mean `{near[0]}`?" if near else "`help` lists the commands."
            raise UsageError(f"There is no command {name!r}; {hint}")
        return command

    def commands(self) -> list[Command]:
        """Return the commands that can be used now."""
        return [one for group in self.groups().values() for one in group]

    def groups(self) -> dict[str, list[Command]]:
        """Return the commands that can be used now, by the groups of `help`; no group is empty."""
        usable = {
            title: [one for one in group if not self._misses(one.needs)]
            for title, group in self._groups.items()
        }
        return {title: commands for title, commands in usable.items() if commands}

    def _misses(self, needs: Needs) -> bool:
        missing = {
            Needs.PROGRAM: self.call is None,
            Needs.SCREEN: not self.has_screen,
            Needs.LIVE: self.attached is None,
            Needs.EITHER: self.call is None and self.attached is None,
        }
        return missing.get(needs, False)

    def _written(self, answer: Screen, file: str) -> Screen:
        path = Path(file).expanduser()
        with path.open("w", encoding="utf-8") as out:
            out.writelines(screen.text_of(line).rstrip() + "\n" for line in answer.lines)
        return replace(screen.of_text(f"Wrote output to {path}"), mood=answer.mood)


def error_screen(error: Exception) -> Screen:
    """Return the screen that says what failed: one line, whatever names of the recording are in it."""
    if isinstance(error, duckdb.Error):
        return screen.of_text(f"ERROR: {str(error).splitlines()[0]}", Mood.ERROR)
    with contextlib.suppress(Exception):
        return screen.of_text(printable(f"ERROR: {_sentence(error)}"), Mood.ERROR)
    return screen.of_text(f"ERROR: {type(error).__name__}", Mood.ERROR)


def _sentence(error: Exception) -> str:
    if isinstance(error, (DebuggerError, OSError)):
        return user_message(error)
    return f"This is a mistake in the shell: {user_message(error)}"
