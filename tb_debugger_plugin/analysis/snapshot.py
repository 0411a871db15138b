"""A consistent look at a run, from which every answer is computed.

Takes a loader and gives a :class:`Snapshot` whose queries all see the same commit. Results that are derived
from the tables and expensive are kept in the loader's memory, under the generation they were derived from;
of several threads that ask for one at the same time, one computes it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeAlias, TypedDict, TypeVar

import duckdb
import numpy as np

from tb_debugger_plugin.analysis.catalog import Catalog, load_catalog, load_sites
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.fileset import TAILED
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.schema import CHANGED, LISTS, NUM_ROWS

P = ParamSpec("P")
T = TypeVar("T")
#: Columns of a table by name.
Columns: TypeAlias = dict[str, Array]
#: A row of an SQL query.
SqlRow: TypeAlias = tuple[Any, ...]
#: The parameters of an SQL query, by name or in order.
NamedParameters: TypeAlias = Mapping[str, object]
Parameters: TypeAlias = Sequence[object] | NamedParameters
#: An object as the HTTP contract has it.
Json: TypeAlias = dict[str, Any]


class JsonObject:
    """A frozen dataclass with the fields of an object of an answer, of which `build_steps` makes tables.

    ``MEMBERS`` names the fields and properties that the object has, where they are not just the fields.
    """

    MEMBERS: ClassVar[str] = ""

    def to_json(self) -> Json:
        """Return the object as the HTTP contract has it."""
        return {name: _as_json(getattr(self, name)) for name in self.MEMBERS.split() or vars(self)}


def _as_json(value: object) -> object:
    if isinstance(value, dict):
        return {name: _as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    return value.to_json() if isinstance(value, JsonObject) else value


@dataclass(frozen=True)
class Snapshot:
    """A run at one commit; lives inside :func:`open_snapshot`.

    Attributes:
      loader: The run's loader.
      connection: A cursor in a transaction.
      generation: The number of the commit.
      described: The number of the commit in which graphs or ops last changed; sites may come at any time.
      is_settled: Whether all positions are final: no circular buffer has rows in its ring.
      catalog: Graphs, ops and sites.
      num_executions: The length of the list of executions.
      num_graph_executions: The length of the list of graph executions.
      num_bad_graph_executions: How many of them are bad.
      changed: By table, the number of the commit in which its rows last changed. Tables without a mark
        are left out; they may have changed in any commit.
      may_lag: Whether expensive answers may be those of an earlier commit while the run grows.
      answered: The commits of the answers that it was given; see `lasting`.
      shared: What :meth:`share` made.
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
    changed: Mapping[str, int]
    may_lag: bool = False
    answered: set[int] = field(default_factory=set, compare=False)
    shared: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def oldest(self) -> int:
        """The first of the commits that its answers are of: its own, unless some answers lag."""
        return min({self.generation, *self.answered})

    def rows(self, query: str, parameters: Parameters | None = None) -> list[SqlRow]:
        """Return the rows of an SQL query."""
        return self.connection.execute(query, parameters).fetchall()

    def rows_of(self, table: str, query: str, parameters: Sequence[object] | None = None) -> list[SqlRow]:
        """Return the rows of an SQL query on one table, which is asked once until that table changes."""
        return self.remember_of([table], query, lambda: self.rows(query, parameters))

    def columns(self, query: str, parameters: Parameters | None = None) -> Columns:
        """Return the columns of an SQL query as NumPy arrays; NULL in a column of floats is NaN."""
        arrays = self.connection.execute(query, parameters).fetchnumpy()
        return {name: _filled(values) for name, values in arrays.items()}

    def remember(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of ``make``, which is called once per generation."""
        return self.loader.memory.once(name, self.generation, make)

    def remember_of(self, tables: Iterable[str], name: str, make: Callable[[], T]) -> T:
        """Return the result of ``make``, which is called once until the tables that it uses change.

        Args:
          tables: The tables.
          name: The name of the result.
          make: Makes it.
        """
        version = tuple(self.changed.get(table, self.generation) for table in tables)
        return self.loader.memory.once(name, version, make)

    def remember_of_graphs(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of ``make``, which uses graphs and ops only and is called once for them."""
        return self.loader.memory.once(name, self.described, make)

    def remember_of_sites(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of ``make``, which uses the catalog only and is called once per catalog."""
        return self.loader.memory.once(name, (self.described, len(self.catalog.sites)), make)

    def remember_last(
        self,
        name: str,
        key: Hashable,
        most: float,
        make: Callable[[], T],
        weigh: Callable[[T], float] = lambda _: 1.0,
    ) -> T:
        """Return the result of ``make`` for a key, which is called once per generation.

        Args:
          name: The name of the results.
          key: What the result is of.
          most: How much the results that are kept may weigh; those that were used last are.
          make: Makes it.
          weigh: Returns what a result weighs: 1 if not given. One above `most` is not kept.
        """
        return self.loader.memory.last(name, self.generation, key, most, make, weigh)

    def share(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of ``make``, which is called once for the snapshot, and is gone with it."""
        if name not in self.shared:
            self.shared[name] = make()
        value: T = self.shared[name]
        return value

    def kept_with_run(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of ``make``, which is called once for the run, at once and under a lock."""
        return self.loader.memory.kept(name, make)

    def recall(self, name: str, kind: type[T]) -> T | None:
        """Return the value last passed to :meth:`keep`, in any generation; None when there is none."""
        return self.loader.memory.recall(name, kind)

    def keep(self, name: str, value: object) -> None:
        """Keep a value with the run; the caller of :meth:`recall` checks whether it is still valid."""
        self.loader.memory.keep(name, self.generation, value)


class _Keeps(Protocol):
    def __call__(self, snapshot: Snapshot, name: str, make: Callable[[], T], /) -> T: ...


def remembered(
    keeps: _Keeps,
) -> Callable[[Callable[Concatenate[Snapshot, P], T]], Callable[Concatenate[Snapshot, P], T]]:
    """Return a decorator of a question about a snapshot, which is answered once.

    Use::

        @remembered(Snapshot.remember_of_graphs)
        def adjacency(snapshot: Snapshot) -> Adjacency: ...

    Args:
      keeps: How long the answer holds: a method of :class:`Snapshot`. The answers for other arguments, which
        are told apart by their texts, are kept beside it.
    """

    def decorate(question: Callable[Concatenate[Snapshot, P], T]) -> Callable[Concatenate[Snapshot, P], T]:
        @functools.wraps(question)
        def ask(snapshot: Snapshot, /, *args: P.args, **kwargs: P.kwargs) -> T:
            name = f"{question.__module__}.{question.__qualname__}{args or ''}"
            return keeps(snapshot, name, lambda: question(snapshot, *args, **kwargs))

        return ask

    return decorate


def _filled(values: object) -> Array:
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    return values.filled(np.nan) if values.dtype.kind == "f" else np.asarray(values.filled())


def _catalog(
    loader: RunLoader, connection: duckdb.DuckDBPyConnection, described: int, num_sites: int
) -> Catalog:
    """Return the catalog; new sites, which each first run of an op brings, are added to the current one."""
    catalog = loader.memory.once("catalog", described, lambda: load_catalog(connection))
    if len(catalog.sites) >= num_sites:  # a later snapshot may have added more
        return catalog
    catalog = catalog.with_sites(load_sites(connection, len(catalog.sites)))
    loader.memory.keep("catalog", described, catalog)
    return catalog


def _num_rows(connection: duckdb.DuckDBPyConnection, meta: Mapping[str, str]) -> list[int]:
    """Return the number of rows of the lists; those of imported files are counted."""
    try:
        return [int(meta[f"{NUM_ROWS}{table}"]) for table in LISTS]
    except KeyError:
        query = ", ".join(f"(SELECT count(*) FROM {table})" for table in LISTS)
        return list(connection.execute(f"SELECT {query}").fetchall()[0])


def list_lengths(loader: RunLoader) -> dict[str, int]:
    """Return the number of rows of each long list, without the catalog that a snapshot loads.

    Raises:
      NotReadyError: There is no commit yet.
    """
    with loader.reading() as connection:
        meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
        return dict(zip(LISTS, _num_rows(connection, meta), strict=True))


@contextlib.contextmanager
def open_snapshot(loader: RunLoader, *, may_lag: bool = False) -> Iterator[Snapshot]:
    """Open a snapshot of a run's last commit.

    Args:
      loader: The run's loader.
      may_lag: Whether answers that take long may be those of an earlier commit while the run grows, for a
        viewer that asks at each commit. The default is exact.

    Raises:
      NotReadyError: There is no commit yet.
    """
    with loader.reading() as connection:
        meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
        generation = int(meta.get("generation", "0"))
        described = int(meta.get("catalog_generation", "0"))
        num_sites, executions, traces, bad_traces = _num_rows(connection, meta)
        catalog = _catalog(loader, connection, described, num_sites)
        changed = {
            key.removeprefix(CHANGED): int(value) for key, value in meta.items() if key.startswith(CHANGED)
        }
        stable = tuple(int(meta.get(f"stable_{suffix}", "0")) for suffix in TAILED)
        is_settled = stable == (executions, traces)
        snapshot = Snapshot(
            *(loader, connection, generation, described, is_settled, catalog),
            *(executions, traces, bad_traces, changed, may_lag),
        )
        try:
            yield snapshot
        finally:
            snapshot.shared.clear()  # what is in there mostly has the snapshot


@dataclass(frozen=True)
class Range:
    """Positions ``begin`` to ``end``; ``end`` is exclusive."""

    begin: int
    end: int


class RangeJson(TypedDict):
    """A page of a list."""

    begin: int  #: the range of the answer
    end: int


def resolve_range(begin: int, end: int, total: int, limit: int) -> Range:
    """Check a range against a list.

    Args:
      begin: The first position, from 0.
      end: The last position plus 1; -1 = the end of the list, or of the longest page if that comes first.
      total: The length of the list.
      limit: The largest number of rows in a page.

    Raises:
      BadQueryError: The range is not in the list, or has an end and is longer than a page.
    """
    if begin < 0:
        raise BadQueryError(f"begin must not be below 0, but is {begin}.")
    if end < -1:
        raise BadQueryError(f"end must be a position, or -1 for the end of the list, but is {end}.")
    if begin > total:
        raise BadQueryError(f"begin is {begin}, but the list has only {total} rows.")
    if end > total:
        raise BadQueryError(f"end is {end}, but the list has only {total} rows.")
    stop = min(total, begin + limit) if end == -1 else end
    if stop < begin:
        raise BadQueryError(f"end is {end}, which is before begin, {begin}.")
    if stop - begin > limit:
        raise BadQueryError(f"The range has {stop - begin} rows, but a page holds at most {limit}.")
    return Range(begin, stop)


def check_index(index: int, total: int, what: str) -> int:
    """Check one position in a list.

    Raises:
      BadQueryError: It is not in the list.
    """
    if not 0 <= index < total:
        raise BadQueryError(f"There is no {what} {index}; there are {total}.")
    return index
