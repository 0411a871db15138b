"""`ni`: shows a node with its neighbours, attributes, dumps, and the stack that made it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.adjacency import Neighbour, adjacency
from tb_debugger_plugin.analysis.graph.forward_op import forward_op
from tb_debugger_plugin.analysis.graph.graph_calls import graph_calls
from tb_debugger_plugin.analysis.graph.graphs import attributes_of
from tb_debugger_plugin.analysis.snapshot import Snapshot, SqlRow
from tb_debugger_plugin.expressions.names import literal
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.commands.nodes import HIDDEN_TYPES, add_node, find_node
from tb_debugger_plugin.shell.links import command_line, node_command
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain
from tb_debugger_plugin.shell.times import first_moment
from tb_debugger_plugin.shell.value_screen import op_changes

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell
from typing import NamedTuple

from tb_debugger_plugin.analysis.graph.tensor_counts import tensor_counts
from tb_debugger_plugin.analysis.lists.filters import HEALTH_NUMBERS
from tb_debugger_plugin.analysis.source.sources import USER, stack_frames, stack_of
from tb_debugger_plugin.reading.dumps.dump_dir import DebugDumpDir
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.shell.links import source_command

#: The first tensors are listed; `lt` pages through all of them.
_SHOWN: Final = 1000


def dump_lines(snapshot: Snapshot, op: Op) -> list[Line]:
    """Return a line for each recorded tensor of an op, in the order of time, after an empty line."""
    sites = {site.number: site.slot for site in snapshot.catalog.op_sites.get(op.number, ())}
    count = int(tensor_counts(snapshot).tensors[op.number])
    begin = first_moment(snapshot, 0.0)
    others = _other_dumps(snapshot, op, begin)
    lines: list[Line] = [(), plain(f"{count + len(others):,} dumped tensor(s):", Style.HEADING), ()]
    lines += [_line(row, sites[row[1]], begin) for row in _rows(snapshot, list(sites))]
    if count > _SHOWN:
        rest = link("lt lists all of them", command_line("lt", "-n", f"{literal(op.name)}$"))
        lines.append((Part(f"  ({count - _SHOWN:,} more; "), rest, Part(")")))
    return lines + others


def _rows(snapshot: Snapshot, sites: list[int]) -> list[SqlRow]:
    return snapshot.rows(
        "SELECT idx, site, wall_time, health, nan, neg_inf, pos_inf FROM graph_executions"
        f" WHERE site IN (SELECT unnest(?::INTEGER[])) ORDER BY idx LIMIT {_SHOWN}",
        [sites],
    )


def _line(row: SqlRow, slot: int, begin: float) -> Line:
    index, _, time, health, *counts = row
    text = f"Slot {slot} @ {(time - begin) * 1e3:.3f} ms"
    style = Style.BAD if health == HEALTH_NUMBERS["bad"] else Style.PLAIN
    words = bad_words(*counts)
    return (Part("  "), link(text, f"pt #{index}", style), Part(f"  {words}" if words else "", style))


def bad_words(nan: float | None, neg_inf: float | None, pos_inf: float | None) -> str:
    """Return how many elements are bad, such as ``2 NaN, 1 -inf``; empty if none, or if not counted."""
    counts = ((nan, "NaN"), (neg_inf, "-inf"), (pos_inf, "+inf"))
    return ", ".join(f"{count:,.0f} {name}" for count, name in counts if count and count == count)


def _other_dumps(snapshot: Snapshot, op: Op, begin: float) -> list[Line]:
    """Return the dumps of debug ops that give no tensor of the program, such as `DebugNumericSummary`."""
    rows = snapshot.rows(
        "SELECT watch_key, time FROM dump_files WHERE idx IS NULL AND starts_with(watch_key, ?)"
        f" ORDER BY time LIMIT {_SHOWN}",
        [f"{op.name}:"],
    )
    lines: list[Line] = []
    for key, time in rows:
        _, slot, debug_op = key.rsplit(":", 2)
        text = f"Slot {slot} @ {debug_op} @ {time / 1e3 - begin * 1e3:.3f} ms"
        lines.append((Part("  "), link(text, command_line("pt", key))))
    return lines


class _Frame(NamedTuple):
    depth: int
    path: str
    line: int
    function: str
    text: str | None
    is_user: bool


def traceback_lines(snapshot: Snapshot, op: Op) -> list[Line]:
    """Return the frames that made an op, after a heading."""
    return [(), (), plain("Traceback of node construction:", Style.HEADING), *_lines_of(snapshot, op.stack)]


def _lines_of(snapshot: Snapshot, stack: int) -> list[Line]:
    frames = stack_lines(snapshot, stack)
    return frames or [plain("(Not recorded: TensorFlow's own dumps hold no stacks.)")]


def stack_lines(snapshot: Snapshot, stack: int) -> list[Line]:
    """Return the frames of a stack, four lines each; nothing if it was not recorded."""
    frames = _frames(snapshot, stack)
    own = [line for frame in frames if frame.is_user for line in _frame_lines(frame)]
    libraries = [line for frame in frames if not frame.is_user for line in _frame_lines(frame)]
    if own and libraries:
        libraries = [plain("Frames of libraries:", Style.MUTED), *libraries]
    return [*own, *libraries]


def _frames(snapshot: Snapshot, stack: int) -> list[_Frame]:
    _, ids = stack_of(snapshot, stack)
    found = stack_frames(snapshot, ids)
    return [
        _Frame(depth, path or "?", line, function, detail["text"], detail["origin"] == USER)
        for depth, ((_, path, line, function), detail) in enumerate(
            zip(found["stack_frames"], found["details"], strict=True)
        )
    ]


def _frame_lines(frame: _Frame) -> list[Line]:
    style = Style.PLAIN if frame.is_user else Style.MUTED
    text = "None" if frame.text is None else f'"{frame.text.strip()}"'
    return [
        plain(f"{frame.depth}: {frame.path}", style),
        (Part("  "), link(f"Line:     {frame.line}", source_command(frame.path, frame.line), style)),
        plain(f"  Function: {frame.function}", style),
        plain(f"  Text:     {text}", style),
        (),
    ]


def attribute_lines(run: Run, snapshot: Snapshot, op: Op) -> list[Line]:
    """Return two lines for each attribute, after a heading."""
    lines: list[Line] = [(), plain("Node attributes:", Style.HEADING)]
    attributes = attributes_of(snapshot, op) if op.attributes else _dumped(run, snapshot, op)
    if attributes is None:
        return [*lines, plain("  Not recorded: only this package's recorder and dump folders hold them.")]
    for name, value in attributes:
        lines += [plain(f"  {name}:"), plain(f"    {value}"), ()]
    return lines


def _dumped(run: Run, snapshot: Snapshot, op: Op) -> list[tuple[str, str]] | None:
    """Return what the graph in a dump folder says; None in a recording."""
    rows = snapshot.rows(
        "SELECT c.folder, g.device FROM dump_graphs g JOIN dump_calls c USING (call)"
        " WHERE g.graph = ? ORDER BY call LIMIT 1",
        [op.graph],
    )
    if not rows:
        return None
    ((folder, device),) = rows
    with DebugDumpDir(run.folder, call=folder) as dump:
        attributes = dump.node_attributes(op.name, device_name=op.device or device)
    return [(name, " ".join(str(attributes[name]).split())) for name in sorted(attributes)]


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_node(parser)
    parser.add_argument("-a", "--attributes", action="store_true", help="also its attributes")
    parser.add_argument("-d", "--dumps", action="store_true", help="also its tensors that are on record")
    parser.add_argument("-t", "--traceback", action="store_true", help="also the stack that made it")


def _info(shell: Shell, args: argparse.Namespace) -> Answer:
    options = [f"-{name[0]}" for name in ("attributes", "dumps", "traceback") if getattr(args, name)]
    with shell.run.snapshot() as snapshot:
        op = find_node(snapshot, args, ["ni", *options])
        if isinstance(op, Screen):
            return op
        lines = [*_heading(snapshot, op), *_neighbour_lines(snapshot, op)]
        lines += attribute_lines(shell.run, snapshot, op) if args.attributes else []
        lines += dump_lines(snapshot, op) if args.dumps else []
        lines += traceback_lines(snapshot, op) if args.traceback else []
    return Screen(lines)


def _heading(snapshot: Snapshot, op: Op) -> list[Line]:
    lines: list[Line] = [(Part("Node "), Part(op.name, Style.HEADING)), ()]
    lines.append(plain(f"  Op: {op.type or 'not described'}"))
    lines.append(plain(f"  Device: {_device(snapshot, op)}"))
    graph = snapshot.catalog.graphs[op.graph]
    if graph.name is not None:
        lines.append((Part("  Function: "), link(graph.name, command_line("lf", graph.graph_id))))
    if op.layer is not None:
        lines.append(
            (Part("  Layer: "), link(op.layer, command_line("lt", "--layer", f"^{literal(op.layer)}$")))
        )
    if op.variable is not None:
        lines.append(
            (
                Part("  Variable: "),
                link(op.variable, command_line("lt", "--variable", f"^{literal(op.variable)}$")),
            )
        )
    lines += [plain(f"  Gradient of: {name}") for name in _gradients(snapshot, op)]
    forward = forward_op(snapshot, op)
    if forward is not None:
        lines.append((Part("  Part of the gradient of: "), _link(snapshot, forward)))
    for number, _ in graph_calls(snapshot).graphs.get(op.number, ()):
        inner = snapshot.catalog.graphs[number]
        called = link(inner.name or inner.graph_id, command_line("lf", inner.graph_id))
        lines.append((Part("  Runs: "), called))
    return [*lines, *op_changes(snapshot, op)]


def _device(snapshot: Snapshot, op: Op) -> str:
    sites = snapshot.catalog.op_sites.get(op.number, ())
    devices = dict.fromkeys(filter(None, (op.device, *(site.device for site in sites))))
    return ", ".join(devices) or "not placed when the graph was made"


def _gradients(snapshot: Snapshot, op: Op) -> list[str]:
    # A recording may give an op any number of outputs, so these are not gone through.
    gradients = snapshot.catalog.gradients
    of_slots = [gradients[number, slot] for number, slot in sorted(gradients) if number == op.number]
    return list(dict.fromkeys(name for names in of_slots for name in names))


def _link(snapshot: Snapshot, op: Op, slot: int = 0) -> Part:
    return link(op.name if slot == 0 else f"{op.name}:{slot}", node_command(snapshot, op))


def _neighbour_lines(snapshot: Snapshot, op: Op) -> list[Line]:
    edges = adjacency(snapshot)
    number = op.number
    return [
        *_group(snapshot, "input", edges.inputs(number), edges.control_inputs(number)),
        *_group(snapshot, "recipient", edges.consumers(number), edges.control_consumers(number)),
    ]


def _group(
    snapshot: Snapshot, what: str, data: Sequence[Neighbour], control: Sequence[Neighbour]
) -> list[Line]:
    data, control = _shown(snapshot, data), _shown(snapshot, control)
    lines: list[Line] = [
        (),
        plain(f"  {len(data)} {what}(s) + {len(control)} control {what}(s):"),
        plain(f"    {len(data)} {what}(s):"),
        *(_neighbour(snapshot, one) for one in data),
    ]
    if control:
        lines += [(), plain(f"    {len(control)} control {what}(s):")]
        lines += [_neighbour(snapshot, one) for one in control]
    return lines


def _shown(snapshot: Snapshot, neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    ops = snapshot.catalog.ops
    return [one for one in neighbours if ops[one.op].type not in HIDDEN_TYPES]


def _neighbour(snapshot: Snapshot, one: Neighbour) -> Line:
    op = snapshot.catalog.ops[one.op]
    return (Part(f"      [{op.type or '?'}] "), _link(snapshot, op, one.slot))


COMMAND: Final = Command(
    "node_info",
    ("ni",),
    "show a node: neighbours, attributes, dumps, and the stack that made it",
    _info,
    _arguments,
    completes=Completes.NODE,
    option_completes=(("-g", Completes.FUNCTION), ("--function", Completes.FUNCTION)),
    examples=("ni -a -d -t loss/Log", "ni Log -g train_step"),
)
