"""Finds functions that are traced again and again, with the argument that changed.

A function is known by its name and by the stack that calls it. Its tracings are the graphs that its calls
ran, in the order of their first calls.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from tb_debugger_plugin.analysis.alerts.rule import Hit, Values
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS, display_name

#: Tracings that are compared, and signatures that a sentence lists.
_COMPARED: Final = 16
_LISTED: Final = 4


def retraced(snapshot: Snapshot, values: Values) -> list[Hit]:
    """Return the call with which each function was traced too often."""
    rows = snapshot.rows(
        "SELECT name, stack, host, graph, min(idx), max(idx), count(*) FROM executions"
        " JOIN op_types USING (op_type) WHERE graph >= 0 GROUP BY ALL ORDER BY min(idx)"
    )
    calls: dict[tuple[str, int, int], list[tuple[int, int, int, int]]] = defaultdict(list)
    for name, stack, host, graph, first, last, count in rows:
        calls[display_name(name), stack, host].append((graph, first, last, count))
    limit = int(values["traces"])
    return [
        Hit(
            traced[limit][1],
            0,
            len(traced),
            max(last for _, _, last, _ in traced),
            float(len(traced)),
            _changes(snapshot, [graph for graph, *_ in traced]),
        )
        for traced in calls.values()
        if len(traced) > limit
    ]


def _changes(snapshot: Snapshot, graphs: list[int]) -> str:
    """Return a sentence on the arguments that differ; empty when no difference is on record."""
    signatures = [_arguments(snapshot, graph) for graph in graphs[:_COMPARED]]
    names = dict.fromkeys(name for signature in signatures for name in signature)
    changed = {
        name: list(dict.fromkeys(signature.get(name, "absent") for signature in signatures)) for name in names
    }
    sentences = [
        f"Its argument {name} changed: {', '.join(kinds[:_LISTED])}{' …' if len(kinds) > _LISTED else ''}."
        for name, kinds in changed.items()
        if len(kinds) > 1
    ]
    if sentences:
        return " ".join(sentences[:_LISTED])
    return (
        "Its tensors have the same dtypes and shapes each time: a Python value among its arguments changed."
    )


def _arguments(snapshot: Snapshot, graph: int) -> dict[str, str]:
    """Return the dtype and shape of each tensor that a graph takes, without captured variables."""
    rows = snapshot.rows(
        "SELECT name, dtype, shape FROM ops JOIN op_outputs USING (op) WHERE graph = ? AND variable IS NULL"
        " AND type IN (SELECT unnest(?)) ORDER BY op",
        [graph, sorted(ARGUMENTS)],
    )
    return {
        name: f"{dtype_name(dtype) or '?'}{snapshot.catalog.shapes[shape] if shape >= 0 else ''}"
        for name, dtype, shape in rows
        if not name.isdigit()  # a captured tensor
    }
