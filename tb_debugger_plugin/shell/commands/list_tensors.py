"""`lt`: lists the tensors of graphs."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tb_debugger_plugin.analysis.lists.filters import check_regex
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.reading.dumps.recording_source import passing
from tb_debugger_plugin.reading.rows import GraphExecution, Rows
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.lazy_lines import LazyLines
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain
from tb_debugger_plugin.shell.times import first_moment, parse_byte_interval

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.reading.lazy_sequence import LazySequence
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.shell.times import byte_text

TIME_WIDTH: Final = 12
SIZE_WIDTH: Final = 10
#: A longer name of a function or a type moves the rest of its line.
_MOST_WIDTH: Final = 40


class Columns(NamedTuple):
    """The widths of columns; 0 for one that is left out."""

    op_type: int
    function: int


def columns_of(run: Run) -> Columns:
    """Return the widths of the columns for the tensors of a run."""
    with run.snapshot() as snapshot:
        catalog = snapshot.catalog

        def widths() -> Columns:
            names = {catalog.graphs[site.graph].name or "" for site in catalog.sites}
            types = {catalog.ops[site.op].type or "?" for site in catalog.sites}
            return Columns(_width("Op type", types), _width("Function", names) if len(names) > 1 else 0)

        return snapshot.remember_of_sites("columns of lt", widths)


def _width(head: str, texts: Iterable[str]) -> int:
    return min(_MOST_WIDTH, max(map(len, (head, *texts)))) + 2


def line_of(row: GraphExecution, begin: float, columns: Columns) -> Line:
    """Return the line of a tensor.

    Args:
      row: The tensor.
      begin: The moment from which milliseconds are counted, in seconds since the epoch.
      columns: The widths.
    """
    cells = [
        _cell(f"[{(row.wall_time - begin) * 1e3:.3f}]", TIME_WIDTH),
        _cell(byte_text(row.bytes), SIZE_WIDTH),
        _cell(row.op_type or "?", columns.op_type),
    ]
    if columns.function:
        cells.append(_cell(row.function or "", columns.function))
    style = Style.BAD if row.health == "bad" else Style.PLAIN
    return (*map(Part, cells), link(row.name, f"pt #{row.index}", style))


def _cell(text: str, width: int) -> str:
    return text.ljust(width) if len(text) < width else f"{text} "


class Backwards(LazySequence[GraphExecution]):
    """The rows of a list from its end."""

    def __init__(self, rows: Sequence[GraphExecution]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def _at(self, number: int) -> GraphExecution:
        """Return a row."""
        return self._rows[len(self) - 1 - number]


#: What ``-s`` may be, and the column that it sorts by.
_SORTS: Final = {
    "timestamp": "wall_time",
    "dump_size": "bytes",
    "op_type": "op_type",
    "tensor_name": "tensor_name",
}


class _Pattern(NamedTuple):
    """An option with a regular expression.

    Attributes:
      option: The name of the option.
      filter: The filter of the list.
      is_anchored: Whether it must match from the beginning, as in tfdbg.
      heading: What it is called above the list.
    """

    option: str
    filter: str
    is_anchored: bool
    heading: str


_PATTERNS: Final = (
    _Pattern("op_type_filter", "op_type", True, "Op type regex filter"),
    _Pattern("node_name_filter", "op_name", True, "Node name regex filter"),
    _Pattern("filter_exclude_node_names", "not_op_name", True, "Excluded node names"),
    _Pattern("function", "function", False, "Function"),
    _Pattern("layer", "layer", False, "Layer"),
    _Pattern("variable", "variable", False, "Variable"),
)
_PLAIN: Final = ("dtype", "where")
#: The options that choose tensors, beside those with patterns.
_OTHERS: Final = (*_PLAIN, "size")
#: Names of libraries that TensorFlow puts before the type of an op which they compute.
_LIBRARIES: Final = "_(?:MklNative|Mkl)?(?:Fused)?"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--tensor_filter", metavar="NAME", help="only tensors that pass this filter")
    parser.add_argument("-n", "--node_name_filter", metavar="RE", help="only nodes whose name begins so")
    parser.add_argument("-t", "--op_type_filter", metavar="RE", help="only ops whose type begins so")
    parser.add_argument(
        *("-fenn", "--filter_exclude_node_names"),
        metavar="RE",
        help="with -f: no nodes whose name begins so",
    )
    parser.add_argument("-g", "--function", metavar="RE", help="only functions whose name contains this")
    parser.add_argument("--layer", metavar="RE", help="only Keras layers whose path contains this")
    parser.add_argument("--variable", metavar="RE", help="only ops that read or assign such a variable")
    parser.add_argument("--dtype", metavar="NAME", help="only this dtype, such as float32")
    parser.add_argument("--where", metavar="COMPARISONS", help='such as "nan>0,size>=100"')
    parser.add_argument("--size", metavar="INTERVAL", help='only so many bytes, such as ">1M" or "[2k, 6k]"')
    parser.add_argument("-s", "--sort_by", metavar="KEY", default="timestamp", help=", ".join(_SORTS))
    parser.add_argument("-r", "--reverse", action="store_true", help="the last or the largest first")


def _list(shell: Shell, args: argparse.Namespace) -> Answer:
    _check(shell, args)
    with shell.run.snapshot() as snapshot:
        counts = snapshot.num_graph_executions, snapshot.num_executions
        begin = first_moment(snapshot, shell.run.start_time)
    if not counts[0]:
        return _nothing(counts[1])
    rows = _rows(shell, args)
    columns = columns_of(shell.run)
    head = [*_heading(args, rows.matching), (), _head(args, columns)]
    if rows.matching > len(rows):
        what = f"The first {len(rows):,} of {rows.matching:,}; -n, -t, -g or --where leave fewer."
        head.insert(-2, plain(what, Style.MUTED))
    if not rows.matching and args.tensor_filter and not _is_measured(shell):
        head.append(plain(_UNMEASURED, Style.MUTED))
    shown: Sequence[GraphExecution] = rows
    if args.sort_by == "timestamp" and args.reverse:
        shown = Backwards(rows)
    return Screen(LazyLines(head, shown, lambda row: line_of(row, begin, columns)))


_UNMEASURED: Final = "No tensor was measured: record values, or in a mode such as FULL_HEALTH."


def _is_measured(shell: Shell) -> bool:
    """Whether the recording says of any tensor if it is bad."""
    unmeasured = shell.run.graph_executions(health="unmeasured")
    return unmeasured.matching < len(shell.run.graph_executions())


def _check(shell: Shell, args: argparse.Namespace) -> None:
    if args.sort_by not in _SORTS:
        raise UsageError(f"lt cannot sort by {args.sort_by!r}: choose one of {', '.join(_SORTS)}.")
    if args.filter_exclude_node_names and not args.tensor_filter:
        raise UsageError("-fenn (--filter_exclude_node_names) needs -f (--tensor_filter).")
    with shell.run.snapshot() as snapshot:
        for one in _PATTERNS:
            pattern = getattr(args, one.option)
            if pattern:
                check_regex(snapshot, f"--{one.option} {pattern}", pattern)


def _nothing(num_executions: int) -> Screen:
    lines: list[Line] = [plain("0 dumped tensor(s):", Style.HEADING), ()]
    lines.append(plain("No tensor of a graph is recorded."))
    if num_executions:
        what = f"{num_executions:,} execution(s) of eager ops and functions"
        lines.append((Part("Python ran "), link(what, "le"), Part(": le lists them.")))
    return Screen(lines)


def _rows(shell: Shell, args: argparse.Namespace) -> Rows[GraphExecution]:
    filters = _filters(args)
    # The list is in the order of time, and can be read from its end.
    sort = None if args.sort_by == "timestamp" else _SORTS[args.sort_by]
    descending = args.reverse and sort is not None
    run = shell.run
    chosen = shell.filters.get(args.tensor_filter) if args.tensor_filter else None
    if chosen is not None and chosen.health is not None:
        filters["health"] = chosen.health
    is_asked = chosen is not None and chosen.health is None
    if not (is_asked or args.size):
        return run.graph_executions(sort=sort, descending=descending, **filters)
    found: Iterable[GraphExecution] = run.graph_executions(sort=None, descending=False, **filters)
    if args.size:
        sizes = parse_byte_interval(args.size)
        found = (row for row in found if row.bytes is not None and sizes.has(row.bytes))
    if is_asked and chosen is not None:
        found = passing(run, found, chosen.predicate, chosen.name)
    return run.graph_executions_at([row.index for row in found], sort=sort, descending=descending)


def _filters(args: argparse.Namespace) -> dict[str, object]:
    filters = {name: getattr(args, name) for name in _PLAIN if getattr(args, name)}
    for one in _PATTERNS:
        pattern = getattr(args, one.option)
        if pattern:
            # The type of an op that the program wrote, whatever library computes it.
            library = f"(?:{_LIBRARIES})?" if one.filter == "op_type" else ""
            filters[one.filter] = f"^{library}(?:{pattern})" if one.is_anchored else pattern
    return filters


def _heading(args: argparse.Namespace, count: int) -> list[Line]:
    header = f"{count:,} dumped tensor(s)"
    if args.tensor_filter:
        header += f' passing filter "{args.tensor_filter}"'
    lines = [plain(f"{header}:", Style.HEADING)]
    lines += [
        plain(f'{one.heading}: "{getattr(args, one.option)}"') for one in _PATTERNS if _is_set(args, one)
    ]
    return lines + [plain(f"{name}: {getattr(args, name)}") for name in _OTHERS if getattr(args, name)]


def _is_set(args: argparse.Namespace, pattern: _Pattern) -> bool:
    return bool(getattr(args, pattern.option))


def _head(args: argparse.Namespace, columns: Columns) -> Line:
    def column(text: str, key: str, width: int) -> Part:
        flip = " -r" if args.sort_by == key and not args.reverse else ""
        return link(text.ljust(width), f"lt{_options(args)} -s {key}{flip}", Style.HEADING)

    function = (Part("Function".ljust(columns.function), Style.HEADING),) if columns.function else ()
    return (
        column("t (ms)", "timestamp", TIME_WIDTH),
        column("Size (B)", "dump_size", SIZE_WIDTH),
        column("Op type", "op_type", columns.op_type),
        *function,
        column("Tensor name", "tensor_name", 0),
    )


def _options(args: argparse.Namespace) -> str:
    """Return the options that choose tensors, as they are typed."""
    names = ("tensor_filter", *(one.option for one in _PATTERNS), *_OTHERS)
    given = [(name, getattr(args, name)) for name in names if getattr(args, name)]
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in given)


COMMAND: Final = Command(
    "list_tensors",
    ("lt",),
    "list the tensors that graphs computed",
    _list,
    _arguments,
    option_completes=(
        ("-f", Completes.FILTER),
        ("--tensor_filter", Completes.FILTER),
        ("-g", Completes.FUNCTION),
        ("--function", Completes.FUNCTION),
    ),
    examples=(
        "lt -f has_inf_or_nan",
        "lt -f has_inf_or_nan -fenn .*gradients.*",
        "lt -n loss/ -s dump_size -r",
        'lt --where "nan>0,size>=100"',
        'lt --size "[2k, 6k]"',
    ),
)
