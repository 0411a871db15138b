"""Opens the dump that holds a value.

Takes the folder of a run of dumps and a position in the list of graph executions. Gives the elements; only
their range of the file is read.
"""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.dumps.files import TENSOR_FIELDS
from tb_debugger_plugin.events.dumps.folders import below
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.stored_tensor import (
    Elements,
    FileBytes,
    Span,
    elements_of,
    message_in,
    open_bytes,
)

_FILE: Final = "SELECT folder, path FROM dump_files JOIN dump_calls USING (call) WHERE idx = ?"


def dump_of(connection: duckdb.DuckDBPyConnection, folder: Location, index: int) -> Location:
    """Returns the file of a graph execution.

    Args:
      connection: A connection to the run's database.
      folder: The folder of the run.
      index: The position in the list of graph executions.

    Raises:
      FormatError: There is no such dump.
    """
    rows = connection.execute(_FILE, [index]).fetchall()
    if not rows:
        raise FormatError("its dump is not known any more")
    ((call, path),) = rows
    return below(below(folder, call), path)


@contextlib.contextmanager
def open_dump(file: Location) -> Iterator[Elements]:
    """Gives the elements of a dump, which can be read while the block runs.

    Args:
      file: The file.

    Raises:
      FormatError: The file is damaged, or holds something else.
      OSError: The file cannot be read.
    """
    # The file may have become a pipe, which would block whoever opens it.
    if isinstance(file, Path) and not stat.S_ISREG(file.lstat().st_mode):
        raise FormatError("its dump is not a file any more")
    size = file.stat().st_size
    with open_bytes(file) as source:
        yield elements_of(source, _tensor(source, size))


def _tensor(source: FileBytes, size: int) -> Span:
    message = Span(0, size)
    for number in TENSOR_FIELDS:
        message = message_in(source, message, number)
    return message
