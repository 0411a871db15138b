"""Rules about narrow dtypes: values near the largest number, or below the smallest; updates that are lost.

The limits are those of the dtype of the tensor, or of one that the user is about to use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Final

from tb_debugger_plugin.analysis.alerts.excuses import converged, excused, seldom
from tb_debugger_plugin.analysis.alerts.flows import added, cancelled, constants, of_loss_scaling
from tb_debugger_plugin.analysis.alerts.history import lost_updates
from tb_debugger_plugin.analysis.alerts.rule import (
    AlertRule,
    Find,
    Parameter,
    RuleHit,
    Severity,
    Values,
    explanation,
    magnitude_of,
    magnitude_words,
)
from tb_debugger_plugin.analysis.alerts.search import LARGEST, by_value, without
from tb_debugger_plugin.analysis.alerts.tensors import Role
from tb_debugger_plugin.analysis.diagnosis.sentences import Subject, ValueExplanation
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.analysis.values.float_formats import FORMATS
from tb_debugger_plugin.events.dtypes import NUMBER_OF

#: The dtypes whose limits programs meet.
_NARROW: Final = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
#: The tensor's own dtype, if it is one of :data:`_NARROW`.
_OWN: Final = "own"
_DTYPE: Final = Parameter("dtype", _OWN, scale="choice", choices=(_OWN, *_NARROW), source="this plugin")
_FLOATS: Final = (*_NARROW, "float32", "float64")


@remembered(Snapshot.remember)
def _own_dtypes(snapshot: Snapshot) -> list[str]:
    """Return those of :data:`_NARROW` that tensors of the run have."""
    query = "SELECT DISTINCT dtype FROM graph_executions UNION SELECT DISTINCT dtype FROM execution_outputs"
    found = {number for (number,) in snapshot.rows(query)}
    return [name for name in _NARROW if NUMBER_OF[name] in found]


def _of_dtype(where: str, measured: str, leaves_out: Callable[..., Collection[int]] | None = None) -> Find:
    """Return a search whose condition says ``$largest`` and ``$smallest`` of the dtype in question."""

    def find(snapshot: Snapshot, values: Values) -> list[RuleHit]:
        hits: list[RuleHit] = []
        for name in _own_dtypes(snapshot) if values["dtype"] == _OWN else [str(values["dtype"])]:
            # A dtype of its own, or any floating one that is to be replaced.
            numbers = _numbers([name] if values["dtype"] == _OWN else _FLOATS)
            limits = {"largest": FORMATS[name].largest, "smallest": FORMATS[name].smallest_normal}
            of_dtype = f"dtype IN ({numbers}) AND {where}"
            search = by_value(of_dtype, measured)
            if leaves_out is not None:
                search = without(partial(leaves_out, where=of_dtype), search)
            hits += search(snapshot, {**values, **limits})
        return hits

    return find


def _numbers(names: Iterable[str]) -> str:
    return ", ".join(str(NUMBER_OF[name]) for name in names if name in NUMBER_OF)


def _dtype_words(subject: Subject, values: Values) -> str:
    return str(values["dtype"]) if values["dtype"] != _OWN else subject.output.dtype or "its dtype"


def _bits(hit: RuleHit | None) -> str:
    if hit is None or hit.measured is None or not math.isfinite(hit.measured):
        return "few"
    return f"{hit.measured:.1f}"


def _explain_headroom(subject: Subject, hit: RuleHit | None, values: Values) -> ValueExplanation:
    reached, name = magnitude_words(subject.output.largest), _dtype_words(subject, values)
    largest = FORMATS[name].largest if name in FORMATS else math.nan
    why = f"The largest number of {name} is {largest:.5g}: {_bits(hit)} powers of two are left."
    return explanation(subject, "reached", reached, why)


HEADROOM: Final = AlertRule(
    id="OverflowHeadroomAlert",
    title="Near overflow",
    severity=Severity.MEDIUM,
    description="Few powers of two are left from the largest magnitude of the tensor to that of its dtype.",
    find=excused(
        _of_dtype(
            f"{LARGEST} > 0 AND log2($largest / {LARGEST}) < $bits",
            f"log2($largest / {LARGEST})",
            constants,
        ),
        of_loss_scaling,
        seldom,
    ),
    words=lambda numbers, hit, values: f"{_bits(hit)} bits of headroom",
    explain=_explain_headroom,
    parameters=(Parameter("bits", 2.0, 0.0, 16.0, "powers of two"), _DTYPE),
    columns=("max",),
    recommends=(),
    advice='Keep this layer in float32 (`dtype="float32"`), scale its values, or use bfloat16, which has the'
    " range of float32.",
)


def _explain_underflow(subject: Subject, hit: RuleHit | None, values: Values) -> ValueExplanation:
    name = _dtype_words(subject, values)
    smallest = FORMATS[name].smallest_normal if name in FORMATS else math.nan
    why = f"All is below the smallest normal number of {name}, {smallest:.3g}: it loses bits or is 0."
    return explanation(subject, "has no magnitude above", magnitude_words(subject.output.largest), why)


UNDERFLOW: Final = AlertRule(
    id="UnderflowAlert",
    title="Underflow",
    severity=Severity.MEDIUM,
    description="Every element that is not 0 is below the smallest normal number of the dtype.",
    find=excused(
        _of_dtype(f"{LARGEST} > 0 AND {LARGEST} < $smallest", LARGEST), cancelled, added, seldom, converged
    ),
    words=lambda numbers, hit, values: f"magnitude {magnitude_words(numbers.largest)}",
    explain=_explain_underflow,
    parameters=(_DTYPE,),
    columns=("max",),
    recommends=(),
    advice="A loss scale, or this layer in float32, keeps such values. bfloat16 has the range of float32.",
)


def _explain_lost(subject: Subject, hit: RuleHit | None, values: Values) -> ValueExplanation:
    did = "is an update whose norm, over that of its variable, is"
    if hit is None or hit.detail not in FORMATS:
        return explanation(subject, did, magnitude_of(hit), "")
    least = FORMATS[hit.detail].spacing / 4
    why = (
        f"A number of {hit.detail} stays as it is when less than {least:.2g} of it is added: rounding loses"
        " most of this update, in each step anew."
    )
    return explanation(subject, did, magnitude_of(hit), why)


LOST_UPDATE: Final = AlertRule(
    id="LostUpdateAlert",
    title="Lost update",
    severity=Severity.MEDIUM,
    description="In most steps, the update of a matrix is so small beside it that rounding to its dtype loses"
    " most of it.",
    find=excused(lost_updates, converged),
    words=lambda numbers, hit, values: (
        "lost" if hit is None else f"update / variable {magnitude_of(hit)} in {hit.detail}"
    ),
    explain=_explain_lost,
    # Half of the elements lose an update that, beside them, is a quarter of the distance from 1 to the next
    # number: numbers that are up to twice as large have the same distance.
    parameters=(Parameter("share", 0.25, 0.01, 1.0, "of the spacing of numbers", source="this plugin"),),
    columns=("variance",),
    roles=(Role.UPDATE,),
    recommends=(Role.UPDATE, Role.WEIGHT),
    advice="Keep the variables in float32 and compute in the narrow dtype, as Keras's `mixed_bfloat16` does."
    " A larger learning rate helps only while the training bears it.",
)

RULES: Final = (HEADROOM, UNDERFLOW, LOST_UPDATE)
