"""Rules about what layers give: nothing but zeros, dead units, saturated ones."""

from __future__ import annotations

import math
from typing import Final

from tb_debugger_plugin.analysis.alerts.excuses import converged, excused, seldom
from tb_debugger_plugin.analysis.alerts.flows import after_dead_relu
from tb_debugger_plugin.analysis.alerts.rule import (
    IN_GRAPH,
    AlertRule,
    Find,
    Parameter,
    RuleHit,
    Severity,
    Values,
    explanation,
)
from tb_debugger_plugin.analysis.alerts.search import by_value, sites_condition
from tb_debugger_plugin.analysis.alerts.tensors import Role
from tb_debugger_plugin.analysis.diagnosis.sentences import Subject, ValueExplanation
from tb_debugger_plugin.analysis.snapshot import Snapshot

# Finds activations whose inputs are outside of the range in which they have a slope.
#
# Takes minimum, maximum, mean and variance of the input. If all elements are on one side of an end, the share
# outside is known; if all are inside, it is 0. Else it is estimated as that of normally distributed elements,
# and the hit says so.

_SLOPE: Final = 2 * math.sqrt(2 / math.pi)


def _below(end: str) -> str:
    """Return SQL for the share of normally distributed elements below an end (Page, within 2e-4)."""
    z = f"(({end} - mean) / greatest(sqrt(variance), 1e-300))"
    z = f"greatest(-8.0, least(8.0, {z}))"
    return f"1 / (1 + exp(-{_SLOPE} * ({z} + 0.044715 * {z} ** 3)))"


_SHARE: Final = (
    "CASE WHEN min >= $high OR max <= $low THEN 1.0 WHEN min > $low AND max < $high THEN 0.0"
    f" ELSE {_below('$low')} + 1 - {_below('$high')} END"
)


def saturated(role: Role) -> Find:
    """Return a search for the inputs of activations.

    Args:
      role: The inputs.
    """

    def find(snapshot: Snapshot, values: Values) -> list[RuleHit]:
        only, chosen = sites_condition(snapshot, [role])
        rows = snapshot.rows(
            f"WITH shares AS (SELECT site, idx, {_SHARE} AS share, min < $high AND max > $low AS is_estimated"
            f" FROM graph_executions WHERE {only} AND variance IS NOT NULL)"
            " SELECT min(idx), count(*), max(idx), arg_min(share, idx), arg_min(is_estimated, idx)"
            " FROM shares WHERE share >= $share GROUP BY site",
            {**chosen, **values},
        )
        return [
            RuleHit(index, IN_GRAPH, count, last, share, detail="about " if is_estimated else "")
            for index, count, last, share, is_estimated in rows
        ]

    return find


def share_words(share: float | None) -> str:
    """Return a share in percent: "99.5 %"."""
    if share is None or not math.isfinite(share):
        return "an unknown share"
    percent = share * 100
    return (
        f"{percent:.3g} %" if percent < 99.9 or percent == 100 else f"{math.floor(percent * 1000) / 1000:g} %"
    )


_PARTLY_KNOWN: Final = (
    "This is estimated from mean and variance, as of normally distributed elements; the exact share takes its"
    " values (`keep_values` or FULL_TENSOR)."
)


def _share(name: str) -> str:
    return f"{name} / nullif(size, 0)"


def _share_of(hit: RuleHit | None) -> str:
    return share_words(None if hit is None else hit.measured)


ALL_ZERO: Final = AlertRule(
    id="AllZeroAlert",
    title="All zero",
    severity=Severity.MEDIUM,
    description="The share of zeros in a gradient, or in an activation other than ReLU, reaches the limit.",
    find=excused(
        by_value(
            f"size > 0 AND {_share('zero')} >= $share", _share("zero"), roles=(Role.GRADIENT, Role.ACTIVATION)
        ),
        after_dead_relu,
        seldom,
        converged,
    ),
    words=lambda numbers, hit, values: "zeros" if hit is None else f"{_share_of(hit)} zeros",
    explain=lambda subject, hit, values: explanation(
        subject, "held zeros in", f"{_share_of(hit)} of its elements", ""
    ),
    parameters=(Parameter("share", 1.0, 0.0, 1.0, "of the elements"),),
    columns=("zero",),
    roles=(Role.GRADIENT, Role.ACTIVATION),
    recommends=(Role.GRADIENT,),
    advice="A layer that gives only zeros passes on no gradient. Look at its input, weights and bias.",
)

DEAD_RELU: Final = AlertRule(
    id="DeadReluAlert",
    title="Dead ReLU",
    severity=Severity.MEDIUM,
    description="The share of elements that a ReLU lets through is below the limit.",
    find=excused(
        by_value(f"size > 0 AND 1 - {_share('zero')} < $active", _share("zero"), roles=(Role.RELU,)), seldom
    ),
    words=lambda numbers, hit, values: "inactive" if hit is None else f"{_share_of(hit)} inactive",
    explain=lambda subject, hit, values: explanation(
        *(subject, "was 0 in", f"{_share_of(hit)} of its elements"),
        "A layer of which so little is active is dead or dying. Which of its units are dead cannot be told"
        " from counts; that takes its values (`keep_values` or FULL_TENSOR).",
    ),
    parameters=(Parameter("active", 0.01, 0.0, 1.0, "of the elements"),),
    columns=("zero",),
    roles=(Role.RELU,),
    recommends=(Role.RELU,),
    advice="Units whose input stays negative give no gradient and do not come back. A smaller learning rate,"
    " `LeakyReLU` or `ELU`, or another initialisation usually help.",
)


def _saturated(name: str, role: Role, low: Parameter, high: Parameter) -> AlertRule:
    """Return the rule for the inputs of an activation."""

    def explain(subject: Subject, hit: RuleHit | None, values: Values) -> ValueExplanation:
        about = "" if hit is None else hit.detail
        did = "goes into a saturated activation, outside of its range with"
        why = _PARTLY_KNOWN if about else "Its smallest and largest element decide that."
        return explanation(subject, did, f"{about}{_share_of(hit)}", why)

    return AlertRule(
        id=f"Saturated{name.capitalize()}Alert",
        title=f"Saturated {name}",
        severity=Severity.MEDIUM,
        description=f"The share of the inputs of a {name} that are outside of a range reaches the limit.",
        find=excused(saturated(role), seldom),
        words=lambda numbers, hit, values: (
            "saturated" if hit is None else f"{hit.detail}{_share_of(hit)} outside"
        ),
        explain=explain,
        parameters=(low, high, Parameter("share", 0.99, 0.01, 1.0, "of the elements")),
        columns=("variance",),
        roles=(role,),
        recommends=(role,),
        advice="Beyond this range the derivative is 0. Scale the inputs of the model, normalise before the"
        " activation, or use a smaller learning rate or initialisation.",
    )


SATURATED_TANH: Final = _saturated(
    "tanh", Role.TANH_INPUT, Parameter("low", -9.5, -100.0, 0.0), Parameter("high", 9.5, 0.0, 100.0)
)
SATURATED_SIGMOID: Final = _saturated(
    "sigmoid", Role.SIGMOID_INPUT, Parameter("low", -23.0, -200.0, 0.0), Parameter("high", 17.0, 0.0, 200.0)
)

RULES: Final = (ALL_ZERO, DEAD_RELU, SATURATED_TANH, SATURATED_SIGMOID)
