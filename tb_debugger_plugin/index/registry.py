"""Numbers the things that repeat, so that each is stored once: graphs, ops, sites, op types, shapes and
stacks.

Takes keys and returns small integers. A graph or op may be referred to before it is described, or never be
described: it gets its number at once and is marked as not known, and its description completes it later.
A table of an open run is read when something needs a number: to open a run that has ended needs none, and it
takes megabytes.

Invariant: numbers are dense from 0 and never change; ``save`` writes what has changed since the last time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.index.columns import insert_rows
from tb_debugger_plugin.index.rows import (
    NUMBERS,
    GraphRow,
    OpRow,
    OpTypeRow,
    ShapeRow,
    SiteRow,
    StackRow,
    kinds_of,
)

if TYPE_CHECKING:
    # The decoding processes do not use a database, and importing it takes 14 MB.
    import duckdb

# The largest value of the column; no tensor has as many dimensions.
_MAX_RANK: Final = 32767
_FUNCTION: Final = re.compile(r"^__(inference|forward|backward)_")

Row = TypeVar("Row", bound=NamedTuple)


class Stack(NamedTuple):
    """A stack: the ids of its frames, outermost first."""

    host: int
    host_name: str
    frame_ids: tuple[str, ...]


class Table(Generic[Row]):
    """Numbered rows of one table.

    Args:
      name: The name of the table.
      row_type: The class of the rows, which do not hold the number.

    Attributes:
      name: As given.
      row_type: As given.
      numbers: Row number by key.
      rows: The rows by number.
      dirty: Numbers of rows that are not saved yet.
      saved: How many rows the database has, once they are read.
    """

    numbers: dict[Hashable, int]
    rows: list[Row]

    def __init__(self, name: str, row_type: type[Row]) -> None:
        self.name = name
        self.row_type = row_type
        self.dirty: set[int] = set()
        self._set([], {})

    def _set(self, rows: list[Row], numbers: dict[Hashable, int]) -> None:
        self.rows, self.numbers, self.saved = rows, numbers, len(rows)

    def __getattr__(self, name: str) -> Any:
        # Only called for an attribute that is missing: what is to be read first. A property would be slower.
        if name not in ("rows", "numbers"):
            raise AttributeError(name)
        rows = self._read()
        self._set(rows, {self._key(row): number for number, row in enumerate(rows)})
        return getattr(self, name)

    @property
    def column(self) -> str:
        """The name of the column with the numbers."""
        return NUMBERS[self.name]

    def number(self, key: Hashable, row: Row) -> int:
        """Return the number of a key; a new key gets the row."""
        number = self.numbers.get(key)
        return self.add(key, row) if number is None else number

    def add(self, key: Hashable, row: Row) -> int:
        """Return the number of a key that is new."""
        number = self.numbers[key] = len(self.rows)
        self.rows.append(row)
        self.dirty.add(number)
        return number

    def replace(self, number: int, row: Row) -> None:
        """Replace a row."""
        if self.rows[number] != row:
            self.rows[number] = row
            self.dirty.add(number)

    def load_later(self, read: Callable[[], list[Row]], key: Callable[[Row], Hashable]) -> None:
        """Let the rows be those of a database, which are read when one is first needed.

        Args:
          read: Reads all rows, in any thread.
          key: Returns the key of a row.
        """
        self._read, self._key = read, key
        del self.rows, self.numbers

    def save(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Write the rows that have changed."""
        if not self.dirty:
            return
        changed = sorted(number for number in self.dirty if number < self.saved)
        if changed:
            query = f"DELETE FROM {self.name} WHERE {self.column} IN (SELECT unnest(?))"
            connection.execute(query, [changed])
        kinds = {self.column: "i4", **kinds_of(self.row_type)}
        rows = [(number, *self.rows[number]) for number in sorted(self.dirty)]
        insert_rows(connection, self.name, kinds, rows)
        self.set_saved()

    def set_saved(self) -> None:
        """Note that the database has all rows."""
        self.saved = len(self.rows)
        self.dirty.clear()


class Registry:
    """All numbered things of a run; lives as long as its indexer, which fills it from the tables."""

    def __init__(self) -> None:
        self.graphs = Table("graphs", GraphRow)
        self.ops = Table("ops", OpRow)
        self.sites = Table("sites", SiteRow)
        self.op_types = Table("op_types", OpTypeRow)
        self.shapes = Table("shapes", ShapeRow)
        self.stacks = Table("stacks", Stack)
        self._site_cache: dict[tuple[int, str, str, int, str], int] = {}

    # Most keys are known, so a row is made only for a new one.

    def graph(self, host: int, graph_id: str) -> int:
        """Return the number of a graph, which may not be described yet."""
        number = self.graphs.numbers.get((host, graph_id))
        return self.graphs.add((host, graph_id), GraphRow(host, graph_id)) if number is None else number

    def describe_graph(self, graph: GraphRow) -> None:
        """Complete a graph by its description."""
        self.graphs.replace(self.graph(graph.host, graph.graph_id), graph)

    def op(self, graph: int, name: str) -> int:
        """Return the number of an op, which may not be described yet."""
        number = self.ops.numbers.get((graph, name))
        return self.ops.add((graph, name), OpRow(graph, name)) if number is None else number

    def describe_op(self, op: OpRow) -> int:
        """Complete an op by its description; return its number."""
        key = (op.graph, op.name)
        number = self.ops.numbers.get(key)
        if number is None:
            return self.ops.add(key, op)
        self.ops.replace(number, op)
        return number

    def knows_op(self, graph: int, name: str) -> bool:
        """Whether the op is described."""
        number = self.ops.numbers.get((graph, name))
        return number is not None and self.ops.rows[number].known

    def stack_of_op(self, graph: int, name: str) -> int | None:
        """Return the number of the stack of an op; None when the op is not described."""
        number = self.ops.numbers.get((graph, name))
        row = None if number is None else self.ops.rows[number]
        return row.stack if row is not None and row.known else None

    def site(self, host: int, graph_id: str, op_name: str, slot: int, device: str) -> int:
        """Return the number of a site: a slot of an op on a device."""
        key = (host, graph_id, op_name, slot, device)
        number = self._site_cache.get(key)
        if number is None:
            graph = self.graph(host, graph_id)
            row = SiteRow(self.op(graph, op_name), graph, host, slot, device or None)
            number = self._site_cache[key] = self.sites.number(row, row)
        return number

    def op_type(self, name: str) -> int:
        """Return the number of an op type, or name of a function, that ran eagerly."""
        number = self.op_types.numbers.get(name)
        if number is None:
            number = self.op_types.add(name, OpTypeRow(name, bool(_FUNCTION.match(name))))
        return number

    def shape(self, text: str, rank: int) -> int:
        """Return the number of a shape."""
        number = self.shapes.numbers.get(text)
        return self.shapes.add(text, ShapeRow(text, min(rank, _MAX_RANK))) if number is None else number

    def stack(self, host: int, location: Message) -> int:
        """Return the number of a stack; -1 for a ``CodeLocation`` without frames."""
        stack = Stack(host, location.host_name, tuple(location.stack_frame_ids))
        return self.stacks.number(stack, stack) if stack.frame_ids else -1

    def save(self, connection: duckdb.DuckDBPyConnection) -> set[str]:
        """Write what changed, inside the caller's transaction.

        Returns:
          The tables that changed.
        """
        tables = (self.graphs, self.ops, self.op_types, self.shapes, self.sites)
        changed = {table.name for table in (*tables, self.stacks) if table.dirty}
        for table in tables:
            table.save(connection)
        _save_stacks(connection, self.stacks)
        return changed


def load_registry(connection: duckdb.DuckDBPyConnection) -> Registry:
    """Load the registry as it was saved.

    Args:
      connection: A connection to the run's database.
    """
    registry, saved = Registry(), _SavedTables(connection)
    registry.graphs.load_later(lambda: saved.rows(registry.graphs), lambda row: (row.host, row.graph_id))
    registry.ops.load_later(lambda: saved.rows(registry.ops), lambda row: (row.graph, row.name))
    registry.sites.load_later(lambda: saved.rows(registry.sites), lambda row: row)
    registry.op_types.load_later(lambda: saved.rows(registry.op_types), lambda row: row.name)
    registry.shapes.load_later(lambda: saved.rows(registry.shapes), lambda row: row.text)
    registry.stacks.load_later(saved.stacks, lambda row: row)
    return registry


class _SavedTables:
    """Reads the tables of a database, also while another thread uses its connection.

    Args:
      connection: A connection to the database.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._search_path = connection.execute("SELECT current_setting('search_path')").fetchall()[0][0]

    def rows(self, table: Table[Row]) -> list[Row]:
        """Return the rows of a table, by their numbers."""
        columns = ", ".join(f'"{name}"' for name in table.row_type._fields)
        found = self._select(f"SELECT {columns} FROM {table.name} ORDER BY {table.column}")
        return list(map(table.row_type._make, found))

    def stacks(self) -> list[Stack]:
        """Return the stacks, by their numbers; the table has a row for each frame."""
        found = self._select(
            "SELECT host, host_name, list(frame_id ORDER BY depth) FROM stacks"
            " GROUP BY stack, host, host_name ORDER BY stack"
        )
        return [Stack(host, host_name, tuple(frame_ids)) for host, host_name, frame_ids in found]

    def _select(self, query: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(f"SET search_path = '{self._search_path}'")
            return cursor.execute(query).fetchall()


def _save_stacks(connection: duckdb.DuckDBPyConnection, table: Table[Stack]) -> None:
    if not table.dirty:
        return
    rows = [
        StackRow(number, stack.host, stack.host_name, depth, frame)
        for number in sorted(table.dirty)
        for stack in [table.rows[number]]
        for depth, frame in enumerate(stack.frame_ids)
    ]
    insert_rows(connection, "stacks", kinds_of(StackRow), rows)
    table.set_saved()
