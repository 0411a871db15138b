"""The numbers of a held tensor: those of FULL_NUMERICS, under the names that conditions use.

The native library counts, if it is there and knows the dtype; else NumPy does.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.dtypes import FLOATING
from tb_debugger_plugin.events.messages import TensorProto
from tb_debugger_plugin.events.modes import MEASURED, SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.events.numbers import count_values, moments_of, widened
from tb_debugger_plugin.live.program.postfix import COLUMNS
from tb_debugger_plugin.native import module_without_tensorflow

_MODE: Final = TensorDebugMode.FULL_NUMERICS
_NAME_OF: Final = dict(zip(MEASURED, COLUMNS, strict=True))


def numbers_of(array: npt.NDArray[Any], dtype: int) -> dict[str, float]:
    """Return the numbers of a tensor by the names of `postfix.COLUMNS`; of strings only ``size``.

    Args:
      array: Its elements.
      dtype: TensorFlow's number of the dtype.
    """
    if array.dtype.kind in "OSU":
        return {"size": float(array.size)}
    native = _native()
    if native is not None and dtype in FLOATING and array.size:
        return _natively(native, np.ascontiguousarray(array), dtype)
    return _with_numpy(array)


@functools.cache
def _native() -> Any | None:
    try:
        return module_without_tensorflow()
    except ImportError:
        return None


def _natively(native: Any, array: npt.NDArray[Any], dtype: int) -> dict[str, float]:
    encoded = native.encode_summary(array.reshape(-1).view(np.uint8).data, dtype, array.shape, int(_MODE), 0)
    vector = np.frombuffer(TensorProto.FromString(encoded).tensor_content, "<f8").tolist()
    columns = dict(zip(SUMMARY_COLUMNS[_MODE], vector, strict=True))
    return {ours: columns[name] for name, ours in _NAME_OF.items()}


def _with_numpy(array: npt.NDArray[Any]) -> dict[str, float]:
    values = widened(array.reshape(-1))
    ordered = values.view(np.uint8) if values.dtype.kind == "b" else values
    columns = {**count_values(values), **moments_of(ordered)}
    return {ours: float(columns.get(name, math.nan)) for name, ours in _NAME_OF.items()}
