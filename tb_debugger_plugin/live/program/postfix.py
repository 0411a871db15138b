"""Conditions in postfix notation: what they compute, and which of them only bad tensors can fulfil.

The native gate evaluates the same steps for tensors of graphs.

Invariant: numbers behave as IEEE says. A comparison with NaN, such as the mean of a tensor without finite
elements, does not hold (but ``!=`` does). Truth is 1 or 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

#: The numbers of a tensor, in the order of the gate.
COLUMNS: Final = ("size", "ninf", "pinf", "nan", "neg", "zero", "pos", "min", "max", "mean", "var")
#: A number, the name of a column, or a sign of `UNARY` or `BINARY`.
Step: TypeAlias = "float | str"
Steps: TypeAlias = "Sequence[Step]"


def _quotient(left: float, right: float) -> float:
    try:
        return left / right
    except ZeroDivisionError:
        is_defined = left != 0 and not math.isnan(left)
        return math.copysign(math.inf, left) * math.copysign(1.0, right) if is_defined else math.nan


def _root(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


#: What takes one number from the stack.
UNARY: Final[dict[str, Callable[[float], float]]] = {
    "minus": operator.neg,
    "not": lambda value: float(value == 0),
    "abs": abs,
    "sqrt": _root,
}
#: What takes two.
BINARY: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "<": lambda left, right: float(left < right),
    "<=": lambda left, right: float(left <= right),
    ">": lambda left, right: float(left > right),
    ">=": lambda left, right: float(left >= right),
    "==": lambda left, right: float(left == right),
    "!=": lambda left, right: float(left != right),
    "and": lambda left, right: float(left != 0 and right != 0),
    "or": lambda left, right: float(left != 0 or right != 0),
}


def value_of(steps: Steps, numbers: Mapping[str, float]) -> float:
    """Return what steps compute.

    Args:
      steps: At least one.
      numbers: The numbers of a tensor by the names of `COLUMNS`.
    """
    stack: list[float] = []
    for step in steps:
        if isinstance(step, float):
            stack.append(step)
        elif step in UNARY:
            stack.append(UNARY[step](stack.pop()))
        elif step in BINARY:
            right = stack.pop()
            stack.append(BINARY[step](stack.pop(), right))
        else:
            stack.append(float(numbers[step]))
    return stack[-1]


def depth_of(steps: Steps) -> int:
    """Return the most numbers that are on the stack at a time."""
    height = most = 0
    for step in steps:
        is_sign = isinstance(step, str) and step not in COLUMNS
        height += (-1 if step in BINARY else 0) if is_sign else 1
        most = max(most, height)
    return most


def holds_only_for_bad(steps: Steps) -> bool:
    """Return whether steps are false for each tensor without infinity and NaN, whatever its other numbers.

    A condition of which this is not certain gets a no, which costs the gate time and nothing else.

    Args:
      steps: A condition.
    """
    stack: list[float | None] = []  # None: not known
    for step in steps:
        if isinstance(step, float):
            stack.append(step)
        elif step in UNARY:
            value = stack.pop()
            stack.append(None if value is None else UNARY[step](value))
        elif step in BINARY:
            right = stack.pop()
            stack.append(_known(step, stack.pop(), right))
        else:
            stack.append(0.0 if step in ("ninf", "pinf", "nan") else None)
    return bool(stack) and stack[-1] == 0


def _known(sign: str, left: float | None, right: float | None) -> float | None:
    """Return what is known of the result of two numbers that may not be known."""
    if left is not None and right is not None:
        return BINARY[sign](left, right)
    one = left if left is not None else right
    if sign == "and" and one == 0:
        return 0.0
    if sign == "or" and one is not None and one != 0:
        return 1.0
    return None
