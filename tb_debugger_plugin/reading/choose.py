"""Finds the runs of a logdir, and the one that a user means.

Takes a folder and perhaps a name. Every error says which names there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.runs import FoundRun, Problem, find_runs, has_debug_events

#: How many of several names an error message shows.
_NAMES: Final = 5


def check_folder(folder: Location) -> None:
    """Check that a folder exists and can be read completely.

    Raises:
      NotFoundError: It does not exist, or cannot be read completely.
    """
    problems: list[Problem] = []
    has_debug_events(folder, problems.append)
    if problems:
        raise NotFoundError(_sentences(problems))


def _sentences(problems: Sequence[Problem]) -> str:
    """Return what is wrong with some folders, a line each."""
    return "\n".join(problem.message for problem in problems)


def chosen(
    logdir: Location, name: str | None = None, report: Callable[[str], None] = lambda message: None
) -> list[FoundRun]:
    """Return the runs of a logdir, at least one.

    Args:
      logdir: The folder.
      name: Only the run of this name; None (the default) = all.
      report: Called with what cannot be read beside the runs.

    Raises:
      NotFoundError: There are no runs, or none of this name.
      OSError: The logdir cannot be read.
    """
    problems: list[Problem] = []
    runs = find_runs(logdir, problems.append)
    if not runs:
        message = f"{logdir} holds no debug events; record some with tb_debugger_plugin.record(...)."
        raise NotFoundError(_sentences(problems) or message)
    if problems:
        report(_sentences(problems))
    found = [run for run in runs if name is None or run.name == name]
    if not found:
        raise NotFoundError(f"There is no run named {name!r} in {logdir}; choose from {_listed(runs)}.")
    return found


def only(
    logdir: Location,
    name: str | None,
    option: str,
    report: Callable[[str], None] = lambda message: None,
) -> FoundRun:
    """Return the run of a name, or the only run.

    Args:
      logdir: The folder.
      name: The name; None = there must be a single run.
      option: What the user chooses a run with, for the message.
      report: As for :func:`chosen`.

    Raises:
      NotFoundError: There is no such run, or there are several and no name is given.
      OSError: The logdir cannot be read.
    """
    runs = chosen(logdir, name, report)
    if len(runs) > 1:
        raise NotFoundError(f"{logdir} holds several runs; choose one with {option}: {_listed(runs)}.")
    return runs[0]


def _listed(runs: Sequence[FoundRun]) -> str:
    shown = [repr(run.name) for run in runs[:_NAMES]]
    left = len(runs) - len(shown)
    *first, last = [*shown, f"{left} more"] if left else shown
    return f"{', '.join(first)} and {last}" if first else last
