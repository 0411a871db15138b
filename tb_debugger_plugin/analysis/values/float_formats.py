"""Floating dtypes, and the magnitudes at which they stop to represent numbers well.

Invariant: rounding is to nearest, ties to even, as NumPy, `ml_dtypes` and TensorFlow cast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Format:
    """A binary floating dtype.

    Attributes:
      name: As TensorFlow names it.
      mantissa: Stored bits of the mantissa.
      least_exponent: Exponent of the smallest normal number.
      largest: The largest finite number.
    """

    name: str
    mantissa: int
    least_exponent: int
    largest: float

    @property
    def smallest_normal(self) -> float:
        """The smallest number that has all bits of the mantissa."""
        return math.ldexp(1.0, self.least_exponent)

    @property
    def spacing(self) -> float:
        """The distance from 1 to the next number."""
        return math.ldexp(1.0, -self.mantissa)

    @property
    def smallest(self) -> float:
        """The smallest positive number, which has no bits of the mantissa left."""
        return math.ldexp(1.0, self.least_exponent - self.mantissa)

    @property
    def vanishes_to(self) -> float:
        """The largest magnitude that becomes 0: half of the smallest number."""
        return self.smallest / 2

    @property
    def top_exponent(self) -> int:
        """The exponent of the largest number."""
        return math.frexp(self.largest)[1] - 1

    @property
    def overflows_from(self) -> float:
        """The smallest magnitude that becomes infinite, or NaN in a dtype without infinities."""
        half_step = math.ldexp(1.0, self.top_exponent - self.mantissa - 1)
        tie = self.largest + half_step
        # A tie goes to the number whose last bit is 0, which the largest number may be itself.
        is_even = self.largest / (2 * half_step) % 2 == 0
        return math.nextafter(tie, math.inf) if is_even else tie

    def headroom(self, magnitude: float) -> float:
        """Return how often a magnitude can be doubled until the largest number; below 0 if it is larger."""
        return math.log2(self.largest) - math.log2(magnitude)


def _full(name: str, mantissa: int, exponent_bits: int) -> Format:
    """Return a dtype whose highest exponent means infinity and NaN."""
    top = (1 << (exponent_bits - 1)) - 1
    return Format(name, mantissa, 1 - top, math.ldexp(2.0 - math.ldexp(1.0, -mantissa), top))


#: Each floating dtype by name.
FORMATS: Final = {
    one.name: one
    for one in (
        _full("float16", 10, 5),
        _full("bfloat16", 7, 8),
        _full("float32", 23, 8),
        _full("float64", 52, 11),
        _full("float8_e5m2", 2, 5),
        Format("float8_e4m3fn", 3, -6, 448.0),
        Format("float8_e5m2fnuz", 2, -15, 57344.0),
        Format("float8_e4m3fnuz", 3, -7, 240.0),
    )
}
#: Those that a program may be moved to.
TARGETS: Final = {name: one for name, one in FORMATS.items() if name != "float64"}
DEFAULT: Final = "float16"


def limit_of(dtype: str | None) -> float | None:
    """Return the largest finite number of a floating dtype; None for other dtypes."""
    return FORMATS[dtype].largest if dtype in FORMATS else None
