"""How much of a difference an op got with its inputs.

Takes the differences of the inputs, each times what the op makes of it, and the difference of the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: How often a relative difference of the input is in the output.
_POWERS: Final = {"Sqrt": 0.5, "Rsqrt": 0.5, "Square": 2.0, "SquaredDifference": 2.0, "Pow": 4.0}
#: Ops that add: a difference stays as it is while numbers cancel.
_ADDING: Final = frozenset("Sub AddV2 Add AddN BiasAdd Sum Mean SquaredDifference MatMul Conv2D".split())
#: Ops whose relative difference is the absolute one of the input.
_EXPONENTIAL: Final = frozenset(
    "Exp Expm1 Softmax SoftmaxCrossEntropyWithLogits Sigmoid Tanh Sin Cos".split()
)


@dataclass(frozen=True)
class InputDifference:
    """The difference of an input.

    Attributes:
      relative: As part of its size.
      scale: Its size.
      is_within: Whether it is within the tolerance.
    """

    relative: float
    scale: float
    is_within: bool


def handed_on(op_type: str, inputs: Sequence[InputDifference], scale: float) -> float:
    """Return the relative difference of an output that the differences of its inputs explain.

    Args:
      op_type: The type of the op.
      inputs: Its inputs.
      scale: The size of the output.
    """
    return sum(one.relative * _gain(op_type, one, scale) for one in inputs)


def _gain(op_type: str, one: InputDifference, scale: float) -> float:
    gain = _POWERS.get(op_type, 1.0)
    if op_type in _ADDING and scale > 0:
        gain *= max(1.0, one.scale / scale)
    if op_type in _EXPONENTIAL:
        gain *= max(1.0, one.scale)
    return gain


def inherited_share(explained: float, difference: float) -> float:
    """Return the part of a difference that came with the inputs, from 0 to 1."""
    if difference <= 0:
        return 0.0
    if difference == float("inf"):
        return 1.0 if explained == float("inf") else 0.0
    return min(1.0, explained / difference)
