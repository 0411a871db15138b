"""The tensor debug modes, and the names of the columns of their summaries.

A summary is a float64 vector. ``SUMMARY_COLUMNS`` names its elements, so that no other module has to know
that element 7 of a full health summary counts NaN.
"""

from __future__ import annotations

import enum
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


#: Number of dimensions in a SHAPE summary: the last ones of a tensor of higher rank; 0 fills missing ones.
SHAPE_DIMS: Final = 6

_FULL_HEALTH: Final = (
    "tensor_id",
    "device_id",
    "dtype",
    "rank",
    "size",
    "neg_inf",
    "pos_inf",
    "nan",
    "negative",
    "zero",
    "positive",
)

#: The columns of the summary vector by mode. A mode that is absent records no summary.
SUMMARY_COLUMNS: Final[dict[TensorDebugMode, tuple[str, ...]]] = {
    TensorDebugMode.CURT_HEALTH: ("tensor_id", "any_bad"),
    TensorDebugMode.CONCISE_HEALTH: ("tensor_id", "size", "neg_inf", "pos_inf", "nan"),
    TensorDebugMode.FULL_HEALTH: _FULL_HEALTH,
    TensorDebugMode.SHAPE: (
        "tensor_id",
        "dtype",
        "rank",
        "size",
        *(f"dim{i}" for i in range(SHAPE_DIMS)),
    ),
    TensorDebugMode.FULL_NUMERICS: (*_FULL_HEALTH, "min", "max", "mean", "variance"),
    TensorDebugMode.REDUCE_INF_NAN_THREE_SLOTS: ("any_neg_inf", "any_pos_inf", "any_nan"),
}


def mode_name(mode: int) -> str:
    """Returns the name of a mode, also for a number that this version does not know.

    Args:
      mode: The number in the file.

    Returns:
      A name such as ``"FULL_HEALTH"``; ``"MODE_42"`` for a number that has no name.
    """
    try:
        return TensorDebugMode(mode).name
    except ValueError:
        return f"MODE_{mode}"
