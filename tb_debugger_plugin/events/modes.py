"""The table of tensor debug modes and of the columns that their summaries have.

A summary is a float64 vector. `MODES` says which columns each mode has, what it measures, and what
TensorFlow's own ops can do of it. `build_steps/tables.py` makes the C++ header and the TypeScript module of
this table, so that no other module knows that element 7 of a full health summary counts NaN.

This module imports nothing of the package: the build imports it before the package is complete.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class TensorDebugMode(enum.IntEnum):
    """Decides which numbers are recorded of each tensor. The enum's values are those in the event files."""

    UNSPECIFIED = 0
    NO_TENSOR = 1
    CURT_HEALTH = 2
    CONCISE_HEALTH = 3
    FULL_HEALTH = 4
    SHAPE = 5
    FULL_NUMERICS = 6
    FULL_TENSOR = 7
    REDUCE_INF_NAN_THREE_SLOTS = 8
    EXPONENTS = 9


#: Number of dimensions in a SHAPE summary: the last ones of a tensor of higher rank; 0 fills missing ones.
SHAPE_DIMS: Final = 6

#: Columns that describe the tensor. In the tables they are integers.
DESCRIPTION: Final = ("tensor_id", "device_id", "dtype", "rank")
#: Columns that are 1 if the tensor has any value of a kind, else 0.
FLAGS: Final = ("any_bad", "any_neg_inf", "any_pos_inf", "any_nan")
#: Columns that count the elements of a kind.
COUNTS: Final = ("neg_inf", "pos_inf", "nan", "negative", "zero", "positive")
#: Statistics of the finite elements.
MOMENTS: Final = ("min", "max", "mean", "variance")
#: Powers of two between which the magnitudes of elements are counted: finer where a dtype of two bytes or one
#: stops to represent numbers well, up to the largest and down to the smallest normal number of float32.
EXPONENT_EDGES: Final = (
    *(-126, -64, -48, -40, -32, -28, -25, -24, -23, -17, -16, -15, -14, -10, -9, -8, -6),
    *(0, 8, 9, 15, 16, 127, 128),
)
#: Columns that count the finite elements with a magnitude in a range: above 0 and below the first edge, then
#: from each edge to the next one, and from the last edge.
EXPONENTS: Final = (
    "tiny",
    *(f"from_2_{'m' if edge < 0 else ''}{abs(edge)}" for edge in EXPONENT_EDGES),
)
#: The last dimensions.
DIMS: Final = tuple(f"dim{i}" for i in range(SHAPE_DIMS))
#: The measured numbers that the tables, the routes and the page keep of each tensor.
MEASURED: Final = ("size", *COUNTS, *MOMENTS)
#: The measured numbers that the tables keep of each tensor.
STORED: Final = (*MEASURED, *EXPONENTS)
#: Every column that a summary may have.
COLUMNS: Final = (*DESCRIPTION, *FLAGS, *STORED, *DIMS)
#: The columns of bad values: a tensor is bad if one of them is above 0.
BAD_SIGNS: Final = (*FLAGS, "neg_inf", "pos_inf", "nan")


@dataclass(frozen=True)
class ModeSpec:
    """One mode.

    Attributes:
      mode: Its name and number.
      measures: What is recorded of each tensor, as the documents say it.
      columns: The columns of the summary vector, in order; empty if there is no vector.
      reduced_as: The mode in which TensorFlow's `DebugNumericSummaryV2` summarises a tensor on another device
        than the host; None if the whole tensor has to be copied to the host.
      is_stock: Whether TensorFlow's own debug ops record this mode.
      is_recorded: Whether a recording can be made in this mode.
    """

    mode: TensorDebugMode
    measures: str
    columns: tuple[str, ...] = ()
    reduced_as: TensorDebugMode | None = None
    is_stock: bool = True
    is_recorded: bool = True

    @property
    def counts(self) -> bool:
        """Whether elements are counted, so that infinities are distinguished from NaN."""
        return "nan" in self.columns

    @property
    def judges(self) -> bool:
        """Whether a record says if the tensor is bad: by its summary, or since it holds all elements."""
        return self.mode is TensorDebugMode.FULL_TENSOR or any(name in BAD_SIGNS for name in self.columns)

    @property
    def reads_elements(self) -> bool:
        """Whether the summary depends on the elements; it then covers floating and complex tensors only."""
        return any(name in (*BAD_SIGNS, *COUNTS, *MOMENTS) for name in self.columns)

    @property
    def needs_elements(self) -> bool:
        """Whether recording a tensor takes its elements, for a summary or to keep them."""
        return self.reads_elements or self.mode is TensorDebugMode.FULL_TENSOR


_FULL_HEALTH: Final = (*DESCRIPTION, "size", *COUNTS)

#: One row for each mode.
MODES: Final = (
    ModeSpec(
        TensorDebugMode.NO_TENSOR,
        measures="that it was computed, but nothing about its values",
        reduced_as=TensorDebugMode.CURT_HEALTH,
    ),
    ModeSpec(
        TensorDebugMode.CURT_HEALTH,
        measures="whether it has any NaN or infinity",
        columns=("tensor_id", "any_bad"),
        reduced_as=TensorDebugMode.CURT_HEALTH,
    ),
    ModeSpec(
        TensorDebugMode.CONCISE_HEALTH,
        measures="its size, and the numbers of −∞, +∞ and NaN",
        columns=("tensor_id", "size", "neg_inf", "pos_inf", "nan"),
        reduced_as=TensorDebugMode.CONCISE_HEALTH,
    ),
    ModeSpec(
        TensorDebugMode.FULL_HEALTH,
        measures="dtype, rank, size, and the numbers of −∞, negative, zero, positive, +∞ and NaN",
        columns=_FULL_HEALTH,
        reduced_as=TensorDebugMode.FULL_HEALTH,
    ),
    ModeSpec(
        TensorDebugMode.SHAPE,
        measures="dtype, rank, size and shape",
        columns=("tensor_id", "dtype", "rank", "size", *DIMS),
        reduced_as=TensorDebugMode.SHAPE,
    ),
    ModeSpec(
        TensorDebugMode.FULL_NUMERICS,
        measures="the same as `FULL_HEALTH`, and minimum, maximum, mean and variance of the finite elements",
        columns=(*_FULL_HEALTH, *MOMENTS),
        reduced_as=TensorDebugMode.FULL_HEALTH,
        is_stock=False,
    ),
    ModeSpec(TensorDebugMode.FULL_TENSOR, measures="all of its values"),
    ModeSpec(
        TensorDebugMode.REDUCE_INF_NAN_THREE_SLOTS,
        measures="whether it has −∞, +∞ and NaN, without saying of which tensor",
        columns=("any_neg_inf", "any_pos_inf", "any_nan"),
        is_stock=False,
        is_recorded=False,
    ),
    ModeSpec(
        TensorDebugMode.EXPONENTS,
        measures="the same as `FULL_NUMERICS`, and a histogram of the magnitudes by powers of two",
        columns=(*_FULL_HEALTH, *MOMENTS, *EXPONENTS),
        reduced_as=TensorDebugMode.FULL_HEALTH,
        is_stock=False,
    ),
)

_SPECS: Final = {spec.mode: spec for spec in MODES}
#: The columns of the summary vector by mode. A mode that is absent records no summary.
SUMMARY_COLUMNS: Final = {spec.mode: spec.columns for spec in MODES if spec.columns}
#: The modes that say whether a tensor is bad.
JUDGING_MODES: Final = frozenset(spec.mode for spec in MODES if spec.judges)


def spec_of(mode: TensorDebugMode) -> ModeSpec:
    """Return the row of a mode in `MODES`.

    Raises:
      KeyError: The mode is UNSPECIFIED.
    """
    return _SPECS[mode]


def mode_name(mode: int) -> str:
    """Return the name of a mode, also for a number that this version does not know.

    Args:
      mode: The number in the file.

    Returns:
      A name such as ``"FULL_HEALTH"``; ``"MODE_42"`` for a number that has no name.
    """
    try:
        return TensorDebugMode(mode).name
    except ValueError:
        return f"MODE_{mode}"
