"""The part of a run that gives alerts, and explains them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tb_debugger_plugin.analysis.alerts import alerts as alert_lists
from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.diagnosis.explain import diagnose_alert
from tb_debugger_plugin.analysis.origins import origins as origin_lists
from tb_debugger_plugin.analysis.origins.origin import Origin
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

    def alerts(self, alert_type: str | None = None) -> list[Alert]:
        """Returns the values that rules report, in the order of time.

        Use::

            run.alerts("InfNanAlert")[0].value()

        Args:
          alert_type: Only alerts of this rule; None (the default) = of all rules.

        Raises:
          UsageError: There is no such rule.
        """
        known = [rule.id for rule in LISTED]
        if alert_type is not None and alert_type not in known:
            raise UsageError(f"There is no rule {alert_type!r}: choose one of {', '.join(known)}.")

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
        return None if found is None else Explanation(found.headline, found.sentences, found.to_json())

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
