"""`lf`, `ll` and `lv`: the functions, layers and variables of a program, with counts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.analysis.catalog import Catalog, Graph
from tb_debugger_plugin.analysis.graph.tensor_counts import GroupCounts, counts_by
from tb_debugger_plugin.analysis.names import graphs_named
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.expressions.names import literal
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.links import command_line
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain, table

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

_NONE: Final = GroupCounts(0, 0, 0)
_OUTERMOST: Final = "(outermost graph)"


def _function_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "function", nargs="?", metavar="NAME", help="only this function, or this id of a graph"
    )


def _functions(shell: Shell, args: argparse.Namespace) -> Answer:
    with shell.run.snapshot() as snapshot:
        graphs = snapshot.catalog.graphs
        chosen = graphs if args.function is None else graphs_named(snapshot, args.function)
        counts = counts_by(snapshot, "graph", lambda op: (op.graph,))
        executions: dict[int, int] = dict(
            snapshot.rows("SELECT graph, count(*) FROM executions WHERE graph >= 0 GROUP BY graph")
        )
        rows = [
            _heads("Function", "#(nodes)", "#(tensor dumps)", "#(bad)", "#(calls)", "made in", "Graph id")
        ]
        rows += [_function(snapshot, one, counts, executions.get(one.number, 0)) for one in chosen]
    return Screen([plain(f"{len(rows) - 1:,} function(s):", Style.HEADING), (), *table(rows)])


def _heads(*texts: str) -> list[Part]:
    return [Part(text, Style.HEADING) for text in texts]


def _function(
    snapshot: Snapshot, graph: Graph, counts: Mapping[str | int, GroupCounts], calls: int
) -> list[Part]:
    own = counts.get(graph.number, _NONE)
    outer = snapshot.catalog.graphs[graph.outer].name or _OUTERMOST if graph.outer >= 0 else ""
    if graph.name is None:
        return [
            *(Part(_OUTERMOST), Part(f"{own.ops:,}"), Part(f"{own.tensors:,}"), _bad(own, None)),
            *(Part(f"{calls:,}"), Part(outer), Part(graph.graph_id, Style.MUTED)),
        ]
    words = ["lt", "-g", f"^{literal(graph.name)}$"]
    return [
        *(link(graph.name, command_line(*words)), Part(f"{own.ops:,}"), Part(f"{own.tensors:,}")),
        _bad(own, command_line(*words, "-f", "has_inf_or_nan")),
        link(f"{calls:,}", command_line("le", "-n", f"{literal(graph.name)}_\\d+$")) if calls else Part("0"),
        *(Part(outer), Part(graph.graph_id, Style.MUTED)),
    ]


def _bad(counts: GroupCounts, command: str | None) -> Part:
    return Part(f"{counts.bad:,}", Style.BAD, command) if counts.bad else Part("0")


def _layers(shell: Shell, args: argparse.Namespace) -> Answer:
    del args
    with shell.run.snapshot() as snapshot:
        counts = counts_by(snapshot, "layer", lambda op: () if op.layer is None else (op.layer,))
    return _groups("layer", "--layer", counts)


def _variables(shell: Shell, args: argparse.Namespace) -> Answer:
    del args
    with shell.run.snapshot() as snapshot:
        variables = _variables_of_ops(snapshot.catalog)
        counts = counts_by(snapshot, "variable", lambda op: variables.get(op.number, ()))
    return _groups("variable", "--variable", counts)


def _variables_of_ops(catalog: Catalog) -> dict[int, set[str]]:
    """Return by op the variable that it reads or assigns, and those whose gradient it computes."""
    found = {op.number: {op.variable} for op in catalog.ops if op.variable is not None}
    # A recording may give an op any number of outputs, so these are not gone through.
    for (op, _), names in catalog.gradients.items():
        found.setdefault(op, set()).update(names)
    return found


def _groups(what: str, option: str, counts: Mapping[str | int, GroupCounts]) -> Screen:
    if not counts:
        return Screen([plain(f"No {what} is on record.")])
    rows = [_heads(what.capitalize(), "#(nodes)", "#(tensor dumps)", "#(bad)")]
    for name, own in sorted(counts.items(), key=lambda pair: str(pair[0])):
        words = ["lt", option, f"^{literal(str(name))}$"]
        bad = _bad(own, command_line(*words, "-f", "has_inf_or_nan"))
        names = link(str(name), command_line(*words))
        rows.append([names, Part(f"{own.ops:,}"), Part(f"{own.tensors:,}"), bad])
    lines: list[Line] = [plain(f"{len(counts):,} {what}(s):", Style.HEADING), ()]
    return Screen([*lines, *table(rows)])


COMMANDS: Final = (
    Command(
        "list_functions",
        ("lf",),
        "list the functions and graphs, with counts",
        _functions,
        _function_arguments,
        completes=Completes.FUNCTION,
        examples=("lf",),
    ),
    Command("list_layers", ("ll",), "list the layers, with counts", _layers),
    Command("list_variables", ("lv",), "list the variables, with counts", _variables),
)
