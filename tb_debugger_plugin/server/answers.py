"""What routes answer, as it is sent: JSON, columns in binary form, and files made while they are sent.

Columns with a header become bytes: the length of the header as ``u32``, the header (JSON, padded
with spaces), and the columns as little-endian blocks, each beginning at a multiple of 8 bytes.
"""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.lists.tables import ColumnPage
from tb_debugger_plugin.analysis.snapshot import JsonObject

#: A JSON-like value, or one of the classes below.
Answer: TypeAlias = "Encoded | Columnar | Download | JsonObject | Mapping[str, object] | Sequence[object]"
CONTENT_TYPE: Final = "application/octet-stream"
_ALIGNMENT: Final = 8
#: As TensorBoard packs what it sends.
_GZIP_LEVEL: Final = 3
_TYPES: Final = {"f8": "f64", "f4": "f32", "i4": "i32", "u1": "u8"}


@dataclass(frozen=True)
class Columnar:
    """Columns with a header.

    Attributes:
      header: The fields of the header before those of the columns.
      columns: Arrays of float64, float32, int32 or uint8 by name.
      dictionaries: Values of the columns that hold positions in a dictionary (-1 = none).
    """

    header: Mapping[str, object]
    columns: Mapping[str, npt.NDArray[np.generic]]
    dictionaries: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Download:
    """An answer that the browser saves as a file, which is never whole in memory.

    Attributes:
      name: The name of the file; letters, digits, ``_``, ``-`` and ``.``.
      content_type: The MIME type.
      size: The number of bytes.
      chunks: The bytes, one part after another.
      close: Called after the last part, or when the client has gone.
    """

    name: str
    content_type: str
    size: int
    chunks: Iterator[bytes]
    close: Callable[[], None]


@dataclass(frozen=True)
class Encoded:
    """An answer as it is sent.

    Attributes:
      content: The body.
      content_type: The MIME type.
      encoding: The `Content-Encoding` of the body; None if it is as it is.
    """

    content: bytes
    content_type: str
    encoding: Literal["gzip"] | None = None


def encoded(answer: Answer) -> Encoded:
    """Return an answer as it is sent; not of a :class:`Download`, which is sent in parts."""
    if isinstance(answer, Encoded):
        return answer
    if isinstance(answer, Columnar):
        return Encoded(encode(answer), CONTENT_TYPE)
    return Encoded(json_text(answer).encode(), "application/json")


def packed(answer: Encoded) -> Encoded:
    """Return an answer as it is sent to who takes gzip, if it is text that TensorBoard sends so."""
    if answer.content_type != "application/json":
        return answer
    return Encoded(gzip.compress(answer.content, _GZIP_LEVEL, mtime=0), answer.content_type, "gzip")


def of_page(page: ColumnPage) -> Columnar:
    """Return a page of a long list with its header."""
    header = {
        "generation": page.generation,
        "begin": page.range.begin,
        "end": page.range.end,
        "total": page.total,
        **({} if page.matching is None else {"matching": page.matching}),
    }
    return Columnar(header, page.columns, page.dictionaries)


def json_text(answer: object) -> str:
    """Return an answer as JSON; each object in it that is a JsonObject becomes its fields."""
    return json.dumps(answer, allow_nan=False, default=methodcaller("to_json"))


def encode(answer: Columnar) -> bytes:
    """Encode columns as bytes."""
    described: list[Mapping[str, object]] = []
    blocks: list[bytes] = []
    offset = 0
    for name, values in answer.columns.items():
        block = _block(values)
        kind = _TYPES[values.dtype.str[1:]]
        described.append({"name": name, "type": kind, "offset": offset, "length": len(values)})
        blocks.append(block)
        offset += len(block)
    header = {**answer.header, "columns": described, "dictionaries": answer.dictionaries}
    return _header(header) + b"".join(blocks)


def _block(values: npt.NDArray[np.generic]) -> bytes:
    raw = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
    return raw.ljust(-(-len(raw) // _ALIGNMENT) * _ALIGNMENT, b"\0")


def _header(header: Mapping[str, object]) -> bytes:
    text = json_text(header).encode()
    padding = -(4 + len(text)) % _ALIGNMENT
    return struct.pack("<I", len(text) + padding) + text + b" " * padding
