"""The part of a run that explains: why a value is bad, where it comes from, what another dtype would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tb_debugger_plugin.analysis.alerts import pages
from tb_debugger_plugin.analysis.alerts.findings import Finding
from tb_debugger_plugin.analysis.diagnosis.explain import Diagnosis, diagnose_alert
from tb_debugger_plugin.analysis.float_formats import DEFAULT
from tb_debugger_plugin.analysis.origins import origins as origin_lists
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.precision import precision as precision_lens
from tb_debugger_plugin.analysis.precision.precision import Precision
from tb_debugger_plugin.analysis.verdict import RunVerdict, verdict
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


class AnalysisOfRun(ValuesOfRun):
    """The explanations of a run; see :class:`~tb_debugger_plugin.reading.run.Run`."""

    def verdict(self) -> RunVerdict:
        """Returns what is to be said of the run: the headline of the page and of ``tbdbg why``.

        Use::

            print(run.verdict())
            assert run.verdict().is_good

        It asks alert rules if no value is bad, which takes seconds in a run of millions of tensors.

        Returns:
          The verdict, with at least ``kind`` (``"bad"``, ``"rules"``, ``"expected"``, ``"nothing"``,
          ``"unmeasured"`` or ``"empty"``), ``headline``, ``sentences``, ``doubts``, ``is_whole``,
          ``is_good`` and ``num_alerts``.
        """
        return self._ask(verdict)

    def why(self, alert: int | None = None) -> Explanation | None:
        """Explains a bad value: which op made it, from which inputs, why, and on which line.

        Use::

            print(run.why())

        Args:
          alert: The position of an alert; None (the default) = the first cause.

        Returns:
          None if nothing is wrong and no alert was asked for; :meth:`verdict` says what is.

        Raises:
          BadQueryError: There is no such alert.
        """
        found = self._ask(diagnose_alert, alert)
        return None if found is None else explanation_of(found)

    def why_finding(self, finding: Finding) -> Explanation:
        """Explains what breaks a rule; `Alert.why()` calls it."""
        return explanation_of(self._ask(pages.explain_finding, finding))

    def origins(self) -> list[Origin]:
        """Finds where the bad values come from: over ops, calls, loops, gradients, variables and steps.

        Use::

            for origin in run.origins():
                print(origin.category, origin.headline, origin.explanation)

        The most important one is first. What no result shows comes later: what was swallowed, such as
        NaN that was cast to an integer, and last what is expected, such as a mask of −∞ before a softmax; a
        healthy program has nothing else. An origin has at least ``kind`` (``"nan"`` or ``"inf"``),
        ``category`` (``"origin"``, ``"came_in"``, ``"propagated"``, ``"swallowed"`` or ``"expected"``),
        ``op_type``, ``op_name``, ``source`` (``path``, ``line``, ``function``, ``text``), ``step``,
        ``execution_index``, ``graph_execution_index``, ``explanation``, ``outcome``, ``evidence``, ``advice``
        and ``chain``.

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


def explanation_of(found: Diagnosis) -> Explanation:
    """Returns a diagnosis as users of Python get it."""
    return Explanation(found.headline, found.sentences, found.to_json())
