"""Findings as the routes, `tbdbg` and Python give them: JSON-like values, in the order of urgency.

Takes findings and returns the alert of each, in the words of the route ``alerts``, with what only findings
have: severity, rule and thresholds, how many values there are, and where the last one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.alerts.alerts import AlertJson, values_of
from tb_debugger_plugin.analysis.alerts.explain import Diagnosis, diagnose_value
from tb_debugger_plugin.analysis.alerts.findings import Finding, RuleVerdict, verdicts
from tb_debugger_plugin.analysis.alerts.places import places_of
from tb_debugger_plugin.analysis.alerts.rule import AlertRule, Value
from tb_debugger_plugin.analysis.alerts.settings import RuleSettings
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tb_debugger_plugin.analysis.source.user_lines import UserLine, user_lines
from tb_debugger_plugin.events.tensorflow_names import display_name

#: Names of tensors that an alert lists.
_NAMED: Final = 50


class FindingJson(AlertJson):
    """An alert of the route ``alerts/found``."""

    severity: str  #: that of this alert
    count: int  #: how many of its values break the rule
    last: int  #: position of the last of them, in the list of the first
    #: the user's line; of a gradient, that of its forward op; null if it is not known
    source: UserLine | None
    allowed: str | None  #: why it is meant, or null
    remark: str | None  #: why it is only `low`, in a sentence, or null
    num_tensors: int  #: how many tensors it is about
    tensors: list[str]  #: their names, at most 50, if there are several; the alert is that of the first


def by_urgency(judged: Sequence[RuleVerdict]) -> list[Finding]:
    """Return all findings: the most severe ones first, and last those that are meant."""
    findings = [finding for one in judged for finding in (*one.findings, *one.allowed)]
    # Positions of the two lists have no common order; those of one list do.
    return sorted(
        findings,
        key=lambda one: (one.allowed is not None, -one.severity, one.hit.slot >= 0, *one.hit[:2]),
    )


def judged_json(snapshot: Snapshot, settings: RuleSettings) -> Json:
    """Return the rules that are asked for with their counts, and all alerts, the most urgent first."""
    judged = verdicts(snapshot, settings)
    return {
        "processes": snapshot.catalog.host_names,
        "rules": [verdict_json(one) for one in judged],
        "alerts": findings_json(snapshot, by_urgency(judged)),
    }


def findings_json(snapshot: Snapshot, findings: Sequence[Finding]) -> list[Json]:
    """Return the alerts of some findings.

    Args:
      snapshot: The run.
      findings: At most a page of them.
    """
    found = values_of(snapshot, [one.hit[:2] for one in findings])
    places = places_of(snapshot, found)
    lines = user_lines(snapshot, [place.stack for place in places.values()])
    return [
        {
            "alert_type": one.rule.id,
            "severity": one.severity.word,
            "measured": one.rule.words(numbers, one.hit, one.values),
            "count": one.hit.times,
            "last": one.hit.last,
            **values,
            "source": lines[stack].to_json() if stack in lines else None,
            "allowed": one.allowed,
            "remark": one.hit.remark or None,
            "num_tensors": one.num_tensors,
            "tensors": [_tensor_name(snapshot, site) for site in one.sites[:_NAMED]],
        }
        for one in findings
        for (numbers, values), stack in [(found[one.hit[:2]], places[one.hit[:2]].stack)]
    ]


def _tensor_name(snapshot: Snapshot, number: int) -> str:
    site = snapshot.catalog.sites[number]
    return f"{snapshot.catalog.ops[site.op].name}:{site.slot}"


def place_words(alert: Json, processes: Sequence[str] = ()) -> str:
    """Return the tensor, its variable and the line of an alert: "Mul:0 for dense/kernel, train.py:68".

    Args:
      alert: The alert.
      processes: The processes of its run. Of several, that of the alert is named.
    """
    kind = display_name(alert["op_type"] or "?")
    name = alert["op_name"]
    tensor = f"{name}:{alert['output_slot']}" + (f" ({kind})" if kind != name else "") if name else kind
    whose = alert["variable"] or " and ".join(alert["gradient_of"])
    tensor += f" for {whose}" if whose else ""
    tensor += f" and {alert['num_tensors'] - 1:,} more" if alert["num_tensors"] > 1 else ""
    source, process = alert["source"], f" of {alert['process']}" if len(processes) > 1 else ""
    if source is None:
        return f"{tensor}{process}"
    return f"{tensor}, {source['path'].replace(chr(92), '/').rpartition('/')[2]}:{source['line']}{process}"


def headline_of(rule: AlertRule, alert: Json, processes: Sequence[str] = ()) -> str:
    """Return the rule, what was measured, and what `place_words` says of an alert."""
    return f"{rule.title}: {alert['measured']} in {place_words(alert, processes)}"


def explain_finding(snapshot: Snapshot, finding: Finding) -> Diagnosis:
    """Explain a finding."""
    explain = finding.rule.explainer(finding.hit, finding.values)
    (alert,) = findings_json(snapshot, [finding])
    return diagnose_value(snapshot, alert, explain)


class AlertRuleJson(TypedDict):
    """What a rule is."""

    alert_type: str  #: name of the rule
    title: str  #: the rule in a word, for a button
    severity: str  #: `critical`, `high`, `medium` or `low`
    description: str  #: a sentence: which values are alerts


class RuleParameterJson(TypedDict):
    """A threshold of a rule."""

    name: str  #: its name, default, and value in this answer
    default: Value
    value: Value
    low: float  #: the values that it may have
    high: float
    unit: str  #: what it counts; may be empty
    scale: str  #: how a slider goes: `linear` or `log`; `choice` if it is one of `choices`
    choices: list[str]  #: texts; empty for a number
    whole: bool  #: whether it is a whole number


class RuleJson(AlertRuleJson):
    """A rule, its thresholds and counts."""

    recommended: bool  #: whether the rule fits the run
    missing: str | None  #: a sentence if the recording cannot answer, or null
    num_tensors: int | None  #: how many tensors break the rule; null if it is not asked
    num_values: int | None  #: how many of their values do
    num_allowed: int | None  #: how many tensors break the rule and are [meant](#alertsallow)
    parameters: list[RuleParameterJson]  #: the thresholds


def verdict_json(verdict: RuleVerdict) -> Json:
    """Return a rule, its thresholds and counts."""
    return {
        **rule_json(verdict.rule),
        "recommended": verdict.is_recommended,
        "missing": verdict.missing,
        **_counts(verdict),
        "parameters": [
            {
                "name": one.name,
                "default": one.default,
                "low": one.low,
                "high": one.high,
                "unit": one.unit,
                "scale": one.scale,
                "choices": list(one.choices),
                "whole": one.is_whole,
                "value": verdict.values[one.name],
            }
            for one in verdict.rule.parameters
        ],
    }


def _counts(verdict: RuleVerdict) -> dict[str, int | None]:
    if not verdict.is_asked:
        return dict.fromkeys(("num_tensors", "num_values", "num_allowed"))
    return {
        "num_tensors": sum(finding.num_tensors for finding in verdict.findings),
        "num_values": verdict.num_values,
        "num_allowed": len(verdict.allowed),
    }


def rule_json(rule: AlertRule) -> AlertRuleJson:
    """Return what a rule is."""
    return {
        "alert_type": rule.id,
        "title": rule.title,
        "severity": rule.severity.word,
        "description": rule.description,
    }
