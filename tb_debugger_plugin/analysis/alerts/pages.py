"""Findings as the routes, `tbdbg` and Python give them: JSON-like values, in the order of urgency.

Takes findings and returns the alert of each, in the words of the route ``alerts``, with what only findings
have: severity, rule and thresholds, how many values there are, and where the last one is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tb_debugger_plugin.analysis.alerts.alerts import values_of
from tb_debugger_plugin.analysis.alerts.findings import Finding, Verdict
from tb_debugger_plugin.analysis.alerts.rule import AlertRule, Parameter
from tb_debugger_plugin.analysis.diagnosis.explain import Diagnosis, diagnose_value
from tb_debugger_plugin.analysis.graph.forward_op import forward_op
from tb_debugger_plugin.analysis.graph.graphs import find_op
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source_lines import user_lines


def by_urgency(verdicts: Sequence[Verdict]) -> list[Finding]:
    """Returns all findings: the most severe ones first, and equal ones in the order of time."""
    findings = [finding for one in verdicts for finding in one.findings]
    # Positions of the two lists have no common order; those of one rule and list do.
    return sorted(
        findings, key=lambda one: (-one.severity, one.hit.slot >= 0, one.hit.position, one.hit.slot)
    )


def findings_json(snapshot: Snapshot, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Returns the alerts of some findings.

    Args:
      snapshot: The run.
      findings: At most a page of them.
    """
    found = values_of(snapshot, [one.hit[:2] for one in findings])
    lines = lines_of(snapshot, [facts for _, facts in found.values()])
    return [
        {
            "alert_type": one.rule.id,
            "severity": one.severity.word,
            "measured": one.rule.words(numbers, one.hit, one.values),
            "count": one.hit.times,
            "last": one.hit.last,
            **values,
            "source": lines[_place(values)],
        }
        for one in findings
        for numbers, values in [found[one.hit[:2]]]
    ]


#: Where a value is computed: the graph and name of its op, or an execution.
_Place = tuple[Any, ...]


def _place(facts: dict[str, Any]) -> _Place:
    return facts["graph_id"], facts["op_name"], None if facts["op_name"] else facts["execution_index"]


def lines_of(snapshot: Snapshot, values: Iterable[dict[str, Any]]) -> dict[_Place, dict[str, Any] | None]:
    """Returns the user's line of some values; of a gradient, that of the op whose gradient it is.

    Args:
      snapshot: The run.
      values: Alerts, as the route ``alerts`` gives them.
    """
    stacks = {_place(facts): _stack(snapshot, facts) for facts in values}
    lines = user_lines(snapshot, list(stacks.values()))
    return {place: lines[stack]._asdict() if stack in lines else None for place, stack in stacks.items()}


def _stack(snapshot: Snapshot, facts: dict[str, Any]) -> int:
    if facts["op_name"] is None:
        query = "SELECT stack FROM executions WHERE idx = ?"
        return int(snapshot.rows(query, [facts["execution_index"]])[0][0])
    op = find_op(snapshot, facts["graph_id"], facts["op_name"])
    return (forward_op(snapshot, op) or op).stack


def explain_finding(snapshot: Snapshot, finding: Finding) -> Diagnosis:
    """Explains a finding."""
    explain = finding.rule.explainer(finding.hit, finding.values)
    (alert,) = findings_json(snapshot, [finding])
    return diagnose_value(snapshot, alert, explain)


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Returns a rule, its thresholds and counts."""
    return {
        **rule_json(verdict.rule),
        "recommended": verdict.is_recommended,
        "missing": verdict.missing,
        "num_tensors": len(verdict.findings),
        "num_values": verdict.num_values,
        "parameters": [
            {**parameter_json(one), "value": verdict.values[one.name]} for one in verdict.rule.parameters
        ],
    }


def rule_json(rule: AlertRule) -> dict[str, Any]:
    """Returns what a rule is."""
    return {
        "alert_type": rule.id,
        "title": rule.title,
        "severity": rule.severity.word,
        "description": rule.description,
    }


def parameter_json(parameter: Parameter) -> dict[str, Any]:
    """Returns what a parameter is."""
    return {
        "name": parameter.name,
        "default": parameter.default,
        "low": parameter.low,
        "high": parameter.high,
        "unit": parameter.unit,
        "scale": parameter.scale,
        "choices": list(parameter.choices),
        "whole": parameter.is_whole,
    }
