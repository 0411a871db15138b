"""Rules about the program: functions that are traced again and again, shapes that change."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from tb_debugger_plugin.analysis.alerts.rule import (
    IN_GRAPH,
    AlertRule,
    Parameter,
    RuleHit,
    Severity,
    Values,
    explanation,
)
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS, display_name

# Finds functions that are traced again and again, with the argument that changed.
#
# A function is known by its name and by the stack that calls it. Its tracings are the graphs that its calls
# ran, in the order of their first calls.

#: Tracings that are compared, and signatures that a sentence lists.
_COMPARED: Final = 16
_LISTED: Final = 4


def retraced(snapshot: Snapshot, values: Values) -> list[RuleHit]:
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
        RuleHit(
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


RETRACING: Final = AlertRule(
    id="RetracingAlert",
    title="Retracing",
    severity=Severity.MEDIUM,
    description="A function that one line calls is traced more often than the limit.",
    find=retraced,
    words=lambda numbers, hit, values: "retraced" if hit is None else f"traced {hit.measured:.0f} times",
    explain=lambda subject, hit, values: explanation(
        *(subject, "was traced", "" if hit is None else f"{hit.measured:.0f} times"),
        (hit and hit.detail) or "The recording does not show which argument changed.",
    ),
    parameters=(Parameter("traces", 5, 1, 1000, "graphs", "log", is_whole=True),),
    recommends=(),
    advice="Each tracing costs time and memory. Pass tensors in place of Python numbers, give the function an"
    " `input_signature`, or use `reduce_retracing=True`.",
    has_groups=False,
)


def _changed(snapshot: Snapshot, values: Values) -> list[RuleHit]:
    # Most modes measure size and rank, and not the shape.
    rows = snapshot.rows(
        "WITH changing AS (SELECT site FROM graph_executions GROUP BY site HAVING min(size) < max(size) OR"
        " min(rank) < max(rank) OR min(shape) < max(shape)), known AS (SELECT site, idx, size, rank, shape"
        " FROM graph_executions WHERE size IS NOT NULL AND site IN (SELECT site FROM changing)),"
        " firsts AS (SELECT site, arg_min({s: size, r: rank, d: shape}, idx) AS first"
        " FROM known GROUP BY site)"
        " SELECT min(idx), count(*), max(idx), arg_min(size, idx), any_value(first.s) FROM known"
        " JOIN firsts USING (site) WHERE (size, rank, shape) <> (first.s, first.r, first.d) GROUP BY site"
    )
    return [
        RuleHit(index, IN_GRAPH, count, last, size, f"{before:,.0f} → {size:,.0f} elements")
        for index, count, last, size, before in rows
    ]


SHAPE_CHANGE: Final = AlertRule(
    id="ShapeChangeAlert",
    title="Shape change",
    severity=Severity.LOW,
    description="The tensor has another shape, or size, than its first value.",
    find=_changed,
    words=lambda numbers, hit, values: "another shape" if hit is None else hit.detail,
    explain=lambda subject, hit, values: explanation(
        *(subject, "changed its shape:", "" if hit is None else hit.detail),
        "A last batch that is smaller does this, too.",
    ),
    columns=("size",),
    advice="Pad the batches, or drop the last one (`drop_remainder=True`), if the shape is meant to be"
    " fixed.",
)

RULES: Final = (RETRACING, SHAPE_CHANGE)
