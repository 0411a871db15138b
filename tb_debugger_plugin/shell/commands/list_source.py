"""`ls`: lists the source files that made nodes, those of the program before those of libraries."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.analysis.graph.source_ops import SourceCounts, source_counts
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.links import source_command
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain, table

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

_HEAD: Final = ("Source file path", "#(nodes)", "#(tensors)", "#(tensor dumps)", "#(executions)")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-p", "--path_filter", metavar="RE", help="only files whose path contains this")
    parser.add_argument(
        "-n", "--node_name_filter", metavar="RE", help="count only nodes whose name begins so"
    )


def _list(shell: Shell, args: argparse.Namespace) -> Answer:
    with shell.run.snapshot() as snapshot:
        files = source_counts(snapshot, args.path_filter, args.node_name_filter)
        ((has_files,),) = snapshot.rows("SELECT count(*) FROM sources")
    lines: list[Line] = [plain("List of source files that created nodes in this run", Style.HEADING)]
    if args.path_filter:
        lines.append(plain(f'File path regex filter: "{args.path_filter}"'))
    if args.node_name_filter:
        lines.append(plain(f'Node name regex filter: "{args.node_name_filter}"'))
    lines.append(())
    if not files:
        return Screen([*lines, plain(_nothing(bool(has_files)))])
    own = [one for one in files if one.is_user]
    libraries = [one for one in files if not one.is_user]
    lines += _table("Files of the program:", own, Style.PLAIN)
    return Screen([*lines, (), *_table("Files of libraries:", libraries, Style.MUTED)])


def _nothing(has_files: bool) -> str:
    if has_files:
        return "[No source file fits.]"
    return "[No source files are on record: TensorFlow's own dumps hold none.]"


def _table(title: str, files: Sequence[SourceCounts], style: Style) -> list[Line]:
    lines = [plain(title, Style.HEADING)]
    if not files:
        return [*lines, plain("[No files.]")]
    # Programs with graphs only, as those of sessions, have no executions.
    columns = len(_HEAD) if any(one.executions for one in files) else len(_HEAD) - 1
    rows = [[Part(text, Style.HEADING) for text in _HEAD[:columns]]]
    for one in files:
        numbers = (one.nodes, one.tensors, one.dumps, one.executions)
        cells = [Part(f"{number:,}", style) for number in numbers]
        rows.append([link(one.path, source_command(one.path, one.first_line), style), *cells][:columns])
    return [*lines, *table(rows)]


COMMAND: Final = Command(
    "list_source",
    ("ls",),
    "list the source files that made nodes",
    _list,
    _arguments,
    completes=Completes.NOTHING,
    examples=("ls", "ls -p train.py -n loss/"),
)
