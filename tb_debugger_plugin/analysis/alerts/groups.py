"""Alerts by what they have in common: their rule, layer, variable, line, op, function or process.

Takes alerts as routes give them, in the order of urgency, and returns their groups in the same order.

Invariant: each alert is in exactly one group; those that lack what is asked for are a group of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.alerts.pages import FindingJson
from tb_debugger_plugin.events.tensorflow_names import display_name


class AlertGroupJson(TypedDict):
    """Alerts that have something in common."""

    group: str  #: what they have in common
    severity: str  #: that of the most severe alert
    num_alerts: int  #: how many alerts
    num_tensors: int  #: of how many tensors, eager ops and lines, or functions
    count: int  #: how many values break the rules
    alert_types: list[str]  #: the rules, by name
    first: FindingJson  #: the most urgent alert


def _line(alert: FindingJson) -> str:
    source = alert["source"]
    return "no line" if source is None else f"{source['path']}:{source['line']}"


def _variable(alert: FindingJson) -> str:
    return alert["variable"] or " and ".join(alert["gradient_of"]) or "no variable"


def _function(alert: FindingJson) -> str:
    return display_name(alert["graph_name"]) if alert["graph_name"] else "outside of functions"


#: What alerts can have in common.
GROUPINGS: Final[dict[str, Callable[[FindingJson], str]]] = {
    "rule": lambda alert: alert["alert_type"],
    "layer": lambda alert: alert["layer"] or "no layer",
    "variable": _variable,
    "line": _line,
    "op": lambda alert: alert["op_type"] or "no op",
    "function": _function,
    "process": lambda alert: alert["process"],
}


def grouped(alerts: Sequence[FindingJson], by: str) -> list[AlertGroupJson]:
    """Group alerts.

    Args:
      alerts: The alerts, the most urgent first.
      by: One of :data:`GROUPINGS`.
    """
    groups: dict[str, list[FindingJson]] = {}
    for alert in alerts:
        groups.setdefault(GROUPINGS[by](alert), []).append(alert)
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
