"""Alerts by what they have in common: their rule, layer, variable, line, op, function or process.

Takes alerts as routes give them, in the order of urgency, and returns their groups in the same order.

Invariant: each alert is in exactly one group; those that lack what is asked for are a group of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.alerts.pages import FindingJson
from tb_debugger_plugin.analysis.snapshot import Json
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


def _line(alert: Json) -> str:
    source = alert["source"]
    return "no line" if source is None else f"{source['path']}:{source['line']}"


def _variable(alert: Json) -> str:
    return str(alert["variable"] or " and ".join(alert["gradient_of"]) or "no variable")


def _function(alert: Json) -> str:
    name = alert["graph_name"]
    return display_name(name) if name else "outside of functions"


#: What alerts can have in common.
GROUPINGS: Final[dict[str, Callable[[Json], str]]] = {
    "rule": lambda alert: str(alert["alert_type"]),
    "layer": lambda alert: alert["layer"] or "no layer",
    "variable": _variable,
    "line": _line,
    "op": lambda alert: alert["op_type"] or "no op",
    "function": _function,
    "process": lambda alert: str(alert["process"]),
}


def grouped(alerts: Sequence[Json], by: str) -> list[Json]:
    """Group alerts.

    Args:
      alerts: The alerts, the most urgent first.
      by: One of :data:`GROUPINGS`.

    Returns:
      The groups, each an :class:`AlertGroupJson`.
    """
    groups: dict[str, list[Json]] = {}
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
