"""New values of tensors: the result of an expression, fitted to the dtype and the shape of the tensor.

Invariant: a result that would not arrive as it was computed, such as 0.5 in a tensor of integers, is refused
with a sentence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events import dtypes

Array = npt.NDArray[Any]


def fitted(result: Any, dtype: int, shape: tuple[int, ...]) -> Array:
    """Return the new value of a tensor.

    Args:
      result: What an expression computed.
      dtype: TensorFlow's number of the dtype of the tensor.
      shape: Its shape.

    Raises:
      UsageError: The result does not fit.
    """
    kind = dtypes.numpy_dtype(dtype)
    if kind is None:
        raise UsageError("Only tensors of numbers and truth values can be changed.")
    array = _array(result)
    try:
        broadcast = np.broadcast_to(array, shape)
    except ValueError:
        raise UsageError(
            f"The result has the shape {_shape(array.shape)}, the tensor {_shape(shape)}: they do not fit."
        ) from None
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(_cast(broadcast, kind, dtypes.dtype_name(dtype) or "its dtype"))


def _array(result: Any) -> Array:
    try:
        array = np.asarray(result)
    except (ValueError, OverflowError):
        array = np.empty(0, object)
    if array.dtype.kind not in "biufc":
        raise UsageError("The result is no array of numbers.")
    return array


def _shape(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _cast(array: Array, kind: np.dtype[Any], name: str) -> Array:
    if array.dtype == kind:
        return array
    if array.dtype.kind == "c" and kind.kind != "c":
        raise UsageError(f"The result is complex, and the tensor holds {name}.")
    cast = array.astype(kind)
    if kind.kind in "biu" or np.issubdtype(kind, np.integer):
        # NaN, infinities, fractions and what is out of range come back as something else.
        if not np.array_equal(cast.astype(np.float64), array.astype(np.float64)):
            raise UsageError(f"The result has elements that {name} cannot hold: round and clip it first.")
    elif np.any(np.isfinite(array) & ~np.isfinite(cast.astype(np.complex128))):
        raise UsageError(f"The result has elements that are too large for {name}.")
    return cast
