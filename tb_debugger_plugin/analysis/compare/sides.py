"""Describes an output of a node of a run, at one of its occurrences or at none."""

from __future__ import annotations

from typing import Any

from tb_debugger_plugin.analysis.compare.comparison import Side, side_of
from tb_debugger_plugin.analysis.compare.elements import recorded
from tb_debugger_plugin.analysis.compare.outline import Node, Outline
from tb_debugger_plugin.analysis.snapshot import Snapshot


def side_at(run: Snapshot, made: Outline, node: Node, slot: int, index: int | None) -> Side:
    """Describe an output.

    Args:
      run: The run.
      made: Its outline.
      node: The op, or the eager executions of a line.
      slot: The output.
      index: The position of an occurrence, with whose summary it is described; None for none.
    """
    graph = made.groups[node.group].graph
    described = run.catalog.graphs[graph] if graph >= 0 else None
    known: dict[str, Any] = {}
    if index is not None:
        known["execution_index" if node.is_eager else "graph_execution_index"] = index
        known["summary"] = recorded(run, index, slot, eager=node.is_eager).to_json()["health"]
    graph_id, name = (None, None) if described is None else (described.graph_id, described.name)
    return side_of(node, slot, graph_id, name, **known)
