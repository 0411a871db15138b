"""`live/program/postfix.py`: a condition in postfix notation holds when Python says so of its text."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.live.program.conditions import NAMES, parse_condition
from tb_debugger_plugin.live.program.postfix import COLUMNS

_numbers = st.one_of(st.sampled_from(NAMES), st.integers(0, 9).map(str), st.just("0.5"))


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(("+", "-", "*")), inner)
    return st.one_of(pair.map(lambda parts: f"({' '.join(parts)})"), inner.map(lambda one: f"-{one}"))


_values = st.recursive(_numbers, _combined, max_leaves=4)
_signs = st.sampled_from(("<", "<=", ">", ">=", "==", "!="))
_comparisons = st.one_of(
    st.tuples(_values, _signs, _values).map(" ".join),
    st.tuples(_values, _signs, _values, _signs, _values).map(" ".join),
)


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(("and", "or")), inner)
    return st.one_of(pair.map(lambda parts: f"({' '.join(parts)})"), inner.map(lambda one: f"(not ({one}))"))


conditions = st.recursive(_comparisons, _joined, max_leaves=4)
_counts = st.integers(0, 3).map(float)
_moments = st.one_of(st.floats(-4, 4), st.sampled_from((math.nan, math.inf, 0.0, -0.0, 1.0)))
tensors = st.fixed_dictionaries(
    {name: _moments if name in ("min", "max", "mean", "var") else _counts for name in COLUMNS}
)


def _python(text: str, numbers: dict[str, float]) -> bool:
    names = dict(numbers)
    names["inf"] = names["ninf"] + names["pinf"]
    names["bad"] = names["inf"] + names["nan"]
    names["std"] = math.sqrt(names["var"]) if names["var"] >= 0 else math.nan
    names["range"] = names["max"] - names["min"]
    return bool(eval(text, {"__builtins__": {}}, names))  # the text is that of `conditions`


@settings(max_examples=400, deadline=None)
@given(conditions, tensors)
def test_a_condition_holds_when_python_says_so(text, numbers):
    try:
        condition = parse_condition(text)
    except UsageError as error:
        assert "too long" in str(error)
        return
    assert condition.holds(numbers) is _python(text, numbers)
    if condition.only_bad:
        assert not condition.holds({**numbers, "ninf": 0.0, "pinf": 0.0, "nan": 0.0})
