"""Functions that the verbs that read tables share.

They choose runs, open each, continue after one that cannot be read, and print the results.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from tb_debugger_plugin.cli.main import say
from tb_debugger_plugin.errors import DebuggerError, UsageError, user_message
from tb_debugger_plugin.events.locations import Location, location
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.run import OnProgress, Run


def a_location(text: str) -> Location:
    """Parse an argument that names a local or remote file or folder."""
    try:
        return location(text)
    except UsageError as error:
        # argparse does not show the message of any other ValueError.
        raise argparse.ArgumentTypeError(str(error)) from error


def add_logdir(parser: argparse.ArgumentParser) -> None:
    """Add LOGDIR."""
    parser.add_argument(
        "logdir", type=a_location, metavar="LOGDIR", help="a dump root, or any folder above some"
    )


def line_words(described: Mapping[str, Any]) -> str:
    """Return the line of what an answer describes, to be put after its name: ", train.py:68", or nothing."""
    source = described["source"]
    return "" if source is None else f", {source['path'].rpartition('/')[2]}:{source['line']}"


def add_arguments(parser: argparse.ArgumentParser, *, single: bool = False) -> None:
    """Add LOGDIR, --run and --json.

    Args:
      parser: The verb's parser.
      single: Whether the verb takes a single run.
    """
    default = "needed if there are several" if single else "default: all"
    add_logdir(parser)
    parser.add_argument("--run", dest="name", metavar="NAME", help=f"only this run ({default})")
    parser.add_argument("--json", action="store_true", help="print JSON")


def only_run(args: argparse.Namespace) -> Run:
    """Open the run that the arguments of a verb name, or the only one.

    Raises:
      NotFoundError: There is no such run, or there are several and no name is given.
      OSError: The logdir cannot be read.
    """
    return Run(choose.only(args.logdir, args.name, "--run", say))


def answer_each(
    args: argparse.Namespace,
    action: Callable[[Run], dict[str, Any]],
    text: Callable[[str, dict[str, Any]], str],
    separator: str = "\n\n",
    **options: Any,
) -> int:
    """Open each run that the arguments of a verb name, and print its answer; return the exit code.

    Args:
      args: The arguments.
      action: As for :func:`run_each`.
      text: Returns the text of one run by its name and answer.
      separator: Printed between the texts of two runs.
      **options: As for :func:`run_each`.
    """
    return print_results(run_each(args, action, **options), text, as_json=args.json, separator=separator)


def run_each(
    args: argparse.Namespace,
    action: Callable[[Run], dict[str, Any]],
    *,
    timeout: float | None = None,
    writes: Sequence[Path] = (),
    report: Callable[[str], OnProgress] | None = None,
) -> dict[str, dict[str, Any]]:
    """Open each run that is named; return the results by name, with an `error` for an unreadable run.

    Args:
      args: The arguments of the verb.
      action: Returns the result for one run, which has read all that is in its files.
      timeout: Seconds after which the result is of what was read until then; None = no limit.
      writes: Folders that the action writes tables into.
      report: Returns, for the name of a run, what is called with its progress now and then.
    """
    results: dict[str, dict[str, Any]] = {}
    for run in choose.chosen(args.logdir, args.name, say):
        try:
            shown = report(run.name) if report else None
            with Run(run, timeout=timeout, writes=writes, report=shown) as opened:
                results[run.name] = action(opened)
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


def plain(value: object) -> Any:
    """Convert a value of a table for JSON: NaN and infinities become null, other types text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    return str(value)
