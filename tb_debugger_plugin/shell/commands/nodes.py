"""Finds the op that a command is about, or shows the graphs that have one of its name."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.tensor_counts import tensor_counts
from tb_debugger_plugin.analysis.names import ops_named
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.shell.links import command_line, graph_option
from tb_debugger_plugin.shell.screen import Part, Screen, Style, link, plain, table

#: Types of ops that move tensors from device to device, or out of functions; lists leave them out.
HIDDEN_TYPES: Final = frozenset(("_Send", "_Recv", "_HostSend", "_HostRecv", "_Retval"))


def add_node(parser: argparse.ArgumentParser) -> None:
    """Add the name of a node, and the graph that it is in."""
    parser.add_argument("node_name", metavar="NAME", help="a node, or one of its tensors")
    parser.add_argument("-g", "--function", metavar="GRAPH", help="the function or the id of the graph")


def find_node(snapshot: Snapshot, args: argparse.Namespace, words: Sequence[str]) -> Op | Screen:
    """Return the op, or a screen with the graphs to choose from.

    Args:
      snapshot: The run.
      args: What :func:`add_node` parsed.
      words: The command and its options, for the links.

    Raises:
      NotFoundError: There is no such op.
    """
    ops = ops_named(snapshot, args.node_name, args.function)
    return ops[0] if len(ops) == 1 else _several(snapshot, ops, words)


def _several(snapshot: Snapshot, ops: Sequence[Op], words: Sequence[str]) -> Screen:
    head = [Part(text, Style.HEADING) for text in ("Function", "Op type", "#(tensor dumps)", "Graph id")]
    counts = tensor_counts(snapshot).tensors
    rows = [head]
    for op in ops:
        graph = snapshot.catalog.graphs[op.graph]
        command = command_line(*words, op.name, *graph_option(snapshot, op))
        rows.append(
            [
                link(graph.name or "(outermost graph)", command),
                Part(op.type or "?"),
                Part(f"{counts[op.number]:,}"),
                Part(graph.graph_id, Style.MUTED),
            ]
        )
    return Screen(
        [
            plain(f"Node {ops[0].name} is in {len(ops)} graphs; choose one with -g:", Style.HEADING),
            (),
            *table(rows),
        ]
    )
