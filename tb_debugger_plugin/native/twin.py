"""What the summary kernels compute, said in NumPy: slow, obvious, and the definition.

In comes an array, out comes the vector of `docs/event-format.md` for a mode. The kernels in `src/summary.cc`
must give the same numbers for every input.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_debugger_plugin.events.modes import SHAPE_DIMS, TensorDebugMode

HOST_MEMORY = -1.0


def summarize(array: np.ndarray[Any, Any], dtype: int, mode: TensorDebugMode, tensor_id: int) -> list[float]:
    """The summary of a tensor.

    Args:
      array: Its value.
      dtype: TensorFlow's DataType number of it.
      mode: Which columns; one of the modes that `SUMMARY_COLUMNS` lists.
      tensor_id: The first column.

    Returns:
      The columns of `mode`, in order.

    Raises:
      ValueError: `mode` is no vector.
    """
    if mode is TensorDebugMode.SHAPE:
        dims = list(array.shape[-SHAPE_DIMS:])
        padding = [0] * (SHAPE_DIMS - len(dims))
        return [float(x) for x in [tensor_id, dtype, array.ndim, array.size, *dims, *padding]]
    values = array.astype(np.float64)
    bad = [np.sum(values == -np.inf), np.sum(values == np.inf), np.sum(np.isnan(values))]
    if mode is TensorDebugMode.CURT_HEALTH:
        return [float(tensor_id), float(any(bad))]
    if mode is TensorDebugMode.CONCISE_HEALTH:
        return [float(x) for x in [tensor_id, array.size, *bad]]
    if mode is TensorDebugMode.FULL_HEALTH:
        finite = values[np.isfinite(values)]
        signs = [np.sum(finite < 0), np.sum(finite == 0), np.sum(finite > 0)]
        return [float(x) for x in [tensor_id, HOST_MEMORY, dtype, array.ndim, array.size, *bad, *signs]]
    raise ValueError(f"{mode.name} is not a vector")
