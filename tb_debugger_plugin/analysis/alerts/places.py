"""Finds the ops of values: name, type, and the stack whose innermost line is the user's.

The stack of a gradient's op is that of the op whose gradient it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tb_debugger_plugin.analysis.graph.forward_op import forward_op
from tb_debugger_plugin.analysis.snapshot import Snapshot


class AlertPlace(NamedTuple):
    """The op of a value.

    Attributes:
      op_name: Its name; None for an eager op.
      op_type: Its type, or the name of the function that Python called.
      stack: Number of the stack; -1 = not known.
      graph_id: The graph of the op; None for an eager op.
    """

    op_name: str | None
    op_type: str
    stack: int
    graph_id: str | None = None


def sites_at(snapshot: Snapshot, positions: Sequence[int]) -> dict[int, int]:
    """Return the sites of some graph executions."""
    query = "SELECT idx, site FROM graph_executions WHERE idx IN (SELECT unnest(?::BIGINT[]))"
    return dict(snapshot.rows(query, [positions])) if positions else {}


def places_of(snapshot: Snapshot, keys: Iterable[tuple[int, int]]) -> dict[tuple[int, int], AlertPlace]:
    """Return the ops of some values.

    Args:
      snapshot: The run.
      keys: Position and slot of each; the slot of a graph execution is -1.
    """
    keys = list(keys)
    sites = sites_at(snapshot, [index for index, slot in keys if slot < 0])
    calls = {
        index: AlertPlace(None, name, stack)
        for index, name, stack in snapshot.rows(
            "SELECT idx, name, stack FROM executions JOIN op_types USING (op_type)"
            " WHERE idx IN (SELECT unnest(?::BIGINT[]))",
            [[index for index, slot in keys if slot >= 0]],
        )
    }
    return {
        (index, slot): calls[index] if slot >= 0 else _of_site(snapshot, sites[index]) for index, slot in keys
    }


def _of_site(snapshot: Snapshot, site: int) -> AlertPlace:
    op = snapshot.catalog.ops[snapshot.catalog.sites[site].op]
    graph_id = snapshot.catalog.graphs[op.graph].graph_id
    return AlertPlace(op.name, op.type or "?", (forward_op(snapshot, op) or op).stack, graph_id)
