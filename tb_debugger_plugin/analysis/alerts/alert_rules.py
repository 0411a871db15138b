"""The alert rules: which recorded values are alerts, and how each is explained.

To add a rule, add a value to :data:`RULES`. The alerts route, the page and ``tbdbg`` take it from there.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.advice import RANGE
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.diagnosis.phrases import Phrases, code, number, text
from tb_debugger_plugin.analysis.diagnosis.sentences import (
    Explanation,
    Subject,
    explain_bad,
    subject_phrases,
)
from tb_debugger_plugin.analysis.diagnosis.surroundings import Surroundings
from tb_debugger_plugin.index.tensors import BAD, GOOD

#: From this magnitude on, a finite value is called exploding.
EXPLODING_LIMIT: Final = 1e10


class Severity(enum.IntEnum):
    """How urgent an alert is. The first cause is looked for among the most severe alerts."""

    WARNING = 1
    ERROR = 2


@dataclass(frozen=True)
class AlertRule:
    """A kind of alert.

    Attributes:
      id: The ``alert_type`` of its alerts; Debugger V2 knows only ``InfNanAlert``.
      title: What the page writes on its button.
      severity: How urgent it is.
      description: One sentence: when a value is an alert.
      graph_executions: SQL that selects ``idx`` of ``graph_executions``.
      outputs: SQL that selects ``idx`` and ``slot`` of ``execution_outputs``.
      measure: Writes in a few words what was measured, such as "200 −∞".
      explain: Writes the diagnosis of one alert from its value and what is around its op.
    """

    id: str
    title: str
    severity: Severity
    description: str
    graph_executions: str
    outputs: str
    measure: Callable[[Numbers], str]
    explain: Callable[[Subject, Surroundings | None], Explanation]


def magnitude_words(value: float | None) -> str:
    """A magnitude with three digits: "3.2e+12"."""
    return "unknown" if value is None else f"{value:.3g}"


def _explain_exploding(subject: Subject, surroundings: Surroundings | None = None) -> Explanation:
    reached = magnitude_words(subject.output.largest)
    largest = [each.numbers.largest for each in subject.inputs if each.numbers is not None]
    known = [value for value in largest if value is not None]
    beyond = [
        each
        for each in subject.inputs
        if each.numbers is not None and (each.numbers.largest or 0) > EXPLODING_LIMIT
    ]
    if beyond:
        assert beyond[0].numbers is not None
        already = magnitude_words(beyond[0].numbers.largest)
        why: Phrases = (text("Its input "), code(beyond[0].name), text(f" already reached {already}."))
    elif known:
        why = (text(f"The largest magnitude among its inputs is {magnitude_words(max(known))}."),)
    else:
        why = (text("Its inputs were not measured."),)
    what = (*subject_phrases(subject), text(" reached "), number(reached))
    return Explanation((*what, text(f", beyond {EXPLODING_LIMIT:.3g}.")), why, RANGE.words)


_EXPLODING: Final = f"health = {GOOD} AND (max > {EXPLODING_LIMIT} OR min < -{EXPLODING_LIMIT})"

NAN_OR_INFINITY: Final = AlertRule(
    id="InfNanAlert",
    title="NaN/∞",
    severity=Severity.ERROR,
    description="The tensor has NaN, −∞ or +∞.",
    graph_executions="SELECT idx FROM bad_graph_executions",
    outputs=f"SELECT idx, slot FROM execution_outputs WHERE health = {BAD}",
    measure=lambda numbers: numbers.bad_words,
    explain=explain_bad,
)
EXPLODING: Final = AlertRule(
    id="ExplodingAlert",
    title="Exploding",
    severity=Severity.WARNING,
    description=f"The tensor is finite and has a magnitude beyond {EXPLODING_LIMIT:.3g} (FULL_NUMERICS).",
    graph_executions=f"SELECT idx FROM graph_executions WHERE {_EXPLODING}",
    outputs=f"SELECT idx, slot FROM execution_outputs WHERE {_EXPLODING}",
    measure=lambda numbers: f"magnitude {magnitude_words(numbers.largest)}",
    explain=_explain_exploding,
)

#: All rules. An alert stores the position of its rule here.
RULES: Final[tuple[AlertRule, ...]] = (NAN_OR_INFINITY, EXPLODING)
