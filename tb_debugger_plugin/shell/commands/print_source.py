"""`ps`: prints a source file with the nodes or tensors that each line made, or with what each line cost.

Only lines that are on record are printed; a path of a recording is never opened.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.analysis.graph.tensor_counts import tensor_counts
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source_ops import (
    RecordedFile,
    executions_by_line,
    ops_by_line,
    recorded_file,
)
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.commands.source_costs import add_cost_arguments, cost_screen, wants_costs
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


class _Listing:
    """The lines of a file with what they made; lives for one command."""

    def __init__(self, snapshot: Snapshot, file: RecordedFile, args: argparse.Namespace) -> None:
        self._snapshot = snapshot
        self._file = file
        self._args = args
        self._tensors = args.tensors is not None
        self._dumps = tensor_counts(snapshot).tensors
        self._bad = tensor_counts(snapshot).bad

    def screen(self) -> Screen:
        made = ops_by_line(self._snapshot, self._file.sources)
        below = {line: list(self._lines_of(line, ops)) for line, ops in made.items()}
        for line, count in executions_by_line(self._snapshot, self._file.sources).items():
            command = command_line("le", "-p", self._file.path, "-l", line)
            below.setdefault(line, []).append((Part("    "), link(f"({count:,} execution(s))", command)))
        lines, begin = numbered_lines(self._file.lines, below, self._args.line_begin)
        return Screen(lines, begin=begin)

    def _lines_of(self, line: int, ops: Sequence[int]) -> Iterable[Line]:
        found = [pair for op in ops for pair in self._pairs(op)]
        limit = self._args.max_elements_per_line
        for op, slot in found[:limit]:
            yield (Part("    "), self._link(op, slot))
        if len(found) > limit:
            what = "tensor(s)" if self._tensors else "op(s)"
            words = Part(
                f"    (... Omitted {len(found) - limit:,} of {len(found):,} {what} ...) ", Style.MUTED
            )
            yield (words, link(f"+{_MORE}", self._more(line)))

    def _pairs(self, op: int) -> list[tuple[int, int]]:
        """Returns the op and its recorded slots, or the op alone."""
        if not self._tensors:
            return [(op, 0)]
        slots = {site.slot for site in self._snapshot.catalog.op_sites.get(op, ())}
        return [(op, slot) for slot in sorted(slots)]

    def _link(self, number: int, slot: int) -> Part:
        op = self._snapshot.catalog.ops[number]
        style = Style.BAD if self._bad[number] else Style.PLAIN
        name = f"{op.name}:{slot}" if self._tensors else op.name
        if self._dumps[number]:
            return link(name, tensor_command(self._snapshot, op, slot), style)
        return link(name, node_command(self._snapshot, op), Style.MUTED)

    def _more(self, line: int) -> str:
        count = self._args.max_elements_per_line + _MORE
        return command_line(
            "ps", self._file.path, "-b", line, "-m", count, *(["-t"] if self._tensors else [])
        )


def numbered_lines(
    texts: Mapping[int, str], below: Mapping[int, Sequence[Line]], begin_line: int
) -> tuple[list[Line], int]:
    """Returns the lines of a file with their numbers.

    Args:
      texts: The lines that are on record, by number.
      below: What follows a line; such lines are shown even if their text is not on record.
      begin_line: The line to go to.

    Returns:
      The lines, and the position of ``begin_line`` or of the next line.
    """
    lines: list[Line] = []
    at, last = 0, 0
    numbers = sorted({*texts, *below})
    width = len(f"L{numbers[-1]}") + 2 if numbers else 0
    for number in numbers:
        if number > last + 1:
            lines.append(plain("...", Style.MUTED))
        if last < begin_line <= number:
            at = len(lines)
        last = number
        text = texts.get(number, "(not on record)")
        lines.append((Part(f"L{number}".ljust(width), Style.MUTED), Part(text.rstrip("\r\n"))))
        lines += below.get(number, ())
    return lines, at


COMMAND: Final = Command(
    "print_source",
    ("ps",),
    "print a source file with the nodes that each line made",
    _print,
    _arguments,
    completes=Completes.SOURCE,
    examples=("ps train.py -b 12", "ps train.py -t", "ps train.py --cost_type op_time"),
)
