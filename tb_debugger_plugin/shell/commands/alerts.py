"""`la` and `why`: the values that break a rule, and where they come from."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from tb_debugger_plugin.analysis.alerts import alerts as alert_lists
from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.alerts.explain import Diagnosis, diagnose_alert
from tb_debugger_plugin.analysis.diagnosis.phrases import LinkTarget, Phrase, text
from tb_debugger_plugin.analysis.graph.graphs import find_op
from tb_debugger_plugin.analysis.snapshot import Json, Range, Snapshot
from tb_debugger_plugin.analysis.source.user_lines import user_line
from tb_debugger_plugin.analysis.verdict import verdict
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.tensorflow_names import display_name
from tb_debugger_plugin.shell.command import Answer, Command
from tb_debugger_plugin.shell.lazy_lines import LazyLines, Pages
from tb_debugger_plugin.shell.links import command_line, graph_option, node_command, source_command
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain

if TYPE_CHECKING:
    from tb_debugger_plugin.reading.run import Run
    from tb_debugger_plugin.shell.shell import Shell

_WIDTHS: Final = (8, 12, 16, 28)
_HEADS: Final = ("#", "t (ms)", "rule", "measured", "tensor")


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    rules = ", ".join(rule.id for rule in LISTED)
    parser.add_argument("-t", "--rule", metavar="RULE", help=f"only alerts of this rule: {rules}")


def _list(shell: Shell, args: argparse.Namespace) -> Answer:
    known = {rule.id: number for number, rule in enumerate(LISTED)}
    if args.rule is not None and args.rule not in known:
        raise UsageError(f"There is no rule {args.rule!r}: choose one of {', '.join(known)}.")
    run = shell.run
    with run.snapshot() as snapshot:
        every, said = alert_lists.alert_list(snapshot), verdict(snapshot)
        cause = every.first_cause(snapshot)
    positions = np.arange(len(every)) if args.rule is None else np.flatnonzero(every.rule == known[args.rule])
    of = f" of {args.rule}" if args.rule else ""
    head = [plain(said.headline, Style.HEADING)]
    if cause is not None:
        head.append((Part("first cause: "), link(f"alert {cause}", f"why {cause}")))
    head += [plain(f"{len(positions):,} value(s){of or ' that are bad or explode'}:"), (), _head()]

    def read(begin: int, end: int) -> list[tuple[int, Json]]:
        return _page(run, positions[begin:end].tolist())

    begin = run.start_time
    return Screen(LazyLines(head, Pages(len(positions), read), lambda row: _line(*row, begin)))


def _page(run: Run, positions: Sequence[int]) -> list[tuple[int, Json]]:
    """Return the positions with the alerts there."""
    with run.snapshot() as snapshot:
        every = alert_lists.alert_list(snapshot)
        chosen = every.at(np.array(positions, np.int64))
        facts = alert_lists.page(snapshot, chosen, Range(0, len(positions)))
    return list(zip(positions, facts, strict=True))


def _head() -> Line:
    return tuple(
        Part(text.ljust(width), Style.HEADING) for text, width in zip(_HEADS, (*_WIDTHS, 0), strict=True)
    )


def _line(position: int, facts: Json, begin: float) -> Line:
    time = f"[{(facts['wall_time'] - begin) * 1e3:.3f}]"
    cells = (f"{position}", time, facts["alert_type"], facts["measured"])
    texts = [text.ljust(width - 1) + " " for text, width in zip(cells, _WIDTHS, strict=True)]
    index = facts["graph_execution_trace_index"]
    if index is None:
        index = f"e{facts['execution_index']}:{facts['output_slot']}"
    name = facts["op_name"] or display_name(facts["op_type"] or "?")
    value = link(f"{name}:{facts['output_slot']}", f"pt #{index}", Style.BAD)
    return (link(texts[0], f"why {position}"), *map(Part, texts[1:]), value)


def _why_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "alert", nargs="?", type=int, metavar="N", help="an alert of `la`; the first cause if not"
    )


def _why(shell: Shell, args: argparse.Namespace) -> Answer:
    with shell.run.snapshot() as snapshot:
        found = diagnose_alert(snapshot, args.alert)
        if args.alert is not None:
            return Screen(_explanation(snapshot, found))
        said = verdict(snapshot)
        lines: list[Line] = [plain(line) for line in str(said).split("\n")]
        if found is None or said.kind not in ("bad", "rules"):
            return Screen(lines)
        before = [*lines, (), plain("First cause:")] if said.kind == "rules" else []
        return Screen([*before, *_explanation(snapshot, found)])


def _explanation(snapshot: Snapshot, found: Diagnosis | None) -> list[Line]:
    if found is None:
        return []
    missing = (text(found.missing),) if found.missing else ()
    lines: list[Line] = [plain(found.headline, Style.HEADING), ()]
    lines += [plain(found.outcome)] if found.outcome else []
    lines += [
        tuple(_part(snapshot, phrase) for phrase in phrases)
        for phrases in (found.what, found.why, missing, found.where)
        if phrases
    ]
    lines += [plain(line) for line in (found.help, found.example and found.example.words) if line]
    return [*lines, (), *_links(snapshot, found)]


def _part(snapshot: Snapshot, phrase: Phrase) -> Part:
    style = Style.BAD if phrase.role == "number" else Style.PLAIN
    command = None if phrase.target is None else _target_command(snapshot, phrase.target)
    return Part(phrase.text, style, command)


def _target_command(snapshot: Snapshot, target: LinkTarget) -> str:
    if target.execution_index is not None:
        return f"goto {target.execution_index} -t"
    return node_command(snapshot, find_op(snapshot, str(target.graph_id), str(target.op_name)))


def _links(snapshot: Snapshot, found: Diagnosis) -> list[Line]:
    """Return links to the value, its op, the line, and what is around."""
    facts = found.alert
    if facts is None:
        return []
    index = facts.get("graph_execution_trace_index")
    if index is None:
        execution, slot = facts["execution_index"], facts["output_slot"]
        return [_row("value", f"pt #e{execution}:{slot}"), _row("execution", f"goto {execution} -t")]
    op = find_op(snapshot, facts["graph_id"], facts["op_name"])
    rows = [_row("value", f"pt #{index}"), _row("node", node_command(snapshot, op))]
    rows.append(_row("inputs", command_line("li", "-t", op.name, *graph_option(snapshot, op))))
    line = user_line(snapshot, op.stack)
    rows += [_row("line", source_command(line.path, line.line))] if line is not None else []
    return rows


def _row(what: str, command: str) -> Line:
    return (Part(f"  {what}: ".ljust(14)), link(command, command))


COMMANDS: Final = (
    Command(
        "list_alerts",
        ("la",),
        "list the values that break a rule",
        _list,
        _list_arguments,
        examples=("la", "la -t InfNanAlert"),
    ),
    Command(
        "why",
        (),
        "explain a bad value: its op, inputs, cause and line",
        _why,
        _why_arguments,
        examples=("why",),
    ),
)
