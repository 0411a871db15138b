"""Finds ops by their names alone, as a user types them.

Takes the name of an op or of a tensor, and perhaps a graph. Returns the ops that have this name; several
graphs may have one. An error names the nearest names.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from tb_debugger_plugin.analysis.catalog import Graph, Op
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import NotFoundError

_NEAREST: Final = 3
#: How many names are compared letter by letter.
_CANDIDATES: Final = 50


def ops_named(snapshot: Snapshot, name: str, graph: str | None = None) -> list[Op]:
    """Return the ops of a name, at least one.

    Args:
      snapshot: The run.
      name: The name of an op, or of a tensor, such as ``a:0``.
      graph: The name or the id of a graph; None for all graphs.

    Raises:
      NotFoundError: There is no such op, or no such graph.
    """
    known = _by_name(snapshot)
    numbers = known.get(name) or known.get(op_of(name))
    if not numbers:
        raise NotFoundError(f"There is no node {op_of(name)!r}; {_nearest(snapshot, 'ops', op_of(name))}")
    ops = [snapshot.catalog.ops[number] for number in numbers]
    if graph is None:
        return ops
    graphs = {one.number for one in graphs_named(snapshot, graph)}
    chosen = [op for op in ops if op.graph in graphs]
    if not chosen:
        there = ", ".join(dict.fromkeys(graph_name(snapshot.catalog.graphs[op.graph]) for op in ops))
        raise NotFoundError(f"{graph!r} has no node {op_of(name)!r}; it is in {there}.")
    return chosen


def graphs_named(snapshot: Snapshot, text: str) -> list[Graph]:
    """Return the graphs with a name or an id, at least one.

    Raises:
      NotFoundError: There is no such graph.
    """
    found = [one for one in snapshot.catalog.graphs if text in (one.name, one.graph_id)]
    if not found:
        raise NotFoundError(f"There is no function {text!r}; {_nearest(snapshot, 'graphs', text)}")
    return found


def graphs_of_ops_named(snapshot: Snapshot, name: str) -> list[Graph]:
    """Return the graphs that have an op with exactly this name."""
    ops = snapshot.catalog.ops
    return [snapshot.catalog.graphs[ops[number].graph] for number in _by_name(snapshot).get(name, ())]


def op_of(name: str) -> str:
    """Return the name of the op of a tensor; a name without a slot stays as it is."""
    op, colon, slot = name.rpartition(":")
    return op if colon and slot.isdigit() else name


def graph_name(graph: Graph) -> str:
    """Return what a user can call a graph: its name, or else its id."""
    return graph.name or graph.graph_id


def _by_name(snapshot: Snapshot) -> dict[str, list[int]]:
    return snapshot.remember_of_graphs("ops_by_name", lambda: _group(snapshot.catalog.ops))


def _group(ops: list[Op]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for op in ops:
        groups[op.name].append(op.number)
    return dict(groups)


def _nearest(snapshot: Snapshot, table: str, name: str) -> str:
    """Return the end of a sentence that names what is near: the same in another scope, or spelled alike."""
    rows = snapshot.rows(
        "SELECT name FROM (SELECT DISTINCT name,"
        "  CASE WHEN ends_with(name, '/' || $name) OR ends_with($name, '/' || name) THEN 0"
        "  WHEN contains(name, $name) THEN 1 ELSE 2 END AS kind,"
        f"  jaro_winkler_similarity(name, $name) AS likeness FROM {table} WHERE name IS NOT NULL"
        "  ORDER BY kind, likeness DESC, name LIMIT $candidates)"
        " WHERE kind < 2 OR damerau_levenshtein(name, $name) <= $most"
        " ORDER BY kind, damerau_levenshtein(name, $name), name LIMIT $limit",
        {"name": name, "candidates": _CANDIDATES, "most": max(2, 2 * len(name) // 5), "limit": _NEAREST},
    )
    if not rows:
        return "`lt` lists the tensors, `lf` the functions."
    return f"did you mean {' or '.join(repr(near) for (near,) in rows)}?"
