"""`tbdbg beam`: converts a dump that is too big for one machine into Parquet tables, on Apache Beam.

Takes a dump root and writes a folder that the viewer opens as a run. Needs the extra `beam`.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.cli.main import say
from tb_debugger_plugin.cli.reading import add_arguments
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.index.parquet import read_manifest
from tb_debugger_plugin.index.runs import RunKind
from tb_debugger_plugin.reading import choose

if TYPE_CHECKING:
    # Before Python 3.14, the public name of this type does not exist at run time.
    from argparse import _SubParsersAction

#: Why the pipeline does not read runs of a kind.
_REFUSED: Final = {
    RunKind.TABLES: "holds tables already.",
    RunKind.DUMPS: "holds dumps of tfdbg v1, which the pipeline does not read; use tbdbg export.",
}


def add_parser(subparsers: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb `beam` to the command line."""
    parser = subparsers.add_parser("beam", help="write the tables of a run as Parquet files, on Apache Beam")
    add_arguments(parser, single=True)
    parser.add_argument("out", metavar="OUT", help="folder or URL to write into")
    parser.add_argument(
        "options",
        metavar="OPTION",
        nargs="*",
        help="options of Beam after --, such as --runner=DataflowRunner",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Convert a run; return the exit code."""
    chosen = choose.only(args.logdir, args.name, "--run", say)
    if chosen.kind is not RunKind.EVENTS:
        raise UsageError(f"{chosen.folder} {_REFUSED[chosen.kind]}")
    try:
        # Imported only here, because Beam is large and most people never need it.
        from tb_debugger_plugin.pipeline.dataflow import convert
    except ImportError as error:
        raise UsageError(
            f"Apache Beam is needed (pip install 'tb-debugger-plugin[beam]'): {error}"
        ) from error
    convert(chosen, args.out, args.options)
    stable = read_manifest(location(args.out)).stable
    print(
        json.dumps({"folder": args.out, "rows": stable}, indent=2) if args.json else _line(args.out, stable)
    )
    return 0


def _line(out: str, rows: dict[str, int]) -> str:
    counts = f"{rows['execution']:,} executions, {rows['graph_execution_traces']:,} graph executions"
    return f"{counts} in {out}"
