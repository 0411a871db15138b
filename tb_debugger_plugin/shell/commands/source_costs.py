"""`ps` with costs: a source file with the time that the ops of each line took."""

from __future__ import annotations

import argparse
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from tb_debugger_plugin.analysis.lists.op_profile import OpTime
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.source_lines import RecordedFile
from tb_debugger_plugin.shell.commands.profiles import add_run, chosen_run, filtered, unit_of
from tb_debugger_plugin.shell.links import command_line, typed
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain
from tb_debugger_plugin.shell.times import in_unit

_TICKS: Final = 10
_BAR_WIDTH, _EXECS_WIDTH = _TICKS + 3, 9
_COSTS: Final = ("exec_time", "op_time")


def add_cost_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the form with costs."""
    parser.add_argument("--cost_type", choices=_COSTS, help="what each line took, in a profiled run")
    parser.add_argument("-d", "--device_name_filter", metavar="RE", help="costs of devices that begin so")
    parser.add_argument("-n", "--node_name_filter", metavar="RE", help="costs of nodes that begin so")
    parser.add_argument("--op_type_filter", metavar="RE", help="the same as -t RE with costs")
    parser.add_argument("--init_line", type=int, metavar="LINE", help="the line to go to, with costs")
    add_run(parser)


def wants_costs(args: argparse.Namespace) -> bool:
    """Whether an argument asks for costs."""
    names = (
        "cost_type",
        "time_unit",
        "init_line",
        "device_name_filter",
        "node_name_filter",
        "op_type_filter",
    )
    return any(getattr(args, name) is not None for name in (*names, "run", "session"))


def cost_screen(snapshot: Snapshot, file: RecordedFile, args: argparse.Namespace) -> Screen:
    """Return the file with a bar, a time and counts at each line that made ops of a profiled run."""
    cost_type, unit = args.cost_type or _COSTS[0], unit_of(args)
    run = chosen_run(snapshot, args)
    op_type = args.op_type_filter or args.tensors
    times = filtered(
        snapshot, run, device=args.device_name_filter, node=args.node_name_filter, op_type=op_type
    )
    by_line: dict[int, list[OpTime]] = defaultdict(list)
    for one in times:
        if one.line is not None and one.line.path == file.path:
            by_line[one.line.line].append(one)
    if not by_line:
        return Screen(
            [plain(f"No op of run {run.run} of session {run.session} that fits was made in {file.path}.")]
        )
    costs = {line: sum(getattr(one, cost_type) for one in ops) for line, ops in by_line.items()}
    most = max(costs.values())
    lines, at = _head(cost_type), 0
    width = len(f"{max(max(file.lines, default=1), *by_line)}") + 3
    for number in sorted({*file.lines, *by_line}):
        if number <= (args.init_line or args.line_begin):
            at = len(lines)
        text = (
            Part(f" L{number}".ljust(width), Style.MUTED),
            Part(file.lines.get(number, "(not on record)")),
        )
        if number in costs:
            cost = in_unit(costs[number], unit).ljust(len(cost_type) + 3)
            parts = (Part(cost), *_counts(file, args, number, by_line[number]))
            lines.append((Part(_bar(costs[number], most)), *parts, *text))
        else:
            lines.append((Part(" " * (_BAR_WIDTH + len(cost_type) + 3 + _EXECS_WIDTH)), *text))
    return Screen(lines, begin=at if (args.init_line or args.line_begin) > 1 else 0)


def _head(cost_type: str) -> list[Line]:
    width = len(cost_type) + 3
    first = " " * _BAR_WIDTH + cost_type.ljust(width) + "#nodes".ljust(_EXECS_WIDTH) + " lineno"
    second = " " * (_BAR_WIDTH + width) + "(#execs)".ljust(_EXECS_WIDTH) + " source"
    return [plain(first, Style.HEADING), plain(second, Style.HEADING)]


def _bar(cost: float, most: float) -> str:
    ticks = max(1, math.ceil(cost / most * _TICKS)) if most else 1
    return f"[{('|' * ticks).ljust(_TICKS)}] "


def _counts(
    file: RecordedFile, args: argparse.Namespace, line: int, ops: Sequence[OpTime]
) -> tuple[Part, Part]:
    text = f"{len({one.node for one in ops})}({len(ops)})"
    words: list[str | int] = ["lp", "-f", f"{re.escape(file.path)}$"]
    words += ["--min_lineno", line, "--max_lineno", line + 1]
    words += typed(args, "device_name_filter", "node_name_filter")
    if args.op_type_filter or args.tensors:
        words += ["--op_type_filter", args.op_type_filter or args.tensors]
    words += typed(args, "run", "session")
    return link(text, command_line(*words)), Part(" " * (_EXECS_WIDTH - len(text)))
