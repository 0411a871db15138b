"""Finds the record of the op at which a program is paused: its newest graph execution.

Takes the graph, name and output of an op, as the program names them. Returns one JSON-like value with all
that the page shows of the op, so that a pause needs one question.
"""

from __future__ import annotations

from typing import Any

from tb_debugger_plugin.analysis.calls.call_owner import owner_of
from tb_debugger_plugin.analysis.graph.graphs import find_op, op_info
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.values.nearest_value import Side, nearest_traces
from tb_debugger_plugin.errors import NotFoundError


def paused_op(snapshot: Snapshot, graph_id: str, op_name: str, slot: int) -> dict[str, Any] | None:
    """Return the newest graph execution of an op's output, its owner, and the op at that moment.

    Args:
      snapshot: The run.
      graph_id: The id of the op's graph.
      op_name: The name of the op.
      slot: The output.

    Returns:
      ``graph_execution`` and ``owner``, positions or None, and ``info`` as the route ``graphs/op_info``
      answers; None when the graph or the op is not on record.
    """
    try:
        op = find_op(snapshot, graph_id, op_name)
    except NotFoundError:
        return None
    key = (op.number, slot, Side.NEAREST)
    index = nearest_traces(snapshot, [key], None).get(key)
    return {
        "graph_execution": index,
        "owner": None if index is None else owner_of(snapshot, index),
        "info": op_info(snapshot, graph_id, op_name, index),
    }
