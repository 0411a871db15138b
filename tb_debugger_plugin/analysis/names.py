"""Finds the ops, graphs and tensors of a run by their names, as a user types them.

Takes the name of an op, a graph or a tensor. Returns what has it; several graphs may have an op of one name.
What names mean, and what an error suggests, is said by `expressions.names`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from tb_debugger_plugin.analysis.catalog import Graph, Op, Site
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.expressions.names import KnownTensor, TensorName, chosen, node_of, suggestion

#: How many names are compared letter by letter.
_CANDIDATES: Final = 50
_RECORDED_OPS: Final = "(SELECT name FROM ops WHERE op IN (SELECT op FROM sites))"


def ops_named(snapshot: Snapshot, name: str, function: str | None = None) -> list[Op]:
    """Return the ops of a name, at least one.

    Args:
      snapshot: The run.
      name: The name of an op, or of a tensor, such as ``a:0``.
      function: As for :func:`graphs_named`; None for all graphs.

    Raises:
      NotFoundError: There is no such op, or no such graph.
      UsageError: The function is no regular expression.
    """
    known, node = _by_name(snapshot), node_of(name)
    numbers = known.get(name) or known.get(node)
    if not numbers:
        raise NotFoundError(f"There is no node {node!r}; {suggestion(node, _alike(snapshot, 'ops', node))}")
    ops = [snapshot.catalog.ops[number] for number in numbers]
    graphs = _in_function(snapshot, node, {op.graph for op in ops}, function)
    return [op for op in ops if op.graph in graphs]


def graphs_named(snapshot: Snapshot, text: str) -> list[Graph]:
    """Return the graphs of a name or an id, or else those in whose names a regular expression occurs.

    Raises:
      NotFoundError: There is no such graph.
      UsageError: It is no name, and no regular expression.
    """
    graphs = snapshot.catalog.graphs
    exact = [one for one in graphs if text in (one.name, one.graph_id)]
    if exact:
        return exact
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"{text} is no regular expression: {error}.") from None
    found = [one for one in graphs if pattern.search(one.name or "")]
    if not found:
        raise NotFoundError(
            f"There is no function {text!r}; {suggestion(text, _alike(snapshot, 'graphs', text))}"
        )
    return found


def graphs_of_ops_named(snapshot: Snapshot, name: str) -> list[Graph]:
    """Return the graphs that have an op with exactly this name."""
    ops = snapshot.catalog.ops
    return [snapshot.catalog.graphs[ops[number].graph] for number in _by_name(snapshot).get(name, ())]


def sites_named(
    snapshot: Snapshot, name: TensorName, function: str | None = None, graph_id: str | None = None
) -> list[Site]:
    """Return where a tensor was computed: in each graph that has it, on each device; at least one.

    Args:
      snapshot: The run.
      name: Its name; without a slot, all outputs of the node are meant.
      function: As for :func:`graphs_named`; None for all graphs.
      graph_id: The id of the graph; None for all graphs.

    Raises:
      NotFoundError: No such tensor is recorded.
      UsageError: The function is no regular expression.
    """
    sites = snapshot.catalog.op_sites
    ops = _by_name(snapshot).get(name.node, ())
    known = [KnownTensor(site.slot, site.device, site) for op in ops for site in sites.get(op, ())]
    if ops and not known:
        raise NotFoundError(f"{name.node} is a node of the graph, but none of its outputs is recorded.")
    found = chosen(name, known, lambda: _alike(snapshot, _RECORDED_OPS, name.node))
    graphs = _in_function(snapshot, name.text, {site.graph for site in found}, function)
    if graph_id is not None:
        graphs &= _in_function(snapshot, name.text, graphs, graph_id)
    return [site for site in found if site.graph in graphs]


def positions_of(snapshot: Snapshot, sites: list[Site]) -> list[int]:
    """Return when a tensor was computed at some sites: positions in the list of graph executions."""
    rows = snapshot.rows(
        "SELECT idx FROM graph_executions WHERE site IN (SELECT unnest(?)) ORDER BY idx",
        [[site.number for site in sites]],
    )
    return [index for (index,) in rows]


def _in_function(snapshot: Snapshot, what: str, graphs: set[int], function: str | None) -> set[int]:
    """Return those of the graphs that something is in that a function names, at least one."""
    if function is None:
        return graphs
    found = graphs & {one.number for one in graphs_named(snapshot, function)}
    if not found:
        known = snapshot.catalog.graphs
        there = sorted({known[graph].name or known[graph].graph_id for graph in graphs})
        raise NotFoundError(f"{what} is not in the function {function!r}, but in {', '.join(there[:5])}.")
    return found


@remembered(Snapshot.remember_of_graphs)
def _by_name(snapshot: Snapshot) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for op in snapshot.catalog.ops:
        groups[op.name].append(op.number)
    return dict(groups)


def _alike(snapshot: Snapshot, table: str, name: str) -> list[str]:
    """Return the names of a table that are most like one, since comparing millions in Python takes long."""
    rows = snapshot.rows(
        f"SELECT name FROM (SELECT DISTINCT name FROM {table} WHERE name IS NOT NULL)"
        " ORDER BY CASE WHEN ends_with(name, '/' || $name) OR ends_with($name, '/' || name) THEN 0"
        "  WHEN contains(lower(name), lower($name)) THEN 1 ELSE 2 END,"
        " greatest(jaro_winkler_similarity(lower(name), lower($name)),"
        "  jaro_winkler_similarity(lower(split_part(name, '/', -1)),"
        "   lower(split_part($name, '/', -1)))) DESC,"
        " name LIMIT $limit",
        {"name": name, "limit": _CANDIDATES},
    )
    return [known for (known,) in rows]
