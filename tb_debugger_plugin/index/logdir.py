"""The logdir of TensorBoard: one folder, or several folders with names.

``--logdir_spec a:X,b:Y`` is read as TensorBoard reads it: the name of a run is the name of the folder and the
run's path below it. A folder that cannot be read because a package is not installed is a problem that the
page shows.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.locations import Location, location
from tb_debugger_plugin.index.runs import (
    FoundRun,
    OnFolder,
    Problem,
    find_runs,
    has_debug_events,
    ignore_folder,
    is_no_mark,
)

#: What TensorBoard looks for in the names of the event files of its other plugins.
_OTHER_EVENTS: Final = "tfevents"
_URL: Final = re.compile(r"[A-Za-z][0-9A-Za-z.]*://")


@dataclass(frozen=True)
class Logdir:
    """The folders in which runs are searched.

    Attributes:
      text: The logdir as it was given.
      roots: The folders, each with a name that begins the names of its runs; empty = no name.
      problems: The given folders that cannot be read at all.
    """

    text: str
    roots: tuple[tuple[str, Location], ...]
    problems: tuple[Problem, ...] = ()

    @property
    def is_elsewhere(self) -> bool:
        """Whether any folder is not on this machine."""
        return any(not isinstance(folder, Path) for _, folder in self.roots)

    def find_runs(self, on_folder: OnFolder = ignore_folder) -> tuple[dict[str, FoundRun], list[Problem]]:
        """Return all runs by name, in order, and what could not be read.

        Args:
          on_folder: Called for each folder at or below the logdir.
        """
        problems = list(self.problems)
        runs: dict[str, FoundRun] = {}
        for root, folder in self.roots:
            for run in find_runs(folder, problems.append, on_folder):
                name = _unused_name(_full_name(root, run.name), runs)
                runs[name] = replace(run, name=name)
        return dict(sorted(runs.items())), problems

    def is_worth_showing(self, is_mark: Callable[[str], bool] = is_no_mark) -> bool:
        """Whether there are debug events, or a whole folder cannot be read, which the page explains.

        So is a logdir without any event file, also one that does not exist yet: no other tab has anything to
        show, and the page says what to do and waits for a program. Beside other event files, an unreadable
        folder further below is no reason.

        Args:
          is_mark: Whether a file of a name is worth it, too.
        """
        problems: list[Problem] = []
        others: list[str] = []

        def note(name: str) -> bool:
            if _OTHER_EVENTS in name:
                others.append(name)
            return is_mark(name)

        if any(has_debug_events(folder, problems.append, note) for _, folder in self.roots):
            return True
        roots = {str(folder) for _, folder in self.roots}
        unreadable = [problem for problem in problems if problem.location in roots and not problem.is_missing]
        return bool(self.problems or unreadable or (self.roots and not others))


def _full_name(root: str, name: str) -> str:
    if not root:
        return name
    return root + name[1:] if name == "." or name.startswith(". (") else f"{root}/{name}"


def _unused_name(name: str, taken: Container[str]) -> str:
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return next(candidate for candidate in itertools.chain([name], numbered) if candidate not in taken)


def one_folder(text: str | Path) -> Logdir:
    """Parse the value of ``--logdir``.

    Args:
      text: A folder or URL.
    """
    return _read(str(text), [("", str(text))])


def several_folders(text: str) -> Logdir:
    """Parse the value of ``--logdir_spec``.

    Args:
      text: Folders separated by commas, each optionally after a name and a colon.
    """
    named = {folder: name for name, folder in map(_name_and_folder, filter(None, text.split(",")))}
    return _read(text, [(name, folder) for folder, name in named.items()])


def _name_and_folder(text: str) -> tuple[str, str]:
    is_path = _URL.match(text) or text.startswith("/") or os.path.splitdrive(text)[0]
    name, colon, folder = text.partition(":")
    return (name, folder) if colon and not is_path else ("", text)


def _read(text: str, named: Iterable[tuple[str, str]]) -> Logdir:
    roots: list[tuple[str, Location]] = []
    problems: list[Problem] = []
    for name, folder in named:
        try:
            roots.append((name, location(folder)))
        except UsageError as error:
            problems.append(Problem(folder, f"{str(error).rstrip('.')}."))
    return Logdir(text, tuple(roots), tuple(problems))
