"""Functions that the verbs that read tables share.

They choose runs, read one until nothing is left to read, and continue after one that cannot be read. They
take a logdir and optionally a run's name, and return loaders that have caught up with the files.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb

from tb_debugger_plugin.errors import DebuggerError, NotFoundError, NotReadyError, UsageError, user_message
from tb_debugger_plugin.events.locations import Location, location
from tb_debugger_plugin.events.printable import printable_lines
from tb_debugger_plugin.index.indexer import Progress
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import Problem, Run, has_debug_events
from tb_debugger_plugin.reading import choose

_REPORT_SECONDS: Final = 0.2


def say(message: str) -> None:
    """Print a message on stderr."""
    print(f"tbdbg: {printable_lines(message)}", file=sys.stderr)


def a_location(text: str) -> Location:
    """Parses an argument that names a local or remote file or folder."""
    try:
        return location(text)
    except UsageError as error:
        # argparse does not show the message of any other ValueError.
        raise argparse.ArgumentTypeError(str(error)) from error


def check_folder(folder: Location) -> None:
    """Check that a folder exists and can be read completely.

    Raises:
      NotFoundError: It does not exist, or cannot be read completely.
    """
    problems: list[Problem] = []
    has_debug_events(folder, problems.append)
    if problems:
        raise NotFoundError(choose.sentences(problems))


def add_arguments(parser: argparse.ArgumentParser, *, single: bool = False) -> None:
    """Add LOGDIR, --run and --json.

    Args:
      parser: The verb's parser.
      single: Whether the verb takes a single run.
    """
    default = "needed if there are several" if single else "default: all"
    parser.add_argument(
        "logdir", type=a_location, metavar="LOGDIR", help="a dump root, or any folder above some"
    )
    parser.add_argument("--run", dest="name", metavar="NAME", help=f"only this run ({default})")
    parser.add_argument("--json", action="store_true", help="print JSON")


def all_runs(logdir: Location) -> list[Run]:
    """Returns the runs of a logdir, at least one; reports on stderr what cannot be read.

    Raises:
      NotFoundError: There are no runs.
    """
    return choose.all_runs(logdir, say)


def chosen_runs(logdir: Location, name: str | None) -> list[Run]:
    """Returns the runs of a logdir, or the run with the given name.

    Raises:
      NotFoundError: There is no such run.
      OSError: The logdir cannot be read.
    """
    return choose.with_name(logdir, all_runs(logdir), name)


def only_run(logdir: Location, name: str | None) -> Run:
    """Returns the run with the given name, or the only run.

    Raises:
      NotFoundError: There is no such run, or there are several and no name is given.
      OSError: The logdir cannot be read.
    """
    return choose.single(logdir, chosen_runs(logdir, name), "--run")


def run_each(runs: Sequence[Run], action: Callable[[Run], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Apply a function to each run; returns the results by name, with an `error` for an unreadable run.

    Args:
      runs: The runs.
      action: Returns the result for one run.
    """
    results: dict[str, dict[str, Any]] = {}
    for run in runs:
        try:
            results[run.name] = action(run)
        except (DebuggerError, OSError, duckdb.Error) as error:
            results[run.name] = {"error": user_message(error)}
    return results


def print_results(
    results: dict[str, dict[str, Any]],
    text: Callable[[str, dict[str, Any]], str],
    *,
    as_json: bool,
    separator: str = "\n",
) -> int:
    """Print the results of :func:`run_each`, and the errors on stderr.

    Args:
      results: The results by name of the run.
      text: Returns the text of one run by its name and result.
      as_json: Whether to print all results as one JSON object instead.
      separator: Printed between the texts of two runs.

    Returns:
      The exit code: 1 when a run could not be read.
    """
    failures = {name: facts["error"] for name, facts in results.items() if "error" in facts}
    if as_json:
        print(json.dumps(results, indent=2))
    elif len(failures) < len(results):
        print(separator.join(text(name, facts) for name, facts in results.items() if name not in failures))
    for name, error in failures.items():
        say(f"{name}: {error}")
    return 1 if failures else 0


@contextlib.contextmanager
def read_whole(
    run: Run,
    report: Callable[[Progress], None] = lambda progress: None,
    *,
    folders: Sequence[Path] = (),
) -> Iterator[RunLoader]:
    """Gives a loader that has read everything in the run's files.

    Args:
      run: The run.
      report: Called with the progress now and then.
      folders: Folders that statements on its database may write.

    Raises:
      NotReadyError: The files cannot be read.
    """
    loader = RunLoader(run, folders=folders)
    try:
        while not loader.wait(_REPORT_SECONDS):
            progress = loader.progress
            if progress is not None:
                report(progress)
        check_read(loader)
        yield loader
    finally:
        loader.close()


def check_read(loader: RunLoader) -> None:
    """Check that a loader could read its run.

    Raises:
      NotReadyError: It could not.
    """
    if loader.failure:
        # After the first line, DuckDB quotes our own SQL.
        raise NotReadyError(loader.failure.partition("\n")[0])


def plain(value: Any) -> Any:
    """Converts a value of a table for JSON: NaN and infinities become null, other types text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    return str(value)
