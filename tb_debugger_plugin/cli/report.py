"""`tbdbg report`: writes what is known of the bad values of a run into one file.

Takes a logdir and writes an HTML page that needs no server, or Markdown to paste into an issue.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.analysis.report.facts import report
from tb_debugger_plugin.analysis.report.html_page import page
from tb_debugger_plugin.analysis.report.markdown import markdown
from tb_debugger_plugin.analysis.snapshot import open_snapshot
from tb_debugger_plugin.cli.reading import a_location, only_run, read_whole
from tb_debugger_plugin.errors import UsageError

if TYPE_CHECKING:
    # The public name of this type is not there at run time before Python 3.14.
    from argparse import _SubParsersAction

_FORMATS: Final = {"html": page, "markdown": markdown}


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `report` to the command line."""
    parser = subparsers.add_parser("report", help="one file with the origins of a run, to send or to paste")
    parser.add_argument(
        "logdir", type=a_location, metavar="LOGDIR", help="a dump root, or any folder above some"
    )
    parser.add_argument("--run", dest="name", metavar="NAME", help="needed if there are several")
    parser.add_argument("--format", choices=sorted(_FORMATS), default="html", help="default: html")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: print it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the report; returns the exit code."""
    chosen = only_run(args.logdir, args.name)
    with read_whole(chosen) as loader, open_snapshot(loader) as snapshot:
        text = _FORMATS[args.format](report(snapshot, chosen.title))
    if args.output is None:
        print(text, end="")
        return 0
    try:
        args.output.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{args.output} cannot be written: {error}") from error
    print(args.output)
    return 0
