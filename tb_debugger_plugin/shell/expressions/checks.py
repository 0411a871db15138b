"""Checks of the values in an expression, before anything is computed with them."""

from __future__ import annotations

import ast
import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.expressions.functions import WORDS

#: Bits of a whole number; NumPy has no more.
MAX_BITS: Final = 64


def check_numeric(value: Any) -> None:
    """Check that a value can be computed with.

    Raises:
      UsageError: It is a text, a list or something else.
    """
    kinds = (np.ndarray, int, float, complex)
    if not isinstance(value, kinds) or (isinstance(value, np.ndarray) and value.dtype.kind in "OSU"):
        raise UsageError("Texts and lists can be compared in an expression, but not computed with.")


def check_argument(value: Any) -> None:
    """Check an argument of a function.

    Raises:
      UsageError: It is a text that no function takes, or an array of texts or of objects.
    """
    if isinstance(value, str) and value not in WORDS:
        raise UsageError(f"{value[:50]!r} is no argument here; known are {', '.join(sorted(WORDS))}.")
    if isinstance(value, (list, tuple)):
        for one in value:
            check_argument(one)
        value = np.asarray(value) if _is_regular(value) else value
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        raise UsageError("Texts can be compared in an expression, but not computed with.")


def _is_regular(values: Any) -> bool:
    """Whether the items are numbers or of one shape, so that they make an array."""
    return len({np.shape(one) for one in values}) <= 1


def check_bits(sign: ast.operator, left: int, right: int) -> None:
    """Check that the result of whole numbers is not too long, before it is computed.

    Raises:
      UsageError: It is.
    """
    bits = 0
    if isinstance(sign, ast.Pow) and right > 0:
        bits = left.bit_length() * right if abs(left) > 1 else 1
    elif isinstance(sign, ast.LShift):
        bits = left.bit_length() + right
    if bits > 2 * MAX_BITS:
        raise UsageError(f"A whole number in an expression has at most {MAX_BITS} bits.")


def indexed_size(value: npt.NDArray[Any], index: Any) -> int:
    """Return a bound of the number of elements that an index selects."""
    parts = index if isinstance(index, tuple) else (index,)
    lists = [np.asarray(one) for one in parts if isinstance(one, (list, np.ndarray))]
    lists = [one for one in lists if one.dtype.kind != "b"]
    if not lists:
        return value.size
    # Each of the selected positions may have all elements of the other axes.
    others = sorted(value.shape, reverse=True)[: max(0, value.ndim - len(lists))]
    return int(math.prod(np.broadcast_shapes(*(one.shape for one in lists))) * math.prod(others))
