"""`goto`: shows an execution with its inputs and outputs, and the graph executions in it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.analysis.lists import executions
from tb_debugger_plugin.analysis.snapshot import Json, Range, Snapshot, check_index
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.tensorflow_names import display_name
from tb_debugger_plugin.reading.rows import GraphExecution
from tb_debugger_plugin.shell.command import Answer, Command
from tb_debugger_plugin.shell.commands.node_info import bad_words, stack_lines
from tb_debugger_plugin.shell.lazy_lines import LazyLines
from tb_debugger_plugin.shell.links import command_line
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

_NUMBER_WIDTH, _TYPE_WIDTH = 12, 24


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("execution", metavar="EXECUTION", help="its number in the list of `le`; e3 is 3")
    parser.add_argument("-t", "--traceback", action="store_true", help="also the stack that ran it")


def _goto(shell: Shell, args: argparse.Namespace) -> Answer:
    index = _number(args.execution)
    with shell.run.snapshot() as snapshot:
        check_index(index, snapshot.num_executions, "execution")
        (facts,) = executions.data(snapshot, Range(index, index + 1))
        ((stack,),) = snapshot.rows("SELECT stack FROM executions WHERE idx = ?", [index])
        lines = _heading(snapshot, facts, shell.run.start_time)
        lines += [*_inputs(facts), *_outputs(facts)]
        lines += [(), *stack_lines(snapshot, stack)] if args.traceback else []
        last = snapshot.num_executions - 1
    lines += [(), _steps(index, last)]
    inside = shell.run.graph_executions(from_execution=index, until_execution=index + 1)
    if not inside:
        return Screen(lines)
    lines += [(), plain(f"{len(inside):,} graph execution(s) in it:", Style.HEADING)]
    return Screen(LazyLines(lines, inside, _inside_line))


def _number(text: str) -> int:
    digits = text.lstrip("#e")
    if not digits.isdigit() or len(digits) > 18:
        raise UsageError(f"{text!r} is no number of an execution; `le` lists them.")
    return int(digits)


def _heading(snapshot: Snapshot, facts: Json, begin: float) -> list[Line]:
    lines: list[Line] = [
        (Part(f"Execution {facts['index']}: "), Part(display_name(facts["op_type"]), Style.HEADING)),
        plain(f"  t (ms): {(facts['wall_time'] - begin) * 1e3:.3f}"),
        plain(f"  Host: {facts['host_name']}"),
    ]
    if facts["thread_name"]:
        lines.append(plain(f"  Thread: {facts['thread_name']}"))
    if facts["graph_id"]:
        graph = snapshot.catalog.graphs[snapshot.catalog.graph_numbers[facts["graph_id"]]]
        lines.append(
            (Part("  Function: "), link(graph.name or graph.graph_id, command_line("lf", graph.graph_id)))
        )
    return lines


def _inputs(facts: Json) -> list[Line]:
    lines: list[Line] = [(), plain(f"  {len(facts['inputs'])} input(s):")]
    for slot, one in enumerate(facts["inputs"]):
        if one["execution_index"] is None:
            lines.append(plain(f"    {slot}: made by nothing that is on record"))
            continue
        name = f"{display_name(one['op_type'])}:{one['output_slot']}"
        value = link(name, f"pt #e{one['execution_index']}:{one['output_slot']}", _style(one["health"]))
        maker = link(f"execution {one['execution_index']}", f"goto {one['execution_index']}")
        lines.append((Part(f"    {slot}: "), value, Part(" of "), maker, Part(_words(one["health"]))))
    return lines


def _outputs(facts: Json) -> list[Line]:
    lines: list[Line] = [(), plain(f"  {len(facts['outputs'])} output(s):")]
    for slot, health in enumerate(facts["outputs"]):
        name = f"{display_name(facts['op_type'])}:{slot}"
        value = link(name, f"pt #e{facts['index']}:{slot}", _style(health))
        lines.append((Part(f"    {slot}: "), value, Part(_words(health))))
    return lines


def _style(health: Json | None) -> Style:
    return Style.BAD if health is not None and health["bad"] else Style.PLAIN


def _words(health: Json | None) -> str:
    """Return dtype, shape and bad elements of a tensor."""
    if health is None:
        return ""
    shape = health["shape"]
    dims = "" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
    bad = bad_words(health["nan"], health["neg_inf"], health["pos_inf"])
    return "".join(f"  {text}" for text in (f"{health['dtype'] or ''} {dims}".strip(), bad) if text)


def _steps(index: int, last: int) -> Line:
    parts: list[Part] = []
    if index > 0:
        parts += [link(f"execution {index - 1}", f"goto {index - 1}"), Part("  ")]
    if index < last:
        parts.append(link(f"execution {index + 1}", f"goto {index + 1}"))
    return (Part("  around it: "), *parts) if parts else ()


def _inside_line(row: GraphExecution) -> Line:
    style = Style.BAD if row.health == "bad" else Style.PLAIN
    return (
        link(f"#{row.index} ".ljust(_NUMBER_WIDTH), f"pt #{row.index}"),
        Part(f"{row.op_type or '?'} ".ljust(_TYPE_WIDTH)),
        link(row.name, f"pt #{row.index}", style),
        Part(f"  {bad_words(row.nan, row.neg_inf, row.pos_inf)}".rstrip(), style),
    )


COMMAND: Final = Command(
    "goto",
    (),
    "show an execution, and the tensors computed in it",
    _goto,
    _arguments,
    examples=("goto 12", "goto 12 -t"),
)
