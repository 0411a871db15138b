"""`tbdbg report`: writes what is known of the bad values of a run into one file.

Takes a logdir and writes an HTML page that needs no server, or Markdown to paste into an issue.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tb_debugger_plugin.analysis.report.formats import REPORT_FORMATS
from tb_debugger_plugin.cli.reading import add_logdir, only_run
from tb_debugger_plugin.errors import UsageError


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `report`."""
    add_logdir(parser)
    parser.add_argument("--run", dest="name", metavar="NAME", help="needed if there are several")
    parser.add_argument("--format", choices=sorted(REPORT_FORMATS), default="html", help="default: html")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: print it")


def run(args: argparse.Namespace) -> int:
    """Write the report; return the exit code."""
    with only_run(args) as opened:
        text = opened.report(args.format)
    if args.output is None:
        print(text, end="")
        return 0
    try:
        args.output.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{args.output} cannot be written: {error}") from error
    print(args.output)
    return 0
