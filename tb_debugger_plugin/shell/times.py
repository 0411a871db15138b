"""Times and intervals of times, as users write and read them."""

from __future__ import annotations

import math
import re
import time
from typing import Final, NamedTuple

from tb_debugger_plugin.errors import UsageError

#: Microseconds of each unit.
UNITS: Final = {"us": 1, "ms": 1_000, "s": 1_000_000}

_TIME: Final = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*(us|ms|s)?\s*")
_SIGNS: Final = ("<=", "<", ">=", ">")


class Interval(NamedTuple):
    """An interval of times in microseconds.

    Attributes:
      begin: Where it begins.
      has_begin: Whether it includes the beginning.
      end: Where it ends.
      has_end: Whether it includes the end.
    """

    begin: float
    has_begin: bool
    end: float
    has_end: bool

    def has(self, micros: float) -> bool:
        """Whether a time is in the interval."""
        above = micros >= self.begin if self.has_begin else micros > self.begin
        below = micros <= self.end if self.has_end else micros < self.end
        return above and below


def parse_interval(text: str) -> Interval:
    """Parse ``>100ms``, ``<=3s`` or ``[100us, 2ms)``; a time without a unit is in microseconds.

    Raises:
      UsageError: The text has another form, or the interval ends before it begins.
    """
    plain = text.strip()
    for sign in _SIGNS:
        if plain.startswith(sign):
            bound = _micros(plain[len(sign) :], text)
            if sign[0] == "<":
                return Interval(0, True, bound, sign == "<=")
            return Interval(bound, sign == ">=", math.inf, False)
    bounds = plain[1:-1].split(",")
    if plain[:1] not in ("[", "(") or plain[-1:] not in ("]", ")") or len(bounds) != 2:
        raise _no_interval(text)
    begin, end = (_micros(bound, text) for bound in bounds)
    if begin > end:
        raise UsageError(f"The interval {text} ends before it begins.")
    return Interval(begin, plain[0] == "[", end, plain[-1] == "]")


def _micros(text: str, whole: str) -> float:
    match = _TIME.fullmatch(text)
    if match is None:
        raise _no_interval(whole)
    return float(match[1]) * UNITS[match[2] or "us"]


def _no_interval(text: str) -> UsageError:
    return UsageError(f"{text!r} is no interval of times: write '>100ms', '<=3s' or '[100us, 2ms]'.")


def in_unit(micros: float, unit: str) -> str:
    """Returns a time in a unit, with at most three decimals, such as ``1.5ms``; ``0`` if there is none."""
    number = f"{micros / UNITS[unit]:.3f}".rstrip("0").rstrip(".")
    return f"{number}{unit}" if micros else "0"


def date_of(seconds: float) -> str:
    """Returns a time since the epoch as date and time here; a damaged recording may have any number."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s"


def check_unit(unit: str) -> str:
    """Returns a unit.

    Raises:
      UsageError: There is no such unit.
    """
    if unit not in UNITS:
        raise UsageError(f"There is no time unit {unit!r}: choose one of {', '.join(UNITS)}.")
    return unit
