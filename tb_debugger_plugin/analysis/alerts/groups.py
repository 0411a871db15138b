"""Alerts by what they have in common: cause, rule, layer, variable, line, op, function or process.

Takes alerts as routes give them, in the order of urgency, and returns their groups in the same order. The
cause of a bad value is the origin that it comes from.

Invariant: each alert is in exactly one group; those that lack what is asked for are a group of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.alerts.findings import verdicts
from tb_debugger_plugin.analysis.alerts.pages import FindingJson, by_urgency, findings_json, judged_json
from tb_debugger_plugin.analysis.alerts.places import sites_at
from tb_debugger_plugin.analysis.alerts.settings import RuleSettings
from tb_debugger_plugin.analysis.lasting import lasting
from tb_debugger_plugin.analysis.origins.attribution import attribution
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tb_debugger_plugin.events.tensorflow_names import display_name

#: Answers that are kept for a commit: one for each grouping, of a few thresholds.
_KEPT: Final = 16


class AlertGroupJson(TypedDict):
    """Alerts that have something in common."""

    group: str  #: what they have in common
    severity: str  #: that of the most severe alert
    num_alerts: int  #: how many alerts
    num_tensors: int  #: of how many tensors, eager ops and lines, or functions
    count: int  #: how many values break the rules
    alert_types: list[str]  #: the rules, by name
    first: FindingJson  #: the most urgent alert


def _line(alert: Json) -> str:
    source = alert["source"]
    return "no line" if source is None else f"{source['path']}:{source['line']}"


def _variable(alert: Json) -> str:
    return str(alert["variable"] or " and ".join(alert["gradient_of"]) or "no variable")


def _function(alert: Json) -> str:
    name = alert["graph_name"]
    return display_name(name) if name else "outside of functions"


def _causes(snapshot: Snapshot, alerts: Sequence[Json]) -> list[str]:
    if not any(alert["bad"] for alert in alerts):
        return [_NOT_BAD] * len(alerts)
    known = attribution(snapshot)
    traces = [alert["graph_execution_trace_index"] for alert in alerts]
    sites = sites_at(snapshot, [trace for trace in traces if trace is not None])
    names = []
    for alert, trace in zip(alerts, traces, strict=True):
        own = (alert["execution_index"], alert["output_slot"])
        position = known.executions.get(own) if trace is None else known.sites.get(sites[trace])
        found = _NO_ORIGIN if position is None else known.origins[position].title
        names.append(found if alert["bad"] else _NOT_BAD)
    return names


def _by(name: Callable[[Json], str]) -> Callable[[Snapshot, Sequence[Json]], list[str]]:
    return lambda snapshot, alerts: [name(alert) for alert in alerts]


_NO_ORIGIN: Final = "no origin found"
_NOT_BAD: Final = "no NaN or ∞"
#: What alerts can have in common: the name of the group of each alert.
GROUPINGS: Final[dict[str, Callable[[Snapshot, Sequence[Json]], list[str]]]] = {
    "cause": _causes,
    "rule": _by(lambda alert: str(alert["alert_type"])),
    "layer": _by(lambda alert: alert["layer"] or "no layer"),
    "variable": _by(_variable),
    "line": _by(_line),
    "op": _by(lambda alert: alert["op_type"] or "no op"),
    "function": _by(_function),
    "process": _by(lambda alert: str(alert["process"])),
}


def alert_groups(snapshot: Snapshot, settings: RuleSettings, by: str) -> list[Json]:
    """Return the groups of what breaks the rules that are asked for and is not meant.

    Args:
      snapshot: The run.
      settings: The rules.
      by: One of :data:`GROUPINGS`.

    Returns:
      The groups, each an :class:`AlertGroupJson`. Without thresholds they may be those of an earlier commit
      if the snapshot may lag; with thresholds they are kept for the commit.
    """
    key = (settings.rules, settings.known, settings.allowed, by)

    def make() -> list[Json]:
        every = [one for one in by_urgency(verdicts(snapshot, settings)) if one.allowed is None]
        return _grouped(snapshot, findings_json(snapshot, every), by)

    if not settings.values:
        return lasting(snapshot, f"alert groups {hash(key):x}", make).value
    values = tuple(sorted(settings.values.items()))
    return snapshot.remember_last("alert groups", (values, *key), _KEPT, make)


def judged_groups(snapshot: Snapshot, settings: RuleSettings, by: str) -> Json:
    """Return the rules with their counts and all alerts, as `judged_json` does, with ``groups`` of them."""
    judged = judged_json(snapshot, settings)
    return {**judged, "groups": _grouped(snapshot, judged["alerts"], by)}


def _grouped(snapshot: Snapshot, alerts: Sequence[Json], by: str) -> list[Json]:
    groups: dict[str, list[Json]] = {}
    for alert, name in zip(alerts, GROUPINGS[by](snapshot, alerts), strict=True):
        groups.setdefault(name, []).append(alert)
    return [
        {
            "group": name,
            "severity": group[0]["severity"],
            "num_alerts": len(group),
            "num_tensors": sum(alert["num_tensors"] for alert in group),
            "count": sum(alert["count"] for alert in group),
            "alert_types": sorted({alert["alert_type"] for alert in group}),
            "first": group[0],
        }
        for name, group in groups.items()
    ]
