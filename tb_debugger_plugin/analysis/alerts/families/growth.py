"""Rules about tensors that become too large: at once, or over steps."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.alerts.excuses import came_down, excused
from tb_debugger_plugin.analysis.alerts.flows import constants
from tb_debugger_plugin.analysis.alerts.history import growing
from tb_debugger_plugin.analysis.alerts.rule import (
    AlertRule,
    Parameter,
    RuleHit,
    Severity,
    Values,
    explanation,
    magnitude_words,
)
from tb_debugger_plugin.analysis.alerts.search import INTEGERS, LARGEST, by_value, without
from tb_debugger_plugin.analysis.alerts.tensors import Role
from tb_debugger_plugin.analysis.diagnosis.advice import RANGE
from tb_debugger_plugin.analysis.diagnosis.phrases import Phrases, code, number, text
from tb_debugger_plugin.analysis.diagnosis.sentences import Subject, ValueExplanation, subject_phrases
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.index.tensors import GOOD

#: From this magnitude on, a finite value is called exploding.
EXPLODING_LIMIT: Final = 1e10
# Integers are hashes, seeds and times.
_EXPLODING: Final = f"health = {GOOD} AND (max > $limit OR min < -$limit) AND dtype NOT IN ({INTEGERS})"


def _masks(snapshot: Snapshot, values: Values) -> set[int]:
    return constants(snapshot, values, _EXPLODING)


def _explain_exploding(subject: Subject, hit: RuleHit | None, values: Values) -> ValueExplanation:
    limit = float(values["limit"])
    reached = magnitude_words(subject.output.largest)
    largest = [each.numbers.largest for each in subject.inputs if each.numbers is not None]
    known = [value for value in largest if value is not None]
    beyond = [
        each for each in subject.inputs if each.numbers is not None and (each.numbers.largest or 0) > limit
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
    return ValueExplanation((*what, text(f", beyond {limit:.3g}.")), why, None)


EXPLODING: Final = AlertRule(
    id="ExplodingAlert",
    title="Exploding",
    severity=Severity.HIGH,
    description="The tensor is finite and has a magnitude beyond the limit, not that of a constant or mask.",
    find=without(_masks, by_value(_EXPLODING, LARGEST)),
    words=lambda numbers, hit, values: f"magnitude {magnitude_words(numbers.largest)}",
    explain=_explain_exploding,
    parameters=(Parameter("limit", EXPLODING_LIMIT, 1.0, 1e38, scale="log"),),
    columns=("max",),
    recommends=(),
    advice=RANGE.words,
    every=_EXPLODING,
    leaves_out=_masks,
)

GROWING: Final = AlertRule(
    id="GrowingAlert",
    title="Growing",
    severity=Severity.HIGH,
    description="The norm of a gradient or trained variable grows steadily, by a factor within some steps.",
    find=excused(growing, came_down),
    words=lambda numbers, hit, values: (
        "growing" if hit is None else f"norm × {magnitude_words(hit.measured)}"
    ),
    explain=lambda subject, hit, values: explanation(
        *(subject, f"has a norm that within {values['steps']:g} of its values grew"),
        "" if hit is None or hit.measured is None else f"{hit.measured:.3g} times",
        "Values that grow step by step end in infinity.",
    ),
    parameters=(
        Parameter("factor", 10.0, 1.1, 1e6, "times", "log"),
        Parameter("steps", 10, 1, 1000, "values", "log", is_whole=True),
        Parameter("above", 1.0, 0.0, 1e10, scale="linear", source="this plugin"),
    ),
    columns=("variance",),
    roles=(Role.GRADIENT, Role.WEIGHT),
    recommends=(Role.GRADIENT,),
    advice="A norm that grows like this ends in infinity. A smaller learning rate, a warm-up, or gradients"
    " that are clipped (`clipnorm=1.0` of a Keras optimizer) usually help.",
)

RULES: Final = (EXPLODING, GROWING)
