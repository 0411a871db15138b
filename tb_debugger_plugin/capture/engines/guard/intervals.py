"""Bounds of what ops compute, by the bounds of what they take: interval arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final, NamedTuple

#: What nothing may exceed: float32 and bfloat16 end at 2^128.
_MOST = 2.0**126


class Interval(NamedTuple):
    """Bounds of all elements of a tensor."""

    low: float
    high: float


class NotProvenError(Exception):
    """Something may be bad although nothing was that went into the updates."""


def bounded(interval: Interval) -> Interval:
    """Return the same; raise NotProvenError if a number of it may overflow."""
    if not (-_MOST <= interval.low <= interval.high <= _MOST):  # not with NaN, either
        raise NotProvenError
    return interval


def negative(one: Interval) -> Interval:
    """Return the bounds of the same with the other sign."""
    return Interval(-one.high, -one.low)


def total(*intervals: Interval) -> Interval:
    """Return the bounds of sums."""
    return Interval(sum(one.low for one in intervals), sum(one.high for one in intervals))


def _difference(one: Interval, other: Interval) -> Interval:
    return total(one, negative(other))


def product(one: Interval, other: Interval) -> Interval:
    """Return the bounds of products."""
    corners = [first * second for first, second in itertools.product(one, other)]
    return Interval(min(corners), max(corners))


def _quotient(one: Interval, other: Interval) -> Interval:
    if other.low <= 0 <= other.high:
        raise NotProvenError
    return product(one, Interval(1 / other.high, 1 / other.low))


def _square(one: Interval) -> Interval:
    return Interval(0.0, max(one.low**2, one.high**2))


def _root(one: Interval) -> Interval:
    if one.low < 0:
        raise NotProvenError
    return Interval(one.low**0.5, one.high**0.5)


def _reciprocal_root(one: Interval) -> Interval:
    return _quotient(Interval(1.0, 1.0), _root(one))


def same(one: Interval, *_: Interval) -> Interval:
    """Return the bounds of the first input, of ops that only move elements."""
    return one


def union(*intervals: Interval) -> Interval:
    """Return bounds of what has one of several."""
    return Interval(min(one.low for one in intervals), max(one.high for one in intervals))


#: What ops give, by the bounds of their inputs.
RULES: Final[dict[str, Callable[..., Interval]]] = {
    **dict.fromkeys(("BroadcastTo", "Cast", "Tile"), same),
    **dict.fromkeys(("Add", "AddN", "AddV2"), total),
    "Sub": _difference,
    "Mul": product,
    "RealDiv": _quotient,
    "Neg": negative,
    "Abs": lambda one: Interval(0.0, max(-one.low, one.high)),
    "Sign": lambda one: Interval(-1.0, 1.0),
    "Square": _square,
    "Sqrt": _root,
    "Rsqrt": _reciprocal_root,
    "Maximum": lambda one, other: Interval(max(one.low, other.low), max(one.high, other.high)),
    "Minimum": lambda one, other: Interval(min(one.low, other.low), min(one.high, other.high)),
    **dict.fromkeys(("Select", "SelectV2"), lambda condition, one, other: union(one, other)),
}
#: Those that need an input that is not negative, and those whose result is not.
ROOTS: Final = ("Sqrt", "Rsqrt")
NOT_NEGATIVE: Final = ("Abs", "Sqrt", "Square")
