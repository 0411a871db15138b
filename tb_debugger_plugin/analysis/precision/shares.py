"""Shares of elements below a magnitude, as far as the record decides them.

Takes the magnitudes of a tensor; returns the least and the largest share that fits them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.precision.magnitudes import Magnitudes
from tb_debugger_plugin.events.modes import EXPONENT_EDGES

_EDGES: Final = [math.ldexp(1.0, edge) for edge in EXPONENT_EDGES]
#: Where each range of `modes.EXPONENTS` begins and ends.
_BEGIN: Final = [0.0, *_EDGES]
_END: Final = [*_EDGES, math.inf]


class Share(NamedTuple):
    """A share of the elements that are not 0: between two bounds, which are equal when it is known."""

    least: float
    most: float

    @property
    def is_known(self) -> bool:
        """Whether the record decides it."""
        return self.least == self.most

    def to_json(self) -> list[float]:
        """Return the two bounds."""
        return [self.least, self.most]


NONE: Final = Share(0.0, 0.0)
ALL: Final = Share(1.0, 1.0)


def share_below(found: Magnitudes, limit: float) -> Share:
    """Return the share of the elements that are not 0 and whose magnitude is below a limit.

    Args:
      found: The magnitudes of a tensor.
      limit: The magnitude.
    """
    nonzero = found.elements - found.zeros
    if not nonzero or (found.smallest is not None and found.smallest >= limit):
        return NONE
    if found.largest < limit:
        return ALL
    if found.exponents is not None:
        return _counted(found.exponents, limit)
    # At least one element has the largest magnitude.
    return Share(0.0, 1.0 - 1.0 / nonzero)


def _counted(exponents: Sequence[int], limit: float) -> Share:
    """Return the share by ranges of magnitudes; the range that the limit is in is between the bounds."""
    below, between = 0, 0
    for number, count in enumerate(exponents):
        if _END[number] <= limit:
            below += count
        elif _BEGIN[number] < limit:
            between += count
    total = sum(exponents)
    return Share(below / total, (below + between) / total)
