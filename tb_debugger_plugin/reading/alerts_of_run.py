"""The part of a run that gives alerts, and explains them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tb_debugger_plugin.analysis.alerts import alerts as alert_lists
from tb_debugger_plugin.analysis.alerts import pages
from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.alerts.findings import Finding, verdicts
from tb_debugger_plugin.analysis.alerts.own_files import own_files
from tb_debugger_plugin.analysis.alerts.settings import ALL, RECOMMENDED, Settings, make_settings
from tb_debugger_plugin.analysis.diagnosis.explain import Diagnosis, diagnose_alert
from tb_debugger_plugin.analysis.origins import origins as origin_lists
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.precision import precision as precision_lens
from tb_debugger_plugin.analysis.precision.formats import DEFAULT
from tb_debugger_plugin.analysis.precision.precision import Precision
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.reading.program import Alert
from tb_debugger_plugin.reading.values_of_run import ValuesOfRun


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
    facts: dict[str, Any]

    def __str__(self) -> str:
        """Returns the headline and the sentences, a line each."""
        return "\n".join([self.headline, *self.sentences])


class AlertsOfRun(ValuesOfRun):
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

    def why(self, alert: int | None = None) -> Explanation | None:
        """Explains a bad value: which op made it, from which inputs, why, and on which line.

        Use::

            print(run.why())

        Args:
          alert: The position of an alert; None (the default) = the first cause.

        Returns:
          None if the run has no alert and none was asked for.

        Raises:
          BadQueryError: There is no such alert.
        """
        found = self._ask(diagnose_alert, alert)
        return None if found is None else _explanation(found)

    def why_finding(self, finding: Finding) -> Explanation:
        """Explains what breaks a rule; `Alert.why()` calls it."""
        return _explanation(self._ask(pages.explain_finding, finding))

    def origins(self) -> list[Origin]:
        """Finds where the bad values come from: over ops, calls, loops, gradients, variables and steps.

        Use::

            for origin in run.origins():
                print(origin.category, origin.headline, origin.explanation)

        The most important one is first. What is expected, such as a mask of −∞ before a softmax, comes last;
        a healthy program has nothing else. An origin has at least ``kind`` (``"nan"`` or ``"inf"``),
        ``category`` (``"origin"``, ``"came_in"``, ``"propagated"`` or ``"expected"``), ``op_type``,
        ``op_name``, ``source`` (``path``, ``line``, ``function``, ``text``), ``step``, ``execution_index``,
        ``graph_execution_index``, ``explanation``, ``evidence``, ``advice`` and ``chain``.

        Returns:
          An empty list if nothing on record is bad.
        """
        return self._ask(origin_lists.origins)

    def precision(self, dtype: str = DEFAULT) -> Precision:
        """Computes what would overflow, vanish or lose bits if the program ran in another floating dtype.

        Use::

            found = run.precision("float16")
            for tensor in found.tensors:
                print(tensor.place.name, tensor.verdict, tensor.headroom)
            found.keep_in_float32

        Each tensor is judged by the values that are on record; an error that grows through the program is not
        followed. The run needs minimum and maximum: record in ``"FULL_NUMERICS"``, or keep values.

        Args:
          dtype: ``"float16"`` (the default), ``"bfloat16"``, ``"float32"``, ``"float8_e5m2"``,
            ``"float8_e4m3fn"``, ``"float8_e5m2fnuz"`` or ``"float8_e4m3fnuz"``.

        Returns:
          The tensors, the worst first, layers, types of ops, and the window of loss scales. ``to_json()`` is
          the answer of the route ``precision`` of ``docs/http-api.md``.

        Raises:
          BadQueryError: There is no such dtype.
        """
        return self._ask(precision_lens.precision, dtype)


def _explanation(found: Diagnosis) -> Explanation:
    return Explanation(found.headline, found.sentences, found.to_json())
