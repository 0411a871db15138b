"""`capture/engines/guard/intervals.py`: what ops compute of numbers in bounds is in bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tb_debugger_plugin.capture.engines.guard.intervals import RULES, Interval, NotProvenError, bounded

#: What each op computes; those that only move elements are left out.
COMPUTED: dict[str, Callable[..., np.ndarray]] = {
    "Add": np.add,
    "AddN": lambda *numbers: np.sum(numbers, axis=0),
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "RealDiv": np.divide,
    "Neg": np.negative,
    "Abs": np.abs,
    "Sign": np.sign,
    "Square": np.square,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: 1 / np.sqrt(x),
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Select": np.where,
    "SelectV2": np.where,
}
ENDS = (-(2.0**40), -3.0, -1e-3, 0.0, 1e-7, 2.0, 2.0**40)


@pytest.mark.parametrize("op", COMPUTED)
def test_results_are_in_bounds_and_finite(op: str) -> None:
    random = np.random.default_rng(0)
    number = {"Select": 3, "SelectV2": 3, "AddN": 3, "Neg": 1, "Abs": 1, "Sign": 1, "Square": 1}.get(op, 2)
    number = 1 if op in ("Sqrt", "Rsqrt") else number
    proven = 0
    for _ in range(300):
        given = [Interval(*sorted(random.choice(ENDS, 2))) for _ in range(number)]
        try:
            low, high = bounded(RULES[op](*given))
        except (NotProvenError, ZeroDivisionError):
            continue
        proven += 1
        numbers = [np.r_[one, random.uniform(*one, 50)] for one in given]
        if "Select" in op:
            numbers[0] = random.integers(0, 2, 52).astype(bool)
        found = COMPUTED[op](*(random.permutation(each) for each in numbers))
        assert np.isfinite(found).all()
        rounding = 1e-9 * max(abs(low), abs(high))
        assert (found >= low - rounding).all() and (found <= high + rounding).all()
    assert proven > 20


@pytest.mark.parametrize(
    ("op", "given"),
    [
        ("RealDiv", [Interval(1, 1), Interval(-1, 1)]),
        ("Sqrt", [Interval(-1e-9, 1)]),
        ("Rsqrt", [Interval(0, 1)]),
        ("Square", [Interval(0, 2.0**64)]),
        ("RealDiv", [Interval(1, 1), Interval(0, 1)]),
    ],
)
def test_what_may_overflow_is_not_proven(op: str, given: list[Interval]) -> None:
    with pytest.raises(NotProvenError):
        bounded(RULES[op](*given))
