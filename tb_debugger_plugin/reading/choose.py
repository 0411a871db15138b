"""Finds the runs of a logdir, and the one that a user means.

Takes a folder and perhaps a name. Every error says which names there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.runs import FoundRun, Problem, find_runs

#: How many of several names an error message shows.
_NAMES: Final = 5


def sentences(problems: Sequence[Problem]) -> str:
    """Return what is wrong with some folders, a line each."""
    return "\n".join(problem.message for problem in problems)


def all_runs(logdir: Location, report: Callable[[str], None] = lambda message: None) -> list[FoundRun]:
    """Return the runs of a logdir, at least one.

    Args:
      logdir: The folder.
      report: Called with what cannot be read beside the runs.

    Raises:
      NotFoundError: There are no runs.
    """
    problems: list[Problem] = []
    runs = find_runs(logdir, problems.append)
    if not runs:
        message = f"{logdir} holds no debug events; record some with tb_debugger_plugin.record(...)."
        raise NotFoundError(sentences(problems) or message)
    if problems:
        report(sentences(problems))
    return runs


def with_name(logdir: Location, runs: list[FoundRun], name: str | None) -> list[FoundRun]:
    """Return the run with the given name, or all runs without one.

    Raises:
      NotFoundError: There is no such run.
    """
    chosen = [run for run in runs if name is None or run.name == name]
    if not chosen:
        raise NotFoundError(f"There is no run named {name!r} in {logdir}; choose from {_listed(runs)}.")
    return chosen


def single(logdir: Location, runs: list[FoundRun], option: str) -> FoundRun:
    """Return the only run.

    Args:
      logdir: The folder.
      runs: Its runs, at least one.
      option: What the user chooses a run with, for the message.

    Raises:
      NotFoundError: There are several.
    """
    if len(runs) > 1:
        raise NotFoundError(f"{logdir} holds several runs; choose one with {option}: {_listed(runs)}.")
    return runs[0]


def _listed(runs: Sequence[FoundRun]) -> str:
    shown = [repr(run.name) for run in runs[:_NAMES]]
    left = len(runs) - len(shown)
    *first, last = [*shown, f"{left} more"] if left else shown
    return f"{', '.join(first)} and {last}" if first else last
