"""The rows of `docs/guide/rules.md`, as the registry of alert rules has them."""

from __future__ import annotations

from tb_debugger_plugin.analysis.alerts.findings import needed_mode
from tb_debugger_plugin.analysis.alerts.rule import AlertRule, Parameter

HEAD = (
    "| rule | is an alert when | parameters and defaults | source of the defaults | needs |",
    "| -- " * 5 + "|",
)


def row(rule: AlertRule) -> str:
    """The row of a rule."""
    cells = (
        f"`{rule.id}`, {rule.severity.word}{'' if rule.recommends is not None else ', off'}",
        rule.description.rstrip("."),
        ", ".join(map(_default, rule.parameters)) or "none",
        _sources(rule),
        "; ".join(filter(None, (needed_mode(rule), ", ".join(role.value for role in rule.roles))))
        or "nothing",
    )
    return f"| {' | '.join(cells)} |"


def _default(one: Parameter) -> str:
    value = one.default if isinstance(one.default, str) else f"{one.default:g}"
    return f"`{one.name}` {value}{f' {one.unit}' if one.unit else ''}"


def _sources(rule: AlertRule) -> str:
    sources = dict.fromkeys(one.source for one in rule.parameters)
    if len(sources) < 2:
        return next(iter(sources), "the catalogue of the field")
    return "; ".join(
        f"{source} (`{'`, `'.join(one.name for one in rule.parameters if one.source == source)}`)"
        for source in sources
    )
