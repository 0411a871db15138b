"""How large the results of ops can be, from the sizes and the largest magnitudes of their inputs.

A bound is computed in double precision with a margin for rounding;
it is None where the numbers do not give one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.evidence import (
    MAYBE,
    Blame,
    Check,
    Finding,
    Input,
    Inputs,
    finite_in,
)
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.values.float_formats import limit_of

#: Rounding on the way may carry a result this much farther.
_MARGIN: Final = 1.01

#: An upper bound for the magnitudes of results and partial results.
_Bound = Callable[[Inputs], "float | None"]


def limit_words(dtype: str | None) -> str:
    """Return a dtype with its limit: "float16 (up to 65,504)"; "the dtype" when it is not known."""
    limit = limit_of(dtype)
    if limit is None:
        return "the dtype"
    return f"{dtype} (up to {limit:,.0f})" if limit < 1e6 else f"{dtype} (up to {limit:.2g})"


def overflow(bound: _Bound) -> Check:
    """Make a check whether the inputs are finite, and too large for the dtype of the output.

    Args:
      bound: What the result is at most; it is refuted when that stays inside the range.
    """

    def check(inputs: Inputs, output: Numbers) -> Finding:
        finding = finite_in(inputs, output)
        limit = limit_of(output.dtype)
        reached = bound(inputs)
        if finding is None or limit is None or reached is None:
            return finding
        if reached * _MARGIN < limit:
            return None
        return finding if finding == MAYBE else tuple(blame for each in inputs for blame in _blame(each))

    return check


def _blame(input_: Input) -> list[Blame]:
    numbers = input_.numbers
    if numbers is None or numbers.low is None or numbers.high is None:
        return []
    if numbers.low == numbers.high:
        return [Blame(input_, f"the value {numbers.low:.3g}")]
    return [Blame(input_, f"values from {numbers.low:.3g} to {numbers.high:.3g}")]


def largest_of(input_: Input) -> float | None:
    """Largest magnitude of an input; None when it was not measured."""
    return None if input_.numbers is None else input_.numbers.largest


def of_one(function: Callable[[float], float], slot: int = 0) -> _Bound:
    """Return a function of the largest magnitude of an input, growing with it."""

    def bound(inputs: Inputs) -> float | None:
        largest = largest_of(inputs[slot]) if slot < len(inputs) else None
        return None if largest is None else _capped(lambda: function(largest))

    return bound


def of_all(function: Callable[..., float]) -> _Bound:
    """Return a function of the largest magnitudes of all inputs, growing with each."""

    def bound(inputs: Inputs) -> float | None:
        known = [largest for each in inputs if (largest := largest_of(each)) is not None]
        return _capped(lambda: function(*known)) if known and len(known) == len(inputs) else None

    return bound


def exponential(inputs: Inputs) -> float | None:
    """E to the largest element of the first input."""
    numbers = inputs[0].numbers if inputs else None
    high = None if numbers is None else numbers.high
    return None if high is None else _capped(lambda: math.exp(high))


def of_sum(function: Callable[[float], float] = float) -> _Bound:
    """Return the sum of a function of the elements of the first input, none of which cancel."""

    def bound(inputs: Inputs) -> float | None:
        largest, size = (largest_of(inputs[0]), inputs[0].size) if inputs else (None, None)
        return None if largest is None or size is None else _capped(lambda: size * function(largest))

    return bound


def of_products(inputs: Inputs) -> float | None:
    """Return a sum of products in which each element of one input meets each of the other once."""
    sizes = [each.size for each in inputs[:2] if each.size is not None]
    product = of_all(lambda a, b: a * b)(inputs[:2]) if len(inputs) >= 2 else None
    return None if product is None or len(sizes) < 2 else math.prod(sizes) * product


def power(inputs: Inputs) -> float | None:
    """Return the largest base to the power of the only exponent, if that is positive."""
    if len(inputs) < 2 or inputs[1].numbers is None:
        return None
    exponent, largest = inputs[1].numbers.only, largest_of(inputs[0])
    if exponent is None or largest is None or exponent <= 0:
        return None
    return _capped(lambda: math.pow(largest, exponent))


def _capped(compute: Callable[[], float]) -> float:
    try:
        return compute()
    except OverflowError:
        return math.inf
