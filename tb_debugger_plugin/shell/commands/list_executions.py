"""`le`: lists what Python ran, op by op and call by call."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.analysis.source.source_lines import recorded_file
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.tensorflow_names import display_name
from tb_debugger_plugin.reading.rows import Execution, Rows
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.lazy_lines import LazyLines
from tb_debugger_plugin.shell.links import command_line
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

#: What ``-s`` may be, and the column that it sorts by; None is the list's own order, which is that of time.
_SORTS: Final = {"timestamp": None, "inputs": "num_inputs", "outputs": "num_outputs"}
_WIDTHS: Final = (10, 12, 8, 8, 10)
_HEADS: Final = (
    *(("#", None), ("t (ms)", "timestamp"), ("inputs", "inputs"), ("outputs", "outputs")),
    *(("health", None), ("op or function", None)),
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--tensor_filter", metavar="NAME", help="only with an output that passes this")
    parser.add_argument(
        "-n", "--name_filter", metavar="RE", help="only ops or functions whose name begins so"
    )
    parser.add_argument("-p", "--path", metavar="PATH", help="only what this source file ran")
    parser.add_argument("-l", "--line", type=int, metavar="LINE", help="with -p: this line of it")
    parser.add_argument("-s", "--sort_by", metavar="KEY", default="timestamp", help=", ".join(_SORTS))
    parser.add_argument("-r", "--reverse", action="store_true", help="the last or the largest first")


def _list(shell: Shell, args: argparse.Namespace) -> Answer:
    rows = _rows(shell, args)
    title = f"{len(rows):,} execution(s)"
    title += f' passing filter "{args.tensor_filter}"' if args.tensor_filter else ""
    title += f" run by {args.path}" if args.path else ""
    title += f", line {args.line}" if args.line else ""
    begin = shell.run.start_time
    head = [plain(f"{title}:", Style.HEADING), (), _head(args)]
    return Screen(LazyLines(head, rows, lambda row: _line(row, begin)))


def _rows(shell: Shell, args: argparse.Namespace) -> Rows[Execution]:
    if args.sort_by not in _SORTS:
        raise UsageError(f"le cannot sort by {args.sort_by!r}: choose one of {', '.join(_SORTS)}.")
    if args.line is not None and args.path is None:
        raise UsageError("-l needs -p, the source file of the line.")
    filters: dict[str, object] = {"line": args.line}
    if args.path is not None:
        filters["source"] = _source(shell, args.path)
    if args.name_filter:
        # Functions have numbers around the names that their authors gave them.
        filters["op_type"] = f"^(?:__(?:inference|forward)_)?(?:{args.name_filter})"
    if args.tensor_filter:
        filters["health"] = _health(shell, args.tensor_filter)
    sort = _SORTS[args.sort_by] or ("wall_time" if args.reverse else None)
    return shell.run.executions(sort=sort, descending=args.reverse, **filters)


def _source(shell: Shell, path: str) -> int:
    with shell.run.snapshot() as snapshot:
        sources = recorded_file(snapshot, path).sources
    if len(sources) > 1:
        raise UsageError(f"{len(sources)} hosts have {path}; le -p can only show what one host ran.")
    return sources[0]


def _health(shell: Shell, name: str) -> str:
    health = shell.filters.get(name).health
    if health is None:
        raise UsageError(
            f"{name!r} reads values, which `lt -f {name}` does for tensors of graphs; le cannot."
        )
    return health


def _head(args: argparse.Namespace) -> Line:
    parts = []
    for (text, key), width in zip(_HEADS, (*_WIDTHS, 0), strict=True):
        command = None if key is None else command_line(*_words(args, key))
        parts.append(Part(text.ljust(width), Style.HEADING, command))
    return tuple(parts)


def _words(args: argparse.Namespace, key: str) -> list[str | int]:
    words: list[str | int] = ["le", "-s", key]
    words += ["-r"] if args.sort_by == key and not args.reverse else []
    options = (("-f", args.tensor_filter), ("-n", args.name_filter), ("-p", args.path), ("-l", args.line))
    return words + [word for option, value in options if value is not None for word in (option, value)]


def _line(row: Execution, begin: float) -> Line:
    is_bad = "bad" in (row.health, row.call_health)
    health = row.health or row.call_health or "?"
    inside = " inside" if row.call_health == "bad" and row.health != "bad" else ""
    cells = (
        *(
            f"{row.index}",
            f"[{(row.wall_time - begin) * 1e3:.3f}]",
            f"{row.num_inputs}",
            f"{row.num_outputs}",
        ),
        "bad" + inside if is_bad else health,
    )
    texts = [text.ljust(width - 1) + " " for text, width in zip(cells, _WIDTHS, strict=True)]
    style = Style.BAD if is_bad else Style.PLAIN
    first = link(texts[0], f"goto {row.index}")
    return (first, *map(Part, texts[1:]), link(display_name(row.op_type), f"goto {row.index}", style))


COMMAND: Final = Command(
    "list_executions",
    ("le",),
    "list the ops and functions that Python ran",
    _list,
    _arguments,
    option_completes=(
        *(("-f", Completes.FILTER), ("--tensor_filter", Completes.FILTER)),
        *(("-p", Completes.SOURCE), ("--path", Completes.SOURCE)),
    ),
    examples=("le -f has_inf_or_nan", "le -n train_step -r"),
)
