"""Elements as numbers that can be compared and drawn: floats, integers, or one part of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.numbers import widened
from tb_debugger_plugin.index.stored_tensor import Elements

Array = npt.NDArray[Any]

#: What of a complex number is taken, by name.
PARTS: Final[dict[str, Callable[[Array], Array]]] = {
    "abs": np.abs,
    "real": np.real,
    "imag": np.imag,
    "angle": np.angle,
}


def check_numeric(elements: Elements) -> None:
    """Check that the elements of a tensor are numbers.

    Raises:
      BadQueryError: They are strings.
    """
    if elements.kind.kind == "O":
        raise BadQueryError("A tensor of strings has no numbers; values/text gives its elements.")


def real_numbers(values: Array, part: str) -> Array:
    """Return values as NumPy's own real dtypes; bool as it is.

    Args:
      values: Any numeric or bool array.
      part: A key of :data:`PARTS`, for complex numbers.
    """
    # A signalling NaN, which no program computes and a damaged file may hold, is no reason to warn.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(PARTS[part](values)) if values.dtype.kind == "c" else widened(values)


def as_float64(values: Array) -> npt.NDArray[np.float64]:
    """Return numbers as float64."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)
