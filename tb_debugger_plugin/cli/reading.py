"""Functions that the verbs that read tables share.

They choose runs, open each, continue after one that cannot be read, and print the results.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import duckdb

from tb_debugger_plugin.analysis.source.user_lines import UserLine
from tb_debugger_plugin.cli.main import say
from tb_debugger_plugin.errors import DebuggerError, UsageError, user_message
from tb_debugger_plugin.events.locations import Location, location
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.run import OnProgress, Run

T = TypeVar("T")


def a_location(text: str) -> Location:
    """Parse an argument that names a local or remote file or folder."""
    try:
        return location(text)
    except UsageError as error:
        # argparse does not show the message of any other ValueError.
        raise argparse.ArgumentTypeError(str(error)) from error


def add_logdir(parser: argparse.ArgumentParser, what: str = "a dump root, or any folder above some") -> None:
    """Add LOGDIR, which is `what`."""
    parser.add_argument("logdir", type=a_location, metavar="LOGDIR", help=what)


def line_words(source: UserLine | None) -> str:
    """Return a line, to be put after a name: ", train.py:68"; nothing for none."""
    return "" if source is None else f", {source.name}"


def add_arguments(parser: argparse.ArgumentParser, *, single: bool = False, **logdir: str) -> None:
    """Add LOGDIR, --run and --json.

    Args:
      parser: The verb's parser.
      single: Whether the verb takes a single run.
      **logdir: What LOGDIR is, for :func:`add_logdir`.
    """
    default = "needed if there are several" if single else "default: all"
    add_logdir(parser, **logdir)
    parser.add_argument("--run", dest="name", metavar="NAME", help=f"only this run ({default})")
    parser.add_argument("--json", action="store_true", help="print JSON")


def only_run(args: argparse.Namespace) -> Run:
    """Open the run that the arguments of a verb name, or the only one.

    Raises:
      NotFoundError: There is no such run, or there are several and no name is given.
      OSError: The logdir cannot be read.
    """
    return Run(choose.only(args.logdir, args.name, "--run", say))


class Failure(NamedTuple):
    """Why a run has no answer."""

    error: str


def run_each(
    args: argparse.Namespace,
    action: Callable[[Run], T],
    *,
    timeout: float | None = None,
    writes: Sequence[Path] = (),
    report: Callable[[str], OnProgress] | None = None,
) -> dict[str, T | Failure]:
    """Open each run that is named; return the answers by name.

    Args:
      args: The arguments of the verb.
      action: Returns the answer of one run, which has read all that is in its files.
      timeout: Seconds after which the answer is of what was read until then; None = no limit.
      writes: Folders that the action writes tables into.
      report: Returns, for the name of a run, what is called with its progress now and then.
    """
    results: dict[str, T | Failure] = {}
    for run in choose.chosen(args.logdir, args.name, say):
        try:
            shown = report(run.name) if report else None
            with Run(run, timeout=timeout, writes=writes, report=shown) as opened:
                results[run.name] = action(opened)
        except (DebuggerError, OSError, duckdb.Error) as error:
            results[run.name] = Failure(user_message(error))
    return results


def print_each(
    args: argparse.Namespace,
    results: Mapping[str, T | Failure],
    facts: Callable[[T], object],
    text: Callable[[str, T], str],
    separator: str = "\n\n",
) -> int:
    """Print the answers of :func:`run_each`, and the errors on stderr.

    Args:
      args: The arguments of the verb.
      results: The answers by name of the run.
      facts: Returns an answer for JSON, which is one object for all runs.
      text: Returns the text of one run by its name and answer.
      separator: Printed between the texts of two runs.

    Returns:
      The exit code: 1 when a run could not be read.
    """
    failures = {name: one for name, one in results.items() if isinstance(one, Failure)}
    answers = {name: one for name, one in results.items() if not isinstance(one, Failure)}
    if args.json:
        every = {name: facts(one) for name, one in answers.items()}
        every |= {name: one._asdict() for name, one in failures.items()}
        print(json.dumps({name: every[name] for name in results}, indent=2))
    elif answers:
        print(separator.join(text(name, one) for name, one in answers.items()))
    for name, one in failures.items():
        say(f"{name}: {one.error}")
    return 1 if failures else 0
