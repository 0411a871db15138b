"""Rules about the program: functions that are traced again and again, shapes that change."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.alerts.retracing import retraced
from tb_debugger_plugin.analysis.alerts.rule import IN_GRAPH, AlertRule, Hit, Parameter, Values, explanation
from tb_debugger_plugin.analysis.alerts.severity import Severity
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.diagnosis.sentences import Explanation, Subject
from tb_debugger_plugin.analysis.snapshot import Snapshot

_SIGNATURE: Final = (
    "Each tracing costs time and memory. Pass tensors in place of Python numbers, give the function an"
    " `input_signature`, or use `reduce_retracing=True`."
)
_SHAPE: Final = (
    "Pad the batches, or drop the last one (`drop_remainder=True`), if the shape is meant to be fixed."
)


def _traced_words(numbers: Numbers, hit: Hit | None, values: Values) -> str:
    return "retraced" if hit is None else f"traced {hit.measured:.0f} times"


def _explain_retraced(subject: Subject, hit: Hit | None, values: Values) -> Explanation:
    count = "" if hit is None else f"{hit.measured:.0f} times"
    why = (
        "The recording does not show which argument changed." if hit is None or not hit.detail else hit.detail
    )
    return explanation(subject, "was traced", count, why, _SIGNATURE)


RETRACING: Final = AlertRule(
    id="RetracingAlert",
    title="Retracing",
    severity=Severity.MEDIUM,
    description="A function that one line calls is traced more often than the limit.",
    find=retraced,
    words=_traced_words,
    explain=_explain_retraced,
    parameters=(Parameter("traces", 5, 1, 1000, "graphs", "log", is_whole=True),),
    recommends=(),
    advice=_SIGNATURE,
)


def _changed(snapshot: Snapshot, values: Values) -> list[Hit]:
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
        Hit(index, IN_GRAPH, count, last, size, f"{before:,.0f} → {size:,.0f} elements")
        for index, count, last, size, before in rows
    ]


def _explain_changed(subject: Subject, hit: Hit | None, values: Values) -> Explanation:
    why = "A last batch that is smaller does this, too."
    return explanation(subject, "changed its shape:", "" if hit is None else hit.detail, why, _SHAPE)


SHAPE_CHANGE: Final = AlertRule(
    id="ShapeChangeAlert",
    title="Shape change",
    severity=Severity.LOW,
    description="The tensor has another shape, or size, than its first value.",
    find=_changed,
    words=lambda numbers, hit, values: "another shape" if hit is None else hit.detail,
    explain=_explain_changed,
    columns=("size",),
    has_groups=True,
    advice=_SHAPE,
)

RULES: Final = (RETRACING, SHAPE_CHANGE)
