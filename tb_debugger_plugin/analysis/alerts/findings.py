"""Evaluates rules: one alert for each tensor, eager op or function that breaks one.

Takes a snapshot and settings. Answers are kept by rule and thresholds for the commit they were made of, so
that moving one slider evaluates one rule.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tb_debugger_plugin.analysis.alerts.allow import Allowed
from tb_debugger_plugin.analysis.alerts.places import AlertPlace, places_of
from tb_debugger_plugin.analysis.alerts.rule import AlertRule, RuleHit, Severity, TooSlowError, Value
from tb_debugger_plugin.analysis.alerts.search import sites_of
from tb_debugger_plugin.analysis.alerts.settings import ALL, RECOMMENDED, RuleSettings
from tb_debugger_plugin.analysis.alerts.tensors import layer_of, tensors
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.analysis.source.user_lines import user_line
from tb_debugger_plugin.events.modes import MODES, ModeSpec, TensorDebugMode

#: Answers that are kept for a commit.
_KEPT: Final = 256


@dataclass(frozen=True)
class Finding:
    """A tensor, the tensors of a layer or variable, an eager op or a function that breaks a rule.

    Attributes:
      rule: The rule.
      values: Its parameters.
      hit: Where and how.
      allowed: Why it is meant; None if nobody said so.
      sites: Of the tensors of one layer or variable that are one finding: their sites. Its hit is the first
        of theirs, with the values of all. Empty for a finding of its own.
    """

    rule: AlertRule
    values: dict[str, Value]
    hit: RuleHit
    allowed: str | None = None
    sites: tuple[int, ...] = ()

    @property
    def severity(self) -> Severity:
        """How urgent it is."""
        return self.rule.severity if self.hit.severity is None else self.hit.severity

    @property
    def num_tensors(self) -> int:
        """How many tensors it is about."""
        return max(1, len(self.sites))


@dataclass(frozen=True)
class RuleVerdict:
    """What a rule says of a run.

    Attributes:
      rule: The rule.
      values: Its parameters.
      missing: A sentence when the run cannot answer; None when it can.
      is_recommended: Whether the rule is on by default for this run.
      findings: What breaks it; empty when it cannot answer.
      allowed: What breaks it and is meant.
      is_asked: Whether it was evaluated.
    """

    rule: AlertRule
    values: dict[str, Value]
    missing: str | None
    is_recommended: bool
    findings: tuple[Finding, ...] = ()
    allowed: tuple[Finding, ...] = ()
    is_asked: bool = True

    @property
    def num_values(self) -> int:
        """How many values break the rule."""
        return sum(finding.hit.times for finding in self.findings)


def verdicts(snapshot: Snapshot, settings: RuleSettings) -> list[RuleVerdict]:
    """Return a verdict for each rule that is asked for."""
    return [verdict(snapshot, settings, rule) for rule in chosen_rules(snapshot, settings)]


def unasked(snapshot: Snapshot, settings: RuleSettings) -> list[RuleVerdict]:
    """Return a verdict without findings for each rule that is not asked for."""
    asked = chosen_rules(snapshot, settings)
    return [
        RuleVerdict(
            rule,
            settings.of_rule(rule),
            missing_of(snapshot, rule),
            is_recommended(snapshot, rule),
            is_asked=False,
        )
        for rule in settings.known
        if rule not in asked
    ]


def verdict(snapshot: Snapshot, settings: RuleSettings, rule: AlertRule) -> RuleVerdict:
    """Return what a rule says of a run."""
    values, missing = settings.of_rule(rule), missing_of(snapshot, rule)
    found: Sequence[Finding] = ()
    try:
        found = () if missing else judged(snapshot, settings, _find(snapshot, rule, values))
    except TooSlowError as error:
        missing = str(error)
    if rule.has_groups:
        found = _grouped(snapshot, found)
    return RuleVerdict(
        *(rule, values, missing, is_recommended(snapshot, rule)),
        findings=tuple(one for one in found if one.allowed is None),
        allowed=tuple(one for one in found if one.allowed is not None),
    )


def chosen_rules(snapshot: Snapshot, settings: RuleSettings) -> list[AlertRule]:
    """Return the rules that settings ask for, in the order of the registry."""
    return [
        rule
        for rule in settings.known
        if ALL in settings.rules
        or rule.id in settings.rules
        or (RECOMMENDED in settings.rules and is_recommended(snapshot, rule))
    ]


def is_recommended(snapshot: Snapshot, rule: AlertRule) -> bool:
    """Whether a rule is on by default for a run: it has a default for everybody, and what it is about."""
    if rule.recommends is None:
        return False
    return all(tensors(snapshot).of(role) for role in rule.recommends)


def missing_of(snapshot: Snapshot, rule: AlertRule) -> str | None:
    """Return why a rule cannot be evaluated on a run; None when it can."""
    recorded = _modes(snapshot)
    if recorded and not is_measured(rule, recorded):
        modes = ", ".join(sorted(TensorDebugMode(mode).name for mode in recorded))
        return f"Needs {needed_mode(rule)}: this run was recorded in {modes}."
    if rule.roles and not tensors(snapshot).of(*rule.roles):
        kinds = " or ".join(role.value for role in rule.roles)
        return f"No {kinds} are on record."
    return None


def is_measured(rule: AlertRule, recorded: Collection[int]) -> bool:
    """Whether one of the modes that are recorded measures what a rule needs."""
    return any(spec.mode in recorded for spec in MODES if _measures(spec, rule))


def needed_mode(rule: AlertRule) -> str:
    """Return the name of the cheapest mode that measures what a rule needs; empty if it needs nothing."""
    able = [spec for spec in MODES if spec.is_recorded and _measures(spec, rule)]
    return able[0].mode.name if rule.columns else ""


def _measures(spec: ModeSpec, rule: AlertRule) -> bool:
    if spec.mode is TensorDebugMode.FULL_TENSOR:  # the index counts whole tensors
        return True
    return all(spec.judges if name == "any_bad" else name in spec.columns for name in rule.columns)


@remembered(Snapshot.remember)
def _modes(snapshot: Snapshot) -> frozenset[int]:
    """Return the modes of the tensors on record."""
    tables = ("graph_executions", "execution_outputs")
    rows = [row for table in tables for row in snapshot.rows(f"SELECT DISTINCT mode FROM {table}")]
    known = {spec.mode.value for spec in MODES}
    return frozenset(mode for (mode,) in rows if mode in known)


def judged(snapshot: Snapshot, settings: RuleSettings, findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return findings with the reasons of those that are meant."""
    entries = [one for one in settings.allowed if findings and one.rule in (None, findings[0].rule.id)]
    if not entries:
        return findings
    places = places_of(snapshot, [one.hit[:2] for one in findings])
    return [replace(one, allowed=_reason(snapshot, one, entries, places[one.hit[:2]])) for one in findings]


def _grouped(snapshot: Snapshot, findings: Sequence[Finding]) -> list[Finding]:
    """Return one finding for all of equal severity that are about one layer or variable."""
    groups: dict[object, list[tuple[Finding, int]]] = {}
    sites = sites_of(snapshot, [one.hit for one in findings])
    for one, site in zip(findings, sites, strict=True):
        groups.setdefault((one.severity, one.allowed, *_subject(snapshot, one.hit, site)), []).append(
            (one, site)
        )
    return [_together(group) for group in groups.values()]


def _subject(snapshot: Snapshot, hit: RuleHit, site: int) -> tuple[object, ...]:
    if site < 0:
        return hit[:2]
    described = snapshot.catalog.sites[site]
    whose = layer_of(snapshot, site) or tensors(snapshot).variables.get(site)
    return (described.host, whose) if whose else (site,)


def _together(group: Sequence[tuple[Finding, int]]) -> Finding:
    first = group[0][0]
    if len(group) == 1:
        return first
    hits = [one.hit for one, _ in group]
    hit = first.hit._replace(times=sum(one.times for one in hits), last=max(one.last for one in hits))
    return replace(first, hit=hit, sites=tuple(site for _, site in group))


def _reason(
    snapshot: Snapshot, finding: Finding, entries: Sequence[Allowed], place: AlertPlace
) -> str | None:
    def line() -> str | None:
        found = user_line(snapshot, place.stack)
        return None if found is None else f"{found.path}:{found.line}"

    return next(
        (
            entry.reason
            for entry in entries
            if entry.fits(finding.rule.id, place.op_name, place.op_type, line)
        ),
        None,
    )


def _find(snapshot: Snapshot, rule: AlertRule, values: dict[str, Value]) -> Sequence[Finding]:
    def make() -> list[Finding]:
        hits = sorted(rule.find(snapshot, values), key=lambda hit: hit[:2])
        return [Finding(rule, values, hit) for hit in hits]

    return snapshot.remember_last("findings", (rule, tuple(values.items())), _KEPT, make)
