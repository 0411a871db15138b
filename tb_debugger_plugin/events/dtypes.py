"""Tables of TensorFlow's ``DataType`` numbers, their names, and the NumPy types that hold the same bytes.

With them the viewer names and decodes dtypes without TensorFlow. ``ml_dtypes`` has those that NumPy itself
does not have. A quantized number is the integer that stands for it.
"""

from __future__ import annotations

from typing import Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

#: TensorFlow's name by enum number. The number of a reference dtype is larger by 100.
NAMES: Final[dict[int, str]] = {
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    8: "complex64",
    9: "int64",
    10: "bool",
    11: "qint8",
    12: "quint8",
    13: "qint32",
    14: "bfloat16",
    15: "qint16",
    16: "quint16",
    17: "uint16",
    18: "complex128",
    19: "float16",
    20: "resource",
    21: "variant",
    22: "uint32",
    23: "uint64",
    24: "float8_e5m2",
    25: "float8_e4m3fn",
    29: "int4",
    30: "uint4",
}

#: Enum number by name.
NUMBER_OF: Final[dict[str, int]] = {name: number for number, name in NAMES.items()}

BFLOAT16: Final = 14
STRING: Final = 7

#: By enum number; the bytes of an array equal those of ``tensor_content``.
_NUMPY: Final[dict[int, npt.DTypeLike]] = {
    1: "<f4",
    2: "<f8",
    3: "<i4",
    4: "|u1",
    5: "<i2",
    6: "|i1",
    8: "<c8",
    9: "<i8",
    10: "|b1",
    11: "|i1",
    12: "|u1",
    13: "<i4",
    14: ml_dtypes.bfloat16,
    15: "<i2",
    16: "<u2",
    17: "<u2",
    18: "<c16",
    19: "<f2",
    22: "<u4",
    23: "<u8",
    24: ml_dtypes.float8_e5m2,
    25: ml_dtypes.float8_e4m3fn,
    29: ml_dtypes.int4,
    30: ml_dtypes.uint4,
}

#: Dtypes whose values can be NaN or infinite.
FLOATING: Final[frozenset[int]] = frozenset({1, 2, 8, 14, 18, 19, 24, 25})


def dtype_name(number: int) -> str | None:
    """Return the name of a dtype.

    Args:
      number: TensorFlow's enum number; a reference dtype has the name of the dtype that it refers to.

    Returns:
      A name such as ``"float32"``; None for 0 and for a number without a name.
    """
    return NAMES.get(number - 100 if number > 100 else number)


def numpy_dtype(number: int) -> np.dtype[np.generic] | None:
    """Return the dtype of arrays with the elements of a tensor.

    Args:
      number: TensorFlow's enum number.

    Returns:
      A dtype of NumPy or of ``ml_dtypes``, little-endian; None for dtypes without numbers.
    """
    kind = _NUMPY.get(number)
    return None if kind is None else np.dtype(kind)
