"""`lt`: lists the tensors of graphs."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.dtypes import NUMBER_OF, numpy_dtype
from tb_debugger_plugin.reading.rows import GraphExecution, Rows
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.lazy_lines import LazyLines
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

#: What ``-s`` may be, and the column that it sorts by; None is the list's own order, which is that of time.
_SORTS: Final = {"timestamp": None, "dump_size": "size"}
_TIME_WIDTH, _SIZE_WIDTH, _TYPE_WIDTH = 12, 10, 24


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--tensor_filter", metavar="NAME", help="only tensors that pass this filter")
    parser.add_argument("-n", "--node_name_filter", metavar="RE", help="only nodes whose name begins so")
    parser.add_argument("-t", "--op_type_filter", metavar="RE", help="only ops whose type begins so")
    parser.add_argument("-g", "--function", metavar="RE", help="only functions whose name contains this")
    parser.add_argument("-s", "--sort_by", metavar="KEY", default="timestamp", help=", ".join(_SORTS))
    parser.add_argument("-r", "--reverse", action="store_true", help="the largest first")


def _list(shell: Shell, args: argparse.Namespace) -> Answer:
    rows = _rows(shell, args)
    header = f"{len(rows):,} dumped tensor(s)"
    if args.tensor_filter:
        header += f' passing filter "{args.tensor_filter}"'
    begin = shell.run.start_time
    first = shell.run.graph_executions()
    begin = first[0].wall_time if len(first) else begin
    head = [plain(f"{header}:", Style.HEADING), (), _head(args)]
    return Screen(LazyLines(head, rows, lambda row: _line(row, begin)))


def _rows(shell: Shell, args: argparse.Namespace) -> Rows[GraphExecution]:
    if args.sort_by not in _SORTS:
        raise UsageError(f"lt cannot sort by {args.sort_by!r}: choose one of {', '.join(_SORTS)}.")
    filters: dict[str, Any] = {"function": args.function}
    if args.node_name_filter:
        filters["op_name"] = f"^(?:{args.node_name_filter})"
    if args.op_type_filter:
        filters["op_type"] = f"^(?:{args.op_type_filter})"
    if args.tensor_filter:
        filters["health"] = shell.filters.get(args.tensor_filter).health
    sort = _SORTS[args.sort_by] or ("wall_time" if args.reverse else None)
    return shell.run.graph_executions(sort=sort, descending=args.reverse, **filters)


def _head(args: argparse.Namespace) -> Line:
    def column(text: str, key: str, width: int) -> Part:
        flip = " -r" if args.sort_by == key and not args.reverse else ""
        return link(text.ljust(width), f"lt -s {key}{flip}", Style.HEADING)

    return (
        column("t (ms)", "timestamp", _TIME_WIDTH),
        column("Size (B)", "dump_size", _SIZE_WIDTH),
        column("Op type", "op_type", _TYPE_WIDTH),
        column("Tensor name", "tensor_name", 0),
    )


def _line(row: GraphExecution, begin: float) -> Line:
    cells = (
        f"[{(row.wall_time - begin) * 1e3:.3f}]".ljust(_TIME_WIDTH),
        _size(row).ljust(_SIZE_WIDTH),
        (row.op_type or "?").ljust(_TYPE_WIDTH),
    )
    style = Style.BAD if row.health == "bad" else Style.PLAIN
    return (*map(Part, cells), link(row.name, f"pt {shlex.quote(row.name)}", style))


def _size(row: GraphExecution) -> str:
    dtype = None if row.dtype is None else numpy_dtype(NUMBER_OF[row.dtype])
    return "?" if row.size is None or dtype is None else f"{row.size * np.dtype(dtype).itemsize}"


COMMAND: Final = Command(
    "list_tensors",
    ("lt",),
    "list the tensors that graphs computed",
    _list,
    _arguments,
    completes=Completes.NOTHING,
    option_completes=(("-f", Completes.FILTER), ("--tensor_filter", Completes.FILTER)),
    examples=("lt -f has_inf_or_nan", "lt -n loss/ -s dump_size -r"),
)
