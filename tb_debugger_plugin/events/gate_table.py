"""The table of the gate: what conditions of breakpoints are made of, and what may keep a value from changing.

`build_steps/tables.py` makes the C++ header of this table. Like `modes`, it imports nothing of the package.
"""

from __future__ import annotations

import enum
from typing import Final

#: The numbers of a tensor that conditions name, each with its column in mode FULL_NUMERICS: counts of
#: elements, then the moments of the finite elements. Integers and booleans have them too, strings only
#: `size`. What is not known of a tensor makes a condition that names it false.
NUMBERS: Final = {
    "size": "size",
    "ninf": "neg_inf",
    "pinf": "pos_inf",
    "nan": "nan",
    "neg": "negative",
    "zero": "zero",
    "pos": "positive",
    "min": "min",
    "max": "max",
    "mean": "mean",
    "var": "variance",
}
#: Most steps of a condition, and most values that it may have on its stack.
MAX_STEPS: Final = 64
MAX_STACK: Final = 16


class StepKind(enum.IntEnum):
    """What a step of a condition does: push one value, or replace the last one or two by a result.

    All values are float64 and follow IEEE 754: a division by zero is an infinity or NaN, the root of a
    negative number is NaN, and a comparison with NaN is false except for `NE`. A remainder has the sign of
    the divisor, as in Python; by zero it is NaN. A truth value is 1 or 0; every number but 0 counts as true,
    NaN too. A condition holds when its last value counts as true.

    Attributes:
      operands: How many values it takes.
    """

    operands: int

    def __new__(cls, number: int, operands: int) -> StepKind:
        """Make a member of its number and its operands."""
        self = int.__new__(cls, number)
        self._value_, self.operands = number, operands
        return self

    CONSTANT = 0, 0
    NUMBER = 1, 0
    NEGATIVE = 2, 1
    ADD = 3, 2
    SUBTRACT = 4, 2
    MULTIPLY = 5, 2
    DIVIDE = 6, 2
    LT = 7, 2
    LE = 8, 2
    GT = 9, 2
    GE = 10, 2
    EQ = 11, 2
    NE = 12, 2
    AND = 13, 2
    OR = 14, 2
    NOT = 15, 1
    ABS = 16, 1
    SQRT = 17, 1
    REMAINDER = 18, 2


class CannotChange(enum.IntEnum):
    """Why the value of a tensor cannot be replaced where its thread is held."""

    CAN_CHANGE = 0
    #: Its consumers do not wait for the watch op.
    BESIDE = 1
    #: Other tensors were computed from it before it was recorded.
    COALESCED = 2
    #: It is on another device.
    OTHER_DEVICE = 3
    #: XLA compiled its function, which has run.
    COMPILED = 4
    #: Its elements are not numbers.
    NO_NUMBERS = 5
