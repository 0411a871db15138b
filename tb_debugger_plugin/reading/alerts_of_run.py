"""The part of a run that gives alerts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tb_debugger_plugin.analysis.alerts import alerts as alert_lists
from tb_debugger_plugin.analysis.alerts import pages
from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.alerts.findings import verdicts
from tb_debugger_plugin.analysis.alerts.own_files import own_files
from tb_debugger_plugin.analysis.alerts.settings import (
    ALL,
    RECOMMENDED,
    Settings,
    make_settings,
    settings_of_texts,
)
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.reading.analysis_of_run import AnalysisOfRun
from tb_debugger_plugin.reading.program import Alert


class AlertsOfRun(AnalysisOfRun):
    """The alerts of a run; see :class:`~tb_debugger_plugin.reading.run.Run`."""

    def alerts(
        self,
        alert_type: str | None = None,
        *,
        rule: str | Sequence[str] | None = None,
        rules_file: str | os.PathLike[str] | None = None,
        **parameters: float | str,
    ) -> list[Alert]:
        """Returns the values that rules report.

        Use::

            run.alerts("InfNanAlert")[0].value()
            run.alerts(rule="LargeGradientAlert", limit=10)
            run.alerts(rule="recommended")

        Without `rule`, the list has each value with NaN or an infinity, or of an exploding magnitude, in the
        order of time. With `rule`, it has one alert for each tensor, eager op and line, or function that
        breaks the rule, at its first such value, the most severe ones first; alerts that the allow-list
        means are last.

        Args:
          alert_type: Only values of this rule; None (the default) = all. It cannot be given with `rule`.
          rule: A rule of `docs/guide/rules.md`, several, "recommended" for those that fit the model, or
            "all"; None (the default) = each bad or exploding value.
          rules_file: A file with more rules, in TOML or in Python, whose code is run; None (the default) =
            only `tbdbg_rules.toml` in the logdir.
          **parameters: Thresholds of the rule, in place of its defaults; only with a single rule.

        Raises:
          UsageError: There is no such rule or parameter, or the parameter cannot have this value.
        """
        if rule is None:
            if parameters or rules_file is not None:
                raise UsageError("Thresholds and rules_file need rule=..., the rule that they are for.")
            return self._listed(alert_type)
        if alert_type is not None:
            raise UsageError("Either alert_type or rule can be given; rule is one alert for each tensor.")
        rules = [rule] if isinstance(rule, str) else list(rule)
        if parameters and (len(rules) != 1 or rules[0] in (ALL, RECOMMENDED)):
            raise UsageError("Thresholds need a single rule, so that it is known whose they are.")
        own = own_files(self._loader.run, [] if rules_file is None else [Path(rules_file)])
        settings = make_settings([(rules[0], name, value) for name, value in parameters.items()], rules, own)
        return self._ask(self._findings, settings)

    def judged(self, rules: Sequence[str] | None, files: Sequence[Path] = ()) -> dict[str, Any]:
        """Evaluates rules as ``tbdbg alerts`` does.

        Use::

            run.judged(["LargeGradientAlert:limit=10"])["alerts"]

        Args:
          rules: Such as ``"LargeGradientAlert:limit=10"``; None for the recommended ones.
          files: Files with more rules.

        Returns:
          ``processes``, ``rules`` with their counts, and ``alerts`` as the route ``alerts/found`` gives them.
        """
        settings = settings_of_texts(rules, own_files(self._loader.run, files))
        return self._ask(pages.judged_json, settings)

    def alert_counts(self) -> dict[str, int]:
        """Returns how many values :meth:`alerts` lists, by rule, without the rules that have none.

        Use::

            run.alert_counts().get("InfNanAlert", 0)
        """
        every = self._ask(alert_lists.alert_list)
        return {rule.id: every.count(rule) for rule in LISTED if every.count(rule)}

    def _findings(self, snapshot: Snapshot, settings: Settings) -> list[Alert]:
        findings = pages.by_urgency(verdicts(snapshot, settings))
        facts = pages.findings_json(snapshot, findings)
        return [
            replace(self._alert(index, one), finding=finding)
            for index, (one, finding) in enumerate(zip(facts, findings, strict=True))
        ]

    def _listed(self, alert_type: str | None) -> list[Alert]:
        known = [rule.id for rule in LISTED]
        if alert_type is not None and alert_type not in known:
            raise UsageError(
                f"There is no rule {alert_type!r} in the list: choose {', '.join(known)}, or rule=..."
            )

        def all_alerts(snapshot: Snapshot) -> list[Alert]:
            every = alert_lists.alert_list(snapshot)
            facts = alert_lists.page(snapshot, every, Range(0, len(every)))
            return [self._alert(index, one) for index, one in enumerate(facts)]

        return [one for one in self._ask(all_alerts) if alert_type in (None, one.alert_type)]

    def _alert(self, index: int, facts: dict[str, Any]) -> Alert:
        return Alert(
            *(index, facts["alert_type"], facts["op_type"], facts["op_name"], facts["output_slot"]),
            facts["wall_time"],
            facts,
            self,
        )
