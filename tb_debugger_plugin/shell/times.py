"""Times, numbers of bytes, and intervals of them, as users write and read them."""

from __future__ import annotations

import math
import re
import time
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import UsageError


def first_moment(snapshot: Snapshot, otherwise: float) -> float:
    """Return when the first tensor of a graph was computed.

    Args:
      snapshot: The run.
      otherwise: What is returned where there is none.

    Returns:
      Seconds since the epoch.
    """
    rows = snapshot.rows("SELECT wall_time FROM graph_executions WHERE idx = 0")
    return float(rows[0][0]) if rows else otherwise


def byte_text(count: int | None) -> str:
    """Return a number of bytes as tfdbg prints it, such as ``160``, ``1.50k`` or ``2.00M``.

    Args:
      count: The number; None if it is not known.
    """
    if count is None:
        return "?"
    for letter, size in reversed(BYTE_UNITS.items()):
        if letter and count >= size:
            return f"{count / size:.2f}{letter}"
    return str(count)


#: Microseconds of each unit.
UNITS: Final = {"us": 1, "ms": 1_000, "s": 1_000_000}

#: Bytes of each unit.
BYTE_UNITS: Final = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}

_NUMBER: Final = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([a-zA-Z]*)\s*")
_SIGNS: Final = ("<=", "<", ">=", ">")


class Interval(NamedTuple):
    """An interval of times in microseconds, or of bytes.

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

    def has(self, number: float) -> bool:
        """Whether a number is in the interval."""
        above = number >= self.begin if self.has_begin else number > self.begin
        below = number <= self.end if self.has_end else number < self.end
        return above and below


class _Kind(NamedTuple):
    """What an interval is of.

    Attributes:
      units: The size of each unit.
      plain: The unit of a number without one.
      advice: What the user should write instead of a text that is none.
    """

    units: dict[str, int]
    plain: str
    advice: str


_TIMES: Final = _Kind(UNITS, "us", "no interval of times: write '>100ms', '<=3s' or '[100us, 2ms]'.")
_BYTES: Final = _Kind(BYTE_UNITS, "", "no interval of sizes: write '>100k', '<=3M' or '[2k, 6k]'.")


def parse_interval(text: str) -> Interval:
    """Parse ``>100ms``, ``<=3s`` or ``[100us, 2ms)``; a time without a unit is in microseconds.

    Raises:
      UsageError: The text has another form, or the interval ends before it begins.
    """
    return _parse(text, _TIMES)


def parse_byte_interval(text: str) -> Interval:
    """Parse ``>100k``, ``<=3M`` or ``[2k, 6k]``; a number without a unit is one of bytes.

    Raises:
      UsageError: The text has another form, or the interval ends before it begins.
    """
    return _parse(text, _BYTES)


def _parse(text: str, kind: _Kind) -> Interval:
    plain = text.strip()
    for sign in _SIGNS:
        if plain.startswith(sign):
            bound = _number(plain[len(sign) :], text, kind)
            if sign[0] == "<":
                return Interval(0, True, bound, sign == "<=")
            return Interval(bound, sign == ">=", math.inf, False)
    bounds = plain[1:-1].split(",")
    if plain[:1] not in ("[", "(") or plain[-1:] not in ("]", ")") or len(bounds) != 2:
        raise UsageError(f"{text!r} is {kind.advice}")
    begin, end = (_number(bound, text, kind) for bound in bounds)
    if begin > end:
        raise UsageError(f"The interval {text} ends before it begins.")
    return Interval(begin, plain[0] == "[", end, plain[-1] == "]")


def _number(text: str, whole: str, kind: _Kind) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None or (match[2] or kind.plain) not in kind.units:
        raise UsageError(f"{whole!r} is {kind.advice}")
    return float(match[1]) * kind.units[match[2] or kind.plain]


def in_unit(micros: float, unit: str) -> str:
    """Return a time in a unit, with at most three decimals, such as ``1.5ms``; ``0`` if there is none."""
    number = f"{micros / UNITS[unit]:.3f}".rstrip("0").rstrip(".")
    return f"{number}{unit}" if micros else "0"


def date_of(seconds: float) -> str:
    """Return a time since the epoch as date and time here; a damaged recording may have any number."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s"


def check_unit(unit: str) -> str:
    """Return a unit.

    Raises:
      UsageError: There is no such unit.
    """
    if unit not in UNITS:
        raise UsageError(f"There is no time unit {unit!r}: choose one of {', '.join(UNITS)}.")
    return unit
