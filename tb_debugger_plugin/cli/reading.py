"""What the verbs that read tables share.

They choose runs, read one until nothing is left to read, and go on after one that cannot be read. Input: a
logdir and perhaps a run's name. Output: loaders that have caught up with the files.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import duckdb

from tb_debugger_plugin.cli.printable import printable_lines
from tb_debugger_plugin.errors import DebuggerError, NotFoundError, NotReadyError, UsageError, user_message
from tb_debugger_plugin.events.locations import Location, location
from tb_debugger_plugin.index.indexer import Progress
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import Problem, Run, find_runs, has_debug_events

_LOOK_SECONDS: Final = 0.2
#: Of many names so many are shown.
_NAMES: Final = 5


def say(message: str) -> None:
    """Print a message on stderr."""
    print(f"tbdbg: {printable_lines(message)}", file=sys.stderr)


def a_location(text: str) -> Location:
    """The type of an argument that names a file or a folder, here or elsewhere."""
    try:
        return location(text)
    except UsageError as error:
        # Of any other ValueError argparse does not show what it says.
        raise argparse.ArgumentTypeError(str(error)) from error


def check_folder(folder: Location) -> None:
    """Refuse a folder of which something cannot be read, or that is not there.

    Raises:
      NotFoundError: That is so.
    """
    problems: list[Problem] = []
    has_debug_events(folder, problems.append)
    if problems:
        raise NotFoundError(_sentences(problems))


def _sentences(problems: Sequence[Problem]) -> str:
    return "\n".join(problem.message for problem in problems)


def add_arguments(parser: argparse.ArgumentParser, *, one: bool = False) -> None:
    """Add LOGDIR, --run and --json.

    Args:
      parser: The verb's.
      one: Whether the verb is about one run.
    """
    of_none = "needed where there are several" if one else "default: all"
    parser.add_argument(
        "logdir", type=a_location, metavar="LOGDIR", help="a dump root, or any folder above some"
    )
    parser.add_argument("--run", dest="name", metavar="NAME", help=f"only this run ({of_none})")
    parser.add_argument("--json", action="store_true", help="print JSON")


def all_runs(logdir: Location) -> list[Run]:
    """The runs of a logdir, at least one; what of it cannot be read is said on stderr.

    Raises:
      NotFoundError: There is none.
    """
    problems: list[Problem] = []
    runs = find_runs(logdir, problems.append)
    if not runs:
        none = f"{logdir} holds no debug events; record some with tb_debugger_plugin.record(...)."
        raise NotFoundError(_sentences(problems) or none)
    if problems:
        say(_sentences(problems))
    return runs


def chosen_runs(logdir: Location, name: str | None) -> list[Run]:
    """The runs of a logdir, or the one that is named.

    Raises:
      NotFoundError: There is none.
      OSError: The place cannot be read.
    """
    runs = all_runs(logdir)
    chosen = [run for run in runs if name is None or run.name == name]
    if not chosen:
        raise NotFoundError(f"There is no run named {name!r} in {logdir}, but {_names(runs)}.")
    return chosen


def only_run(logdir: Location, name: str | None) -> Run:
    """The one run that is meant.

    Raises:
      NotFoundError: There is none, or several and none is named.
      OSError: The place cannot be read.
    """
    runs = chosen_runs(logdir, name)
    if len(runs) > 1:
        raise NotFoundError(f"{logdir} holds several runs; choose one with --run: {_names(runs)}.")
    return runs[0]


def _names(runs: Sequence[Run]) -> str:
    shown = [repr(run.name) for run in runs[:_NAMES]]
    left = len(runs) - len(shown)
    *first, last = [*shown, f"{left} more"] if left else shown
    return f"{', '.join(first)} and {last}" if first else last


def look_at_each(runs: Sequence[Run], look: Callable[[Run], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What is found out about each run, by its name; of one that cannot be read an `error`.

    Args:
      runs: The runs.
      look: Finds out what is to be said of one.
    """
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        try:
            found[run.name] = look(run)
        except (DebuggerError, OSError, duckdb.Error) as error:
            found[run.name] = {"error": user_message(error)}
    return found


def print_found(
    found: dict[str, dict[str, Any]],
    words: Callable[[str, dict[str, Any]], str],
    *,
    as_json: bool,
    between: str = "\n",
) -> int:
    """Print what :func:`look_at_each` has found, and on stderr what it could not read.

    Args:
      found: That.
      words: What is printed of one run: its name, and what was found.
      as_json: Whether to print everything as one JSON object instead.
      between: What stands between the words of two runs.

    Returns:
      The exit code: 1 when a run could not be read.
    """
    failures = {name: facts["error"] for name, facts in found.items() if "error" in facts}
    if as_json:
        print(json.dumps(found, indent=2))
    elif len(failures) < len(found):
        print(between.join(words(name, facts) for name, facts in found.items() if name not in failures))
    for name, error in failures.items():
        say(f"{name}: {error}")
    return 1 if failures else 0


@contextlib.contextmanager
def read_whole(run: Run, report: Callable[[Progress], None] = lambda progress: None) -> Iterator[RunLoader]:
    """A loader that has read everything that is in the run's files now.

    Args:
      run: The run.
      report: Told now and then how far it has come.

    Raises:
      NotReadyError: The files cannot be read.
    """
    loader = RunLoader(run)
    try:
        while not loader.wait(_LOOK_SECONDS):
            progress = loader.progress
            if progress is not None:
                report(progress)
        check_read(loader)
        yield loader
    finally:
        loader.close()


def check_read(loader: RunLoader) -> None:
    """Refuse a loader that could not read its run.

    Raises:
      NotReadyError: It could not.
    """
    if loader.failure:
        # After its first line the database quotes queries of ours.
        raise NotReadyError(loader.failure.partition("\n")[0])


def plain(value: Any) -> Any:
    """A value of a table as JSON can carry it: NaN and infinities are null, other things are text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    return str(value)
