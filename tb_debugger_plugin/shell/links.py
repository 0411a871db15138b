"""Command lines that links run, with names of a recording quoted so that they stay one word each."""

from __future__ import annotations

import argparse
import shlex

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.names import graphs_of_ops_named
from tb_debugger_plugin.analysis.snapshot import Snapshot


def command_line(*words: str | int) -> str:
    """Return a command line of some words."""
    return " ".join(shlex.quote(str(word)) for word in words)


def typed(args: argparse.Namespace, *names: str) -> list[str]:
    """Return the options of some names that were given, as they are typed."""
    given = ((name, getattr(args, name)) for name in names)
    return [word for name, value in given if value for word in (f"--{name}", str(value))]


def source_command(path: str, line: int) -> str:
    """Return the command that shows a line of a source file."""
    return command_line("ps", path, "-b", line)


def graph_option(snapshot: Snapshot, op: Op) -> tuple[str, ...]:
    """Return ``-g`` and the graph of an op, if other graphs have an op of its name; else nothing."""
    graphs = graphs_of_ops_named(snapshot, op.name)
    if len(graphs) == 1:
        return ()
    own = snapshot.catalog.graphs[op.graph]
    is_unique = own.name is not None and sum(graph.name == own.name for graph in graphs) == 1
    return ("-g", own.name if is_unique and own.name else own.graph_id)


def node_command(snapshot: Snapshot, op: Op) -> str:
    """Return the command that shows everything about an op."""
    return command_line("ni", "-a", "-d", "-t", op.name, *graph_option(snapshot, op))


def tensor_command(snapshot: Snapshot, op: Op, slot: int) -> str:
    """Return the command that prints a tensor."""
    return command_line("pt", f"{op.name}:{slot}", *graph_option(snapshot, op))
