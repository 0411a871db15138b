"""Says what swallowed a bad value, and what that made of it.

Takes what took a value; returns sentences for findings, and for values that the table expects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tb_debugger_plugin.analysis.origins import op_kinds
from tb_debugger_plugin.analysis.origins.takers import Taking
from tb_debugger_plugin.events.tensorflow_names import display_name

_MAX_NAMED: Final = 3
_SATURATED: Final = frozenset(
    "Sigmoid Tanh Erf Erfc Atan Softsign Sign Elu Selu Softplus HardSigmoid Relu6".split()
)
_CHOOSING: Final = frozenset("ArgMax ArgMin TopK TopKV2 ApproxTopK NthElement InTopK InTopKV2".split())
_TEXT: Final = frozenset({"AsString", "StringFormat"})


def swallowed_words(takings: Iterable[Taking]) -> str:
    """Return the sentences of a finding: what took the value, what that made of it, and what that decided."""
    told = dict.fromkeys(map(_sentence, takings))
    return " ".join(["No result shows it.", *list(told)[:_MAX_NAMED]])


def expected_words(takings: Iterable[Taking], *, is_written: bool) -> str:
    """Return the sentences for a value that the table expects; empty if nothing on record took it."""
    rows = dict.fromkeys(taking.row(is_written=is_written) for taking in takings)
    named = [row.words.replace("`", "") for row in rows if row is not None]
    return f"It is expected: {'; '.join(named[:_MAX_NAMED])}." if named else ""


def unmeasured(takings: Iterable[Taking]) -> list[str]:
    """Return the ops that took a value and whose output is not on record."""
    return list(dict.fromkeys(display_name(each.taker) for each in takings if not each.is_measured))


def _sentence(taking: Taking) -> str:
    name = display_name(taking.taker)
    if not taking.is_measured:
        return f"{name} took it, and what it made of it is not on record."
    decided = f", which {taking.decided}" if taking.decided else ""
    return f"{name}: {_effect(taking)}{decided}."


def _effect(taking: Taking) -> str:
    is_nan = "nan" in taking.elements
    kind = "NaN" if is_nan else "infinity"
    taker = taking.taker
    if taker == "Cast":
        return f"the integer of {'a NaN' if is_nan else 'an infinity'} is undefined"
    if taker == "NotEqual":
        return "each number is unequal to NaN"
    if taker in _CHOOSING:
        return f"what it chooses among {kind} is arbitrary"
    if taker in op_kinds.COMPARING:
        return "a comparison with NaN is false"
    if taker in _SATURATED:
        return f"it saturated at {kind}"
    if taker in op_kinds.DIVISORS:
        return f"a division by {kind} gives 0"
    if taker in op_kinds.SHOWING | _TEXT:
        return f"it shows {kind}"
    return f"it made finite values of {kind}"
