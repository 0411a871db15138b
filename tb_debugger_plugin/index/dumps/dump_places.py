"""Opens the dump that holds a value.

Takes the folder of a run of dumps and a position in the list of graph executions. Gives the elements; only
their range of the file is read.
"""

from __future__ import annotations

import contextlib
import math
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.dtypes import STRING, dtype_name, numpy_dtype
from tb_debugger_plugin.events.dumps.files import TENSOR_FIELDS
from tb_debugger_plugin.events.dumps.folders import below
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.stored_tensor import (
    ELEMENT_FIELDS,
    FileBytes,
    Header,
    Span,
    StoredElements,
    elements_of,
    fields,
    message_in,
    open_bytes,
    read_header,
)

_FILE: Final = "SELECT folder, path FROM dump_files JOIN dump_calls USING (call) WHERE idx = ?"


def dump_of(connection: duckdb.DuckDBPyConnection, folder: Location, index: int) -> Location:
    """Return the file of a graph execution.

    Args:
      connection: A connection to the run's database.
      folder: The folder of the run.
      index: A position in the list of graph executions.
    """
    ((call, path),) = connection.execute(_FILE, [index]).fetchall()
    return below(below(folder, call), path)


@contextlib.contextmanager
def open_dump(file: Location) -> Iterator[StoredElements]:
    """Give the elements of a dump, which can be read while the block runs.

    Args:
      file: The file.

    Raises:
      FormatError: The file is damaged, or holds something else.
      OSError: The file cannot be read.
    """
    with _open_tensor(file) as (source, message):
        yield elements_of(source, message)


@contextlib.contextmanager
def _open_tensor(file: Location) -> Iterator[tuple[FileBytes, Span]]:
    # The file may have become a pipe, which would block whoever opens it.
    if isinstance(file, Path) and not stat.S_ISREG(file.lstat().st_mode):
        raise FormatError("its dump is not a file any more")
    message = Span(0, file.stat().st_size)
    with open_bytes(file) as source:
        for number in TENSOR_FIELDS:
            message = message_in(source, message, number)
        yield source, message


@dataclass(frozen=True)
class NotDumped:
    """Stands for the elements of a dump that has none.

    Attributes:
      dtype: TensorFlow's number of the dtype.
      reason: Why, in one sentence.
      is_initialized: False for a variable that had no value yet.
    """

    dtype: int
    reason: str
    is_initialized: bool


def read_dump(file: Location) -> Array | NotDumped:
    """Read all elements of a dump.

    Args:
      file: The file.

    Returns:
      An array with the shape of the tensor, which may be written to; or why there is none.

    Raises:
      FormatError: The file is damaged, or few bytes stand for a huge tensor.
      OSError: The file cannot be read.
    """
    with _open_tensor(file) as (source, message):
        header = read_header(source, message)
        if not _holds_elements(source, message, header):
            return not_dumped(header.dtype)
        elements = elements_of(source, message)
        return elements.read(0, math.prod(header.shape)).reshape(header.shape).copy()


def _holds_elements(source: FileBytes, message: Span, header: Header) -> bool:
    if numpy_dtype(header.dtype) is None and header.dtype != STRING:
        return False
    # A tensor of a dump has all its elements, also zeros; a variable without a value has none.
    return not math.prod(header.shape) or any(one.number in ELEMENT_FIELDS for one in fields(source, message))


def not_dumped(dtype: int) -> NotDumped:
    """Return why a dump of a dtype, whose file is whole, has no elements.

    Args:
      dtype: TensorFlow's number.
    """
    if numpy_dtype(dtype) is None and dtype != STRING:
        name = dtype_name(dtype) or str(dtype)
        return NotDumped(
            dtype, f"A tensor of dtype {name} has no elements that can be written to a file.", True
        )
    return NotDumped(dtype, "The variable had no value yet when it was dumped.", False)
