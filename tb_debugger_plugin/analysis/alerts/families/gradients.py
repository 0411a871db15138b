"""Rules about gradients: too small to train with, too large, or not there."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.alerts.excuses import came_down, converged, excused, seldom
from tb_debugger_plugin.analysis.alerts.flows import cancelled
from tb_debugger_plugin.analysis.alerts.history import lost_in_loops
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
        seldom,
        converged,
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

LOST_IN_LOOP: Final = AlertRule(
    id="LostInLoopAlert",
    title="Gradient lost in a loop",
    # So it is in many networks that learn well: what is late in their sequences is enough for them. It is
    # medium beside a loss that does not fall.
    severity=Severity.LOW,
    description="What a loop carries back of a gradient becomes, turn by turn, too small beside its largest"
    " to change a sum in float32.",
    find=lost_in_loops,
    words=lambda numbers, hit, values: "lost" if hit is None else f"× {magnitude_of(hit)} {hit.detail}",
    explain=lambda subject, hit, values: explanation(
        *(subject, "goes back through the turns of a loop; of its largest magnitude there is left"),
        f"{magnitude_of(hit)} {hit.detail if hit else ''}".rstrip(),
        "The variables of the loop add up the gradients of all turns. What the first elements of a sequence"
        " tell is not seen in the sum, so they are hardly learned from.",
    ),
    # 2 ** -24: what is smaller changes no sum of float32.
    parameters=(Parameter("limit", 6e-8, 1e-38, 1.0, scale="log", source="this plugin"),),
    columns=("variance",),
    roles=(Role.CARRIED_GRADIENT,),
    recommends=(Role.CARRIED_GRADIENT,),
    advice="If what is early in a sequence matters: an LSTM or GRU in place of a simple RNN, an orthogonal"
    " recurrent initialiser, shorter sequences, attention, or a mask for padding (`mask_zero=True`).",
)

RULES: Final = (VANISHING, LARGE, LOST_IN_LOOP)
