"""One consistent look at a run, from which every answer is computed.

Takes a loader and gives a :class:`Snapshot` whose queries all see the same commit. What is derived from the
tables and costs more than a moment is kept in the loader's memory, under the generation it was derived from.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.catalog import Catalog, load_catalog
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.fileset import TAILED
from tb_debugger_plugin.index.loader import RunLoader

T = TypeVar("T")
Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Snapshot:
    """A run at one commit; lives inside :func:`open_snapshot`.

    Attributes:
      loader: The run's loader.
      connection: A cursor in a transaction.
      generation: Number of the commit.
      described: Number of the commit in which graphs, ops or sites last changed.
      is_settled: Whether positions stay as they are: nothing is in the ring of a circular buffer.
      catalog: Graphs, ops and sites.
      num_executions: Length of the list of executions.
      num_graph_executions: Length of the list of graph executions.
      num_bad_graph_executions: How many of them are bad.
    """

    loader: RunLoader
    connection: duckdb.DuckDBPyConnection
    generation: int
    described: int
    is_settled: bool
    catalog: Catalog
    num_executions: int
    num_graph_executions: int
    num_bad_graph_executions: int

    def rows(self, query: str, parameters: list[Any] | dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        return self.connection.execute(query, parameters).fetchall()

    def columns(self, query: str, parameters: list[Any] | None = None) -> Columns:
        """Columns of a query as NumPy arrays; NULL in a column of numbers is NaN."""
        found = self.connection.execute(query, parameters).fetchnumpy()
        return {name: _filled(values) for name, values in found.items()}

    def remember(self, name: str, make: Callable[[], T]) -> T:
        """What ``make`` gives, made once per generation."""
        return _remember(self.loader, name, self.generation, make)

    def remember_of_graphs(self, name: str, make: Callable[[], T]) -> T:
        """What ``make`` gives of the catalog alone, made once for as long as that stays as it is."""
        return _remember(self.loader, name, self.described, make)

    def recall(self, name: str) -> Any:
        """What :meth:`keep` was last given, in whatever generation; None when nothing."""
        with self.loader.memory_lock:
            found = self.loader.memory.get(name)
        return None if found is None else found[1]

    def keep(self, name: str, value: Any) -> None:
        """Keep a value with the run; whoever recalls it has to see whether it still holds."""
        with self.loader.memory_lock:
            self.loader.memory[name] = (self.generation, value)


def _filled(values: Any) -> npt.NDArray[Any]:
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    return values.filled(np.nan) if values.dtype.kind == "f" else np.asarray(values.filled())


def _remember(loader: RunLoader, name: str, version: int, make: Callable[[], T]) -> T:
    with loader.memory_lock:
        found = loader.memory.get(name)
    if found is not None and found[0] == version:
        value: T = found[1]
        return value
    made = make()
    with loader.memory_lock:
        loader.memory[name] = (version, made)
    return made


@contextlib.contextmanager
def open_snapshot(loader: RunLoader) -> Iterator[Snapshot]:
    """Look at a run's last commit.

    Args:
      loader: The run's loader.

    Raises:
      NotReadyError: Nothing has been read yet.
    """
    with loader.reading() as connection:
        meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
        generation = int(meta.get("generation", "0"))
        described = int(meta.get("catalog_generation", "0"))
        catalog = _remember(loader, "catalog", described, lambda: load_catalog(connection))
        counts = connection.execute(
            "SELECT (SELECT count(*) FROM executions), (SELECT count(*) FROM graph_executions),"
            " (SELECT count(*) FROM bad_graph_executions)"
        ).fetchall()[0]
        stable = tuple(int(meta.get(f"stable_{suffix}", "0")) for suffix in TAILED)
        yield Snapshot(loader, connection, generation, described, stable == counts[:2], catalog, *counts)


@dataclass(frozen=True)
class Range:
    """Positions ``begin`` to ``end``, the latter not included."""

    begin: int
    end: int


def resolve_range(begin: int, end: int, total: int, limit: int) -> Range:
    """Check a range against a list.

    Args:
      begin: First position, from 0.
      end: One behind the last; -1 = the end of the list, or of the longest page if that comes before.
      total: Length of the list.
      limit: How long a page may be.

    Raises:
      BadQueryError: The range is not in the list, or is longer than a page although it says where it ends.
    """
    if begin < 0:
        raise BadQueryError(f"begin must not be below 0, but is {begin}.")
    if end < -1:
        raise BadQueryError(f"end must be a position, or -1 for the end of the list, but is {end}.")
    if begin > total:
        raise BadQueryError(f"begin is {begin}, but there are only {total}.")
    if end > total:
        raise BadQueryError(f"end is {end}, but there are only {total}.")
    stop = min(total, begin + limit) if end == -1 else end
    if stop < begin:
        raise BadQueryError(f"end is {end}, which is before begin, {begin}.")
    if stop - begin > limit:
        raise BadQueryError(f"{stop - begin} rows were asked for; a page holds at most {limit}.")
    return Range(begin, stop)


def check_index(index: int, total: int, what: str) -> int:
    """Check one position in a list.

    Raises:
      BadQueryError: It is not in the list.
    """
    if not 0 <= index < total:
        raise BadQueryError(f"There is no {what} {index}; there are {total}.")
    return index
