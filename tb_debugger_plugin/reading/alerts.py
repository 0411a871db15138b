"""Alerts and explanations as objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tb_debugger_plugin.analysis.alerts import alerts as alert_lists
from tb_debugger_plugin.analysis.alerts import pages
from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED, NAN_OR_INFINITY
from tb_debugger_plugin.analysis.alerts.allow import made_allowed
from tb_debugger_plugin.analysis.alerts.explain import Diagnosis
from tb_debugger_plugin.analysis.alerts.findings import Finding, verdicts
from tb_debugger_plugin.analysis.alerts.own_files import own_files
from tb_debugger_plugin.analysis.alerts.settings import RuleSettings, make_settings
from tb_debugger_plugin.analysis.snapshot import Json, Range, Snapshot
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.reading.value import Value

if TYPE_CHECKING:
    from tb_debugger_plugin.reading.run import Run


@dataclass(frozen=True)
class Explanation:
    """Why a value is bad.

    Attributes:
      headline: One line, such as ``"Log in cross_entropy, train.py:68"``.
      sentences: What the value is, why, on which line, and what helps.
      facts: Everything that the route ``diagnosis`` of ``docs/http-api.md`` answers.
    """

    headline: str
    sentences: list[str]
    facts: Json

    def __str__(self) -> str:
        """Return the headline and the sentences, a line each."""
        return "\n".join([self.headline, *self.sentences])


def explanation_of(found: Diagnosis) -> Explanation:
    """Return a diagnosis as users of Python get it."""
    return Explanation(found.headline, found.sentences, found.to_json())


def explained(run: Run, finding: Finding) -> Explanation:
    """Explain what breaks a rule."""
    with run.snapshot() as snapshot:
        return explanation_of(pages.explain_finding(snapshot, finding))


@dataclass(frozen=True)
class Alert:
    """A value that a rule reports, such as one with NaN.

    Attributes:
      index: Its position in the list of alerts.
      alert_type: The rule.
      op_type: The type of the op.
      op_name: The name of the op in its graph; None for an eager op.
      slot: The number of the output.
      wall_time: When the value was computed, in seconds since the epoch.
      facts: Everything that the route ``alerts`` of ``docs/http-api.md`` answers; of a rule that was asked
        for, that of ``alerts/found``: also ``severity``, ``count`` and ``source``.
    """

    index: int
    alert_type: str
    op_type: str | None
    op_name: str | None
    slot: int
    wall_time: float
    facts: Json = field(repr=False)
    run: Run = field(repr=False, compare=False)
    finding: Finding | None = field(default=None, repr=False, compare=False)

    def value(self) -> Value:
        """Return the value.

        Use::

            alert.value()[...]
        """
        inside = self.facts["graph_execution_trace_index"]
        if inside is not None:
            return self.run.value(graph_execution=inside)
        return self.run.value(execution=self.facts["execution_index"], slot=self.slot)

    def why(self) -> Explanation | None:
        """Return the explanation, as :meth:`Run.why`.

        Use::

            print(alert.why())
        """
        return self.run.why(self.index) if self.finding is None else explained(self.run, self.finding)


def found_alerts(snapshot: Snapshot, run: Run, settings: RuleSettings) -> list[Alert]:
    """Return what breaks the rules of some settings, the most urgent first."""
    findings = pages.by_urgency(verdicts(snapshot, settings))
    facts = pages.findings_json(snapshot, findings)
    return [
        replace(_alert(run, index, one), finding=finding)
        for index, (one, finding) in enumerate(zip(facts, findings, strict=True))
    ]


class BadValueRule:
    """The rule of NaN and infinities, with alerts that are meant beside those of the allow-list.

    Args:
      meant: Entries, as in ``tbdbg_allow.toml``.

    Raises:
      UsageError: One of them is no entry.
    """

    def __init__(self, meant: Iterable[Json]) -> None:
        self._meant = tuple(map(made_allowed, meant))

    def broken(self, run: Run) -> list[Alert]:
        """Return the alerts of a run that are not meant, the most urgent first."""
        with run.snapshot() as snapshot:
            own = own_files(snapshot.loader.run)
            own = replace(own, allowed=(*own.allowed, *self._meant))
            found = found_alerts(snapshot, run, make_settings((), [NAN_OR_INFINITY.id], own))
        return [alert for alert in found if alert.facts["allowed"] is None]


def listed_alerts(snapshot: Snapshot, run: Run, alert_type: str | None) -> list[Alert]:
    """Return each value that a listed rule reports, in the order of time.

    Raises:
      UsageError: There is no such rule in the list.
    """
    known = [rule.id for rule in LISTED]
    if alert_type is not None and alert_type not in known:
        raise UsageError(
            f"There is no rule {alert_type!r} in the list: choose {', '.join(known)}, or rule=..."
        )
    every = alert_lists.alert_list(snapshot)
    facts = alert_lists.page(snapshot, every, Range(0, len(every)))
    alerts = [_alert(run, index, one) for index, one in enumerate(facts)]
    return [one for one in alerts if alert_type in (None, one.alert_type)]


def _alert(run: Run, index: int, facts: Json) -> Alert:
    return Alert(
        *(index, facts["alert_type"], facts["op_type"], facts["op_name"], facts["output_slot"]),
        facts["wall_time"],
        facts,
        run,
    )
