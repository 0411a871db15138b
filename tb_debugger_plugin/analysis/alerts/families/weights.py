"""Rules about trained variables: how they start, how they change, whether they change."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.alerts.excuses import changed, excused
from tb_debugger_plugin.analysis.alerts.flows import without_gradient
from tb_debugger_plugin.analysis.alerts.history import (
    first_steps,
    large_updates,
    small_updates,
    unchanged,
    uneven_starts,
)
from tb_debugger_plugin.analysis.alerts.rule import AlertRule, Parameter, Severity, explanation, magnitude_of
from tb_debugger_plugin.analysis.alerts.search import by_value
from tb_debugger_plugin.analysis.alerts.tensors import Role

_UPDATES: Final = "is an update whose norm, over that of its variable, is"

INITIALISATION: Final = AlertRule(
    id="InitialisationAlert",
    title="Poor initialisation",
    severity=Severity.LOW,
    description="Of the first values of the matrices, the largest variance over the smallest is too large.",
    find=uneven_starts,
    words=lambda numbers, hit, values: f"variances × {magnitude_of(hit)}",
    explain=lambda subject, hit, values: explanation(
        *(subject, "starts with a variance that is out of line: largest over smallest is", magnitude_of(hit)),
        "This is the matrix that is furthest from the others.",
    ),
    parameters=(Parameter("ratio", 10.0, 1.0, 1e6, "times", "log"),),
    columns=("variance",),
    roles=(Role.WEIGHT,),
    recommends=(Role.WEIGHT,),
    advice="Layers that start this differently learn at different speeds. Use the same kind of initialiser"
    " for all, such as Keras's default `glorot_uniform`, and scale the inputs.",
    has_groups=False,
)


LARGE_UPDATE: Final = AlertRule(
    id="LargeUpdateAlert",
    title="Large update",
    severity=Severity.MEDIUM,
    description="The norm of the update of a matrix, over the norm of the matrix, is above the limit.",
    find=excused(large_updates, first_steps),
    words=lambda numbers, hit, values: f"update / variable {magnitude_of(hit)}",
    explain=lambda subject, hit, values: explanation(
        subject, _UPDATES, magnitude_of(hit), f"It should stay below {values['limit']:g}."
    ),
    parameters=(Parameter("limit", 0.1, 1e-6, 1e3, scale="log"),),
    columns=("variance",),
    roles=(Role.UPDATE,),
    recommends=(Role.UPDATE, Role.WEIGHT),
    advice="The variable changes much in one step. A smaller learning rate or a warm-up usually helps.",
)
SMALL_UPDATE: Final = AlertRule(
    id="SmallUpdateAlert",
    title="Small update",
    severity=Severity.LOW,
    description="The norm of the update of a matrix, over the norm of the matrix, is below the limit.",
    find=small_updates,
    words=lambda numbers, hit, values: f"update / variable {magnitude_of(hit)}",
    explain=lambda subject, hit, values: explanation(
        subject, _UPDATES, magnitude_of(hit), f"It should be above {values['limit']:g}."
    ),
    parameters=(Parameter("limit", 1e-4, 1e-12, 1.0, scale="log"),),
    columns=("variance",),
    roles=(Role.UPDATE,),
    recommends=(Role.UPDATE, Role.WEIGHT),
    advice="The variable hardly changes. A larger learning rate, or a look at the gradients before this"
    " layer, usually helps.",
)


UNCHANGED: Final = AlertRule(
    id="UnchangedAlert",
    title="Unchanged",
    severity=Severity.MEDIUM,
    description="A trained variable is equal for some steps in a row.",
    find=excused(unchanged, changed, without_gradient),
    words=lambda numbers, hit, values: f"equal {values['steps']:g} times",
    explain=lambda subject, hit, values: explanation(
        *(subject, "was the same", f"{values['steps']:g} times in a row"),
        "Its smallest and largest element, mean and variance are equal within the tolerance.",
    ),
    parameters=(
        Parameter("steps", 3, 2, 1000, "values", "log", is_whole=True),
        Parameter("rtol", 1e-5, 0.0, 1.0),
        Parameter("atol", 1e-8, 0.0, 1.0),
    ),
    columns=("variance",),
    roles=(Role.WEIGHT,),
    recommends=(Role.WEIGHT, Role.GRADIENT),
    advice="The variable is read while gradients are computed, and does not change. Check that the optimizer"
    " gets it, that its gradient is not 0 or skipped, and that the learning rate is not 0.",
)


VARIANCE: Final = AlertRule(
    id="VarianceAlert",
    title="Variance",
    severity=Severity.LOW,
    description="The variance of a tensor with several elements is below or above the limits.",
    find=by_value("size > 1 AND (variance > $above OR variance < $below)", "variance"),
    words=lambda numbers, hit, values: f"variance {magnitude_of(hit)}",
    explain=lambda subject, hit, values: explanation(
        *(subject, "has a variance of", magnitude_of(hit)),
        f"It should be from {values['below']:g} to {values['above']:g}.",
    ),
    parameters=(
        Parameter("above", 1e6, 0.0, 1e30, scale="linear", source="the user"),
        Parameter("below", 0.0, 0.0, 1e10, scale="linear", source="the user"),
    ),
    columns=("variance",),
    has_groups=False,
)

RULES: Final = (INITIALISATION, LARGE_UPDATE, SMALL_UPDATE, UNCHANGED, VARIANCE)
