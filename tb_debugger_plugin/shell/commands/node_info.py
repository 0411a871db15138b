"""`ni`: shows a node with its neighbours, attributes, dumps, and the stack that made it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.adjacency import Neighbour, adjacency
from tb_debugger_plugin.analysis.graph.forward_op import forward_op
from tb_debugger_plugin.analysis.graph.graph_calls import graph_calls
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.commands.node_attributes import attribute_lines
from tb_debugger_plugin.shell.commands.node_dumps import dump_lines
from tb_debugger_plugin.shell.commands.node_traceback import traceback_lines
from tb_debugger_plugin.shell.commands.nodes import HIDDEN_TYPES, add_node, find_node
from tb_debugger_plugin.shell.links import command_line, node_command
from tb_debugger_plugin.shell.names import literal
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain
from tb_debugger_plugin.shell.value_screen import op_changes

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell


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
