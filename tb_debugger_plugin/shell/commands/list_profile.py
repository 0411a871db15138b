"""`lp`: lists what each op took in a run of a session that was profiled."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final

from tb_debugger_plugin.analysis.lists.op_profile import OpTime, ProfiledRun, profiled_runs
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.command import Answer, Command
from tb_debugger_plugin.shell.commands.profiles import add_run, chosen_run, compiled, filtered, unit_of
from tb_debugger_plugin.shell.links import command_line, typed
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain, table
from tb_debugger_plugin.shell.times import in_unit, parse_interval

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell


def _place(one: OpTime) -> tuple[str, int]:
    return ("", 0) if one.line is None else (one.line.path, one.line.line)


#: What ``-s`` may be, in the order of the columns, and the value that it sorts by.
_SORTS: Final[dict[str, Callable[[OpTime], Any]]] = {
    "node": lambda one: one.node,
    "op_type": lambda one: one.op_type,
    "start_time": lambda one: one.start,
    "op_time": lambda one: one.op_time,
    "exec_time": lambda one: one.exec_time,
    "line": _place,
}
_FILTERS: Final = (
    (("-d", "--device_name_filter"), "only devices whose name begins so"),
    (("-n", "--node_name_filter"), "only nodes whose name begins so"),
    (("-t", "--op_type_filter"), "only ops whose type begins so"),
    (("-f", "--file_path_filter"), "only ops made in files whose path begins so"),
)
_INTERVALS: Final = (
    (("-e", "--execution_time"), "only ops that took so long, such as '>100us', '<=3ms' or '[1ms, 2s]'"),
    (("-o", "--op_time"), "the same for the computation alone"),
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    for names, meaning in _FILTERS:
        parser.add_argument(*names, metavar="RE", help=meaning)
    parser.add_argument("--min_lineno", type=int, metavar="LINE", help="only lines from this one on")
    parser.add_argument("--max_lineno", type=int, metavar="LINE", help="only lines before this one")
    for names, meaning in _INTERVALS:
        parser.add_argument(*names, metavar="INTERVAL", help=meaning)
    parser.add_argument("-s", "--sort_by", metavar="KEY", default="start_time", help=", ".join(_SORTS))
    parser.add_argument("-r", "--reverse", action="store_true", help="the largest first")
    add_run(parser)


def _list(shell: Shell, args: argparse.Namespace) -> Answer:
    if args.sort_by not in _SORTS:
        raise UsageError(f"lp cannot sort by {args.sort_by!r}: choose one of {', '.join(_SORTS)}.")
    unit_of(args)
    with shell.run.snapshot() as snapshot:
        run = chosen_run(snapshot, args)
        known = profiled_runs(snapshot)
        times = filtered(
            *(snapshot, run),
            device=args.device_name_filter,
            node=args.node_name_filter,
            op_type=args.op_type_filter,
        )
    chosen = sorted(filter(_wanted(args), times), key=_SORTS[args.sort_by], reverse=args.reverse)
    devices = sorted({one.device for one in times})
    lines = _head(run, known)
    for number, device in enumerate(devices, 1):
        own = [one for one in chosen if one.device == device]
        lines += [(), plain(f"Device {number} of {len(devices)}: {device}", Style.HEADING), ()]
        lines += _device_lines(own, args)
    return Screen(lines)


def _wanted(args: argparse.Namespace) -> Callable[[OpTime], bool]:
    path = compiled(args.file_path_filter, "the file path filter")
    executed = parse_interval(args.execution_time) if args.execution_time else None
    computed = parse_interval(args.op_time) if args.op_time else None

    def wanted(one: OpTime) -> bool:
        file, line = _place(one)
        return (
            (path is None or path.match(file) is not None)
            and not (args.min_lineno and line < args.min_lineno)
            and not (args.max_lineno and line >= args.max_lineno)
            and (executed is None or executed.has(one.exec_time))
            and (computed is None or computed.has(one.op_time))
        )

    return wanted


def _head(run: ProfiledRun, known: Sequence[ProfiledRun]) -> list[Line]:
    parts = [Part(f"Run {run.run} of session {run.session}", Style.HEADING)]
    others = [one for one in known if one != run][-10:]
    if others:
        parts.append(Part("   others:"))
    for one in others:
        text = f"run {one.run} of session {one.session}"
        parts += [Part("  "), link(text, f"lp --run {one.run} --session {one.session}")]
    return [tuple(parts)]


def _device_lines(times: Sequence[OpTime], args: argparse.Namespace) -> list[Line]:
    unit = unit_of(args)
    heads = (
        *("Node", "Op Type", "Start Time (us)"),
        *(f"Op Time ({unit})", f"Exec Time ({unit})", "Filename:Lineno(function)"),
    )
    rows = [[_column(text, key, args) for text, key in zip(heads, _SORTS, strict=True)]]
    for one in times:
        rows.append(
            [
                link(one.node, command_line("ni", "-a", "-d", "-t", one.node))
                if one.op_type
                else Part(one.node),
                Part(one.op_type),
                Part(f"{one.start}"),
                Part(in_unit(one.op_time, unit)),
                Part(in_unit(one.exec_time, unit)),
                _line_link(one, args),
            ]
        )
    op_time = in_unit(sum(one.op_time for one in times), unit)
    exec_time = in_unit(sum(one.exec_time for one in times), unit)
    total = [Part(text, Style.HEADING) for text in ("Device Total", "", "", op_time, exec_time, "")]
    *lines, last = table([*rows, total])
    return [*lines, (), last]


def _column(text: str, key: str, args: argparse.Namespace) -> Part:
    words: list[str | int] = ["lp", "-s", key]
    if args.sort_by == key and not args.reverse:
        words.append("-r")
    words += typed(args, "device_name_filter", "node_name_filter", "op_type_filter", "file_path_filter")
    names = ("min_lineno", "max_lineno", "execution_time", "op_time", "run", "session", "time_unit")
    words += typed(args, *names)
    return link(text, command_line(*words), Style.HEADING)


def _line_link(one: OpTime, args: argparse.Namespace) -> Part:
    if one.line is None:
        return Part("")
    path = PureWindowsPath(one.line.path) if "\\" in one.line.path else PurePosixPath(one.line.path)
    words: list[str | int] = ["ps", one.line.path, "--cost_type", "exec_time", "--init_line", one.line.line]
    words += typed(args, "device_name_filter", "node_name_filter", "op_type_filter")
    return link(f"{path.name}:{one.line.line}({one.line.function})", command_line(*words))


COMMAND: Final = Command(
    "list_profile",
    ("lp",),
    "list what each op took in a profiled run of a session",
    _list,
    _arguments,
    examples=("lp -s exec_time -r", "lp -t MatMul -e '>100us' --time_unit ms"),
)
