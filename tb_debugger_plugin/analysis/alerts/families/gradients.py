"""Rules about gradients: too small to train with, too large, or not there."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.alerts.excuses import came_down, converged, excused, seldom
from tb_debugger_plugin.analysis.alerts.flows import cancelled
from tb_debugger_plugin.analysis.alerts.rule import (
    AlertRule,
    Parameter,
    Severity,
    explanation,
    magnitude_of,
    magnitude_words,
)
from tb_debugger_plugin.analysis.alerts.search import LARGEST, RMS, by_value
from tb_debugger_plugin.analysis.alerts.tensors import Role
from tb_debugger_plugin.index.tensors import GOOD

VANISHING: Final = AlertRule(
    id="VanishingGradientAlert",
    title="Vanishing gradient",
    severity=Severity.MEDIUM,
    description="The mean magnitude of a gradient is below the limit, but not all of it is zero.",
    # The mean of the magnitudes is not recorded; the root mean square is never below it.
    find=excused(
        by_value(f"health = {GOOD} AND zero < size AND {RMS} < $limit", RMS, roles=(Role.GRADIENT,)),
        cancelled,
        converged,
        seldom,
    ),
    words=lambda numbers, hit, values: (
        "vanishing" if hit is None else f"mean magnitude ≤ {magnitude_words(hit.measured)}"
    ),
    explain=lambda subject, hit, values: explanation(
        *(subject, "has a mean magnitude of at most", magnitude_of(hit)),
        f"Its mean magnitude is at most the root of its mean square, which is below {values['limit']:g}.",
    ),
    parameters=(Parameter("limit", 1e-7, 1e-30, 1.0, scale="log"),),
    columns=("variance",),
    roles=(Role.GRADIENT,),
    recommends=(Role.GRADIENT,),
    advice="Layers before this one hardly learn. ReLU in place of sigmoid or tanh, normalisation, residual"
    " connections, or another initialisation usually help; in float16, a loss scale.",
)

LARGE: Final = AlertRule(
    id="LargeGradientAlert",
    title="Large gradient",
    severity=Severity.MEDIUM,
    description="The largest magnitude of a gradient is beyond the limit.",
    find=excused(by_value(f"{LARGEST} > $limit", LARGEST, roles=(Role.GRADIENT,)), came_down),
    words=lambda numbers, hit, values: f"magnitude {magnitude_words(numbers.largest)}",
    explain=lambda subject, hit, values: explanation(
        subject, "reached", magnitude_words(subject.output.largest), f"The limit is {values['limit']:g}."
    ),
    parameters=(Parameter("limit", 1e3, 1e-10, 1e30, scale="log", source="the user"),),
    columns=("max",),
    roles=(Role.GRADIENT,),
    advice="A smaller learning rate, or gradients that are clipped (`clipnorm=1.0` of a Keras optimizer),"
    " usually help. Look for outliers in the batch.",
)

RULES: Final = (VANISHING, LARGE)
