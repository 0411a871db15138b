"""Random conditions of breakpoints, and random numbers of tensors."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from tb_debugger_plugin.events.gate_table import NUMBERS
from tb_debugger_plugin.live.program.conditions import NAMES

#: The step and the call of the program.
PROGRAM = {"step": 3.0, "call": 0.0}
_numbers = st.one_of(st.sampled_from(NAMES), st.integers(0, 9).map(str), st.just("0.5"))


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(("+", "-", "*")), inner)
    rest = st.tuples(inner, st.integers(1, 9)).map(lambda parts: f"({parts[0]} % {parts[1]})")
    return st.one_of(pair.map(lambda parts: f"({' '.join(parts)})"), inner.map(lambda one: f"-{one}"), rest)


_values = st.recursive(_numbers, _combined, max_leaves=4)
_signs = st.sampled_from(("<", "<=", ">", ">=", "==", "!="))
_comparisons = st.one_of(
    st.tuples(_values, _signs, _values).map(" ".join),
    st.tuples(_values, _signs, _values, _signs, _values).map(" ".join),
)


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(("and", "or")), inner)
    return st.one_of(pair.map(lambda parts: f"({' '.join(parts)})"), inner.map(lambda one: f"(not ({one}))"))


#: Texts of conditions.
conditions = st.recursive(_comparisons, _joined, max_leaves=4)
_counts = st.integers(0, 3).map(float)
_moments = st.one_of(st.floats(-4, 4), st.sampled_from((math.nan, math.inf, 0.0, -0.0, 1.0)))
#: Numbers of tensors, by name.
tensors = st.fixed_dictionaries(
    {name: _moments if name in ("min", "max", "mean", "var") else _counts for name in NUMBERS}
)
