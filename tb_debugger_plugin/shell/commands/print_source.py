"""`ps`: prints a source file with the nodes or tensors that each line made, or with what each line cost.

Only lines that are on record are printed; a path of a recording is never opened.
"""

from __future__ import annotations

import argparse
import enum
from typing import TYPE_CHECKING, Final, NamedTuple

from tb_debugger_plugin.analysis.graph.source_ops import (
    SourcePlace,
    executions_by_line,
    ops_by_line,
    tensors_by_line,
)
from tb_debugger_plugin.analysis.graph.tensor_counts import tensor_counts
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.source_lines import RecordedFile, recorded_file
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.commands.source_costs import add_cost_arguments, cost_screen, wants_costs
from tb_debugger_plugin.shell.lazy_lines import LazyLines
from tb_debugger_plugin.shell.links import command_line, node_command, tensor_command
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

_MORE: Final = 5


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source_file_path", nargs="?", metavar="PATH", help="a source file, or the end of it")
    parser.add_argument("-b", "--line_begin", type=int, default=1, metavar="LINE", help="the line to go to")
    parser.add_argument(
        *("-m", "--max_elements_per_line"),
        type=int,
        default=10,
        metavar="N",
        help="how many nodes or tensors a line shows",
    )
    parser.add_argument(
        *("-t", "--tensors"),
        nargs="?",
        const="",
        metavar="RE",
        help="tensors instead of nodes; with costs, only ops whose type begins with RE",
    )
    parser.add_argument("-c", "--callers", action="store_true", help="also at the lines that called the line")
    add_cost_arguments(parser)


def _print(shell: Shell, args: argparse.Namespace) -> Answer:
    costs = wants_costs(args)
    if args.source_file_path is None and args.tensors and not costs:
        # `ps -t PATH`: the path is no value of -t.
        args.source_file_path, args.tensors = args.tensors, ""
    if args.source_file_path is None:
        raise UsageError("print_source: give a path; `ls` lists them.")
    if args.max_elements_per_line < 1:
        raise UsageError(f"-m is {args.max_elements_per_line}; give a whole number from 1 on.")
    with shell.run.snapshot() as snapshot:
        file = recorded_file(snapshot, args.source_file_path)
        return cost_screen(snapshot, file, args) if costs else _Listing(snapshot, file, args).screen()


class _Kind(enum.Enum):
    """What a row of the screen shows."""

    GAP = "lines that are not on record"
    TEXT = "a line of the file"
    ELEMENT = "a node or a tensor that the line made"
    OMITTED = "how many more there are"
    EXECUTIONS = "how many executions the line ran"


class _Row(NamedTuple):
    """A row of the screen; the number is that of an op, or a count."""

    line: int
    kind: _Kind
    number: int = 0
    slot: int = 0


class _Listing:
    """The lines of a file with what they made; lives for one command."""

    def __init__(self, snapshot: Snapshot, file: RecordedFile, args: argparse.Namespace) -> None:
        self._snapshot = snapshot
        self._file = file
        self._args = args
        self._tensors = args.tensors is not None
        self._dumps = tensor_counts(snapshot).tensors
        self._bad = tensor_counts(snapshot).bad
        self._width = len(f"L{max(file.lines, default=1)}") + 2

    def screen(self) -> Screen:
        rows, begin = self._rows()
        return Screen(LazyLines([], rows, self._line), begin=begin)

    def _rows(self) -> tuple[list[_Row], int]:
        """Return the rows of the screen, and the position of the line to go to, or of the next line."""
        place = SourcePlace(tuple(self._file.sources), self._args.callers)
        ops = ops_by_line(self._snapshot, place)
        tensors = tensors_by_line(self._snapshot, place) if self._tensors else {}
        executions = executions_by_line(self._snapshot, place)
        limit = self._args.max_elements_per_line
        rows: list[_Row] = []
        at = last = 0
        for line in sorted({*self._file.lines, *ops, *executions}):
            if line > last + 1:
                rows.append(_Row(line, _Kind.GAP))
            if last < self._args.line_begin <= line:
                at = len(rows)
            last = line
            rows.append(_Row(line, _Kind.TEXT))
            made = tensors.get(line, []) if self._tensors else ops.get(line, [])
            pairs = [one if isinstance(one, tuple) else (one, 0) for one in made[:limit]]
            rows += [_Row(line, _Kind.ELEMENT, *pair) for pair in pairs]
            rows += [_Row(line, _Kind.OMITTED, len(made))] if len(made) > limit else []
            rows += [_Row(line, _Kind.EXECUTIONS, executions[line])] if line in executions else []
        return rows, at

    def _line(self, row: _Row) -> Line:
        if row.kind is _Kind.GAP:
            return plain("...", Style.MUTED)
        if row.kind is _Kind.TEXT:
            text = self._file.lines.get(row.line, "(not on record)").rstrip("\r\n")
            return (Part(f"L{row.line}".ljust(self._width), Style.MUTED), Part(text))
        if row.kind is _Kind.ELEMENT:
            return (Part("    "), self._link(row.number, row.slot))
        if row.kind is _Kind.EXECUTIONS:
            command = command_line("le", "-p", self._file.path, "-l", row.line)
            return (Part("    "), link(f"({row.number:,} execution(s))", command))
        left = row.number - self._args.max_elements_per_line
        what = "tensor(s)" if self._tensors else "op(s)"
        words = Part(f"    (... Omitted {left:,} of {row.number:,} {what} ...) ", Style.MUTED)
        return (words, link(f"+{_MORE}", self._more(row.line)))

    def _link(self, number: int, slot: int) -> Part:
        op = self._snapshot.catalog.ops[number]
        style = Style.BAD if self._bad[number] else Style.PLAIN
        name = f"{op.name}:{slot}" if self._tensors else op.name
        if self._dumps[number]:
            return link(name, tensor_command(self._snapshot, op, slot), style)
        return link(name, node_command(self._snapshot, op), Style.MUTED)

    def _options(self) -> list[str]:
        return [*(["-t"] if self._tensors else []), *(["-c"] if self._args.callers else [])]

    def _more(self, line: int) -> str:
        count = self._args.max_elements_per_line + _MORE
        return command_line("ps", self._file.path, "-b", line, "-m", count, *self._options())


COMMAND: Final = Command(
    "print_source",
    ("ps",),
    "print a source file with the nodes that each line made",
    _print,
    _arguments,
    completes=Completes.SOURCE,
    examples=("ps train.py -b 12", "ps train.py -t", "ps train.py --cost_type op_time"),
)
