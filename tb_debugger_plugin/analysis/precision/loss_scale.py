"""The scales of the loss with which gradients neither overflow nor vanish in another dtype.

Takes the gradients among the tensors. A loss that is multiplied by a power of two multiplies each gradient by
it, and the optimizer divides it out again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tb_debugger_plugin.analysis.precision.shares import Share, share_below
from tb_debugger_plugin.analysis.precision.tensor import TensorPrecision


@dataclass(frozen=True)
class LossScale:
    """What loss scaling can do.

    Attributes:
      largest: The largest power of two with which no gradient on record overflows.
      limited_by: The gradient that would overflow next.
      vanishing: The share of the gradients' elements that becomes 0 without a scale.
      vanishing_at_largest: The same with the largest scale.
    """

    largest: float
    limited_by: TensorPrecision
    vanishing: Share
    vanishing_at_largest: Share

    def to_json(self) -> dict[str, Any]:
        """Return the window as the HTTP contract has it."""
        return {
            "largest": self.largest,
            "limited_by": self.limited_by.place.name,
            "vanishing": self.vanishing.to_json(),
            "vanishing_at_largest": self.vanishing_at_largest.to_json(),
        }


def loss_scale(tensors: Sequence[TensorPrecision]) -> LossScale | None:
    """Return the window of loss scales; None when no gradient that is not 0 is on record."""
    gradients = [one for one in tensors if _is_scaled(one) and one.found.largest > 0]
    if not gradients:
        return None
    limiting = max(gradients, key=lambda one: one.found.largest)
    scale = _largest_scale(limiting)
    return LossScale(scale, limiting, _vanishing(gradients, 1.0), _vanishing(gradients, scale))


def _is_scaled(tensor: TensorPrecision) -> bool:
    """Whether a tensor grows with the loss: constants in a gradient, such as a number of elements, do not."""
    return tensor.place.is_gradient and tensor.place.op_type != "Const"


def _largest_scale(tensor: TensorPrecision) -> float:
    limit, largest = tensor.target.overflows_from, tensor.found.largest
    exponent = math.floor(math.log2(limit) - math.log2(largest))
    exponent = min(max(exponent, -1000), 1000)
    # The logarithms are rounded.
    while math.ldexp(largest, exponent) >= limit:
        exponent -= 1
    return math.ldexp(1.0, exponent)


def _vanishing(gradients: Sequence[TensorPrecision], scale: float) -> Share:
    counts = [one.found.elements - one.found.zeros for one in gradients]
    limits = [math.nextafter(one.target.vanishes_to, math.inf) / scale for one in gradients]
    shares = [share_below(one.found, limit) for one, limit in zip(gradients, limits, strict=True)]
    total = sum(counts)
    least = sum(share.least * count for share, count in zip(shares, counts, strict=True))
    most = sum(share.most * count for share, count in zip(shares, counts, strict=True))
    return Share(least / total, most / total)
