"""A slice as a file in NumPy's format ``.npy``, part by part.

The format is that of NumPy's NEP 1, version 1.0: a header with dtype and shape, then the elements. NumPy does
not read the dtypes of ``ml_dtypes`` from a file, so bfloat16 and float8 become float32.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np

from tb_debugger_plugin.analysis.values.elements import blocks, check_dims
from tb_debugger_plugin.analysis.values.slicing import Slicing
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.numbers import widened
from tb_debugger_plugin.index.stored_tensor import StoredElements


def npy_size_and_parts(elements: StoredElements, slicing: Slicing) -> tuple[int, Iterator[bytes]]:
    """Return the number of bytes of the file, and its parts.

    Args:
      elements: The elements of the tensor, which must stay open until the last part.
      slicing: Which of them.

    Raises:
      BadQueryError: The elements are strings, or NumPy has no arrays of so many dimensions.
    """
    check_dims(slicing)
    if elements.kind.kind == "O":
        raise BadQueryError("Strings have no place in a .npy file; values/text gives them.")
    kind = widened(np.empty(0, elements.kind)).dtype
    header = _header(kind, slicing.shape)
    return len(header) + slicing.size * kind.itemsize, _parts(header, elements, slicing)


def _header(kind: np.dtype[np.generic], shape: tuple[int, ...]) -> bytes:
    stream = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, described)
    return stream.getvalue()


def _parts(header: bytes, elements: StoredElements, slicing: Slicing) -> Iterator[bytes]:
    yield header
    for block in blocks(elements, slicing):
        yield widened(block).tobytes()
