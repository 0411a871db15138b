"""Encodes a page of columns in binary form.

Takes a page and returns bytes: the length of the header as ``u32``, the header (JSON, padded with spaces),
and the columns as little-endian blocks, each beginning at a multiple of 8 bytes.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.lists.tables import Page

CONTENT_TYPE: Final = "application/octet-stream"
_ALIGNMENT: Final = 8
_TYPES: Final = {"f8": "f64", "i4": "i32", "u1": "u8"}


def encode(page: Page) -> bytes:
    """Encode a page as bytes.

    Args:
      page: A page whose arrays are float64, int32 or uint8.
    """
    described: list[dict[str, Any]] = []
    blocks: list[bytes] = []
    offset = 0
    for name, values in page.columns.items():
        block = _block(values)
        kind = _TYPES[values.dtype.str[1:]]
        described.append({"name": name, "type": kind, "offset": offset, "length": len(values)})
        blocks.append(block)
        offset += len(block)
    return _header(page, described) + b"".join(blocks)


def _block(values: npt.NDArray[Any]) -> bytes:
    raw = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
    return raw.ljust(-(-len(raw) // _ALIGNMENT) * _ALIGNMENT, b"\0")


def _header(page: Page, columns: list[dict[str, Any]]) -> bytes:
    text = json.dumps(
        {
            "generation": page.generation,
            "begin": page.range.begin,
            "end": page.range.end,
            "total": page.total,
            **({} if page.matching is None else {"matching": page.matching}),
            "columns": columns,
            "dictionaries": page.dictionaries,
        },
        allow_nan=False,
    ).encode()
    padding = -(4 + len(text)) % _ALIGNMENT
    return struct.pack("<I", len(text) + padding) + text + b" " * padding
