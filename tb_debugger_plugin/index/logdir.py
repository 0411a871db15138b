"""What TensorBoard was started with: one folder, or several with names.

``--logdir_spec a:X,b:Y`` is read as TensorBoard reads it: runs of a folder with a name are called by that
name and their path below the folder. A folder that nobody here can read, for want of a package, is a problem
that the page shows.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.locations import Location, location
from tb_debugger_plugin.index.runs import Problem, Run, find_runs, has_debug_events

_URL: Final = re.compile(r"[A-Za-z][0-9A-Za-z.]*://")


@dataclass(frozen=True)
class Logdir:
    """Where runs are looked for.

    Attributes:
      text: As it was given.
      roots: The folders, each with the name of its runs; without one they are called by their path.
      problems: What was given and cannot be read at all.
    """

    text: str
    roots: tuple[tuple[str, Location], ...]
    problems: tuple[Problem, ...] = ()

    @property
    def is_elsewhere(self) -> bool:
        """Whether any of it is not on this machine."""
        return any(not isinstance(folder, Path) for _, folder in self.roots)

    def find_runs(self) -> tuple[dict[str, Run], list[Problem]]:
        """All runs by name, in order, and what could not be read."""
        problems = list(self.problems)
        runs: dict[str, Run] = {}
        for root, folder in self.roots:
            for run in find_runs(folder, problems.append):
                name = _free(_called(root, run.name), runs)
                runs[name] = replace(run, name=name)
        return dict(sorted(runs.items())), problems

    def is_worth_showing(self) -> bool:
        """Whether there are debug events, or a folder as a whole cannot be read, of which the page says why.

        A folder that is not there yet, and one further below, are no reason.
        """
        problems: list[Problem] = []
        if any(has_debug_events(folder, problems.append) for _, folder in self.roots):
            return True
        roots = {str(folder) for _, folder in self.roots}
        unreadable = [one for one in problems if one.place in roots and not one.is_missing]
        return bool(self.problems or unreadable)


def _called(root: str, name: str) -> str:
    if not root:
        return name
    return root + name[1:] if name == "." or name.startswith(". (") else f"{root}/{name}"


def _free(name: str, taken: Container[str]) -> str:
    numbered = (f"{name} ({number})" for number in itertools.count(2))
    return next(one for one in itertools.chain([name], numbered) if one not in taken)


def one_folder(text: str | Path) -> Logdir:
    """What ``--logdir`` means.

    Args:
      text: A folder or URL.
    """
    return _read(str(text), [("", str(text))])


def several_folders(text: str) -> Logdir:
    """What ``--logdir_spec`` means.

    Args:
      text: Folders with commas between them, each perhaps after a name and a colon.
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
