"""Numbers the things that repeat, so that each is stored once: graphs, ops, sites, op types, shapes and
stacks.

Takes keys and returns small integers. A graph or op may be referred to before it is described, or never be
described: it gets its number at once and is marked as not known, and its description completes it later.

Invariant: numbers are dense from 0 and never change; ``save`` writes what has changed since the last time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

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


@dataclass
class Table(Generic[Row]):
    """Numbered rows of one table.

    Attributes:
      name: The name of the table.
      row_type: The class of the rows, which do not hold the number.
      numbers: Row number by key.
      rows: The rows by number.
      dirty: Numbers of rows that are not saved yet.
      saved: How many rows the database has.
    """

    name: str
    row_type: type[Row]
    numbers: dict[Hashable, int] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    dirty: set[int] = field(default_factory=set)
    saved: int = 0

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

    def load(self, connection: duckdb.DuckDBPyConnection, key: Callable[[Row], Hashable]) -> None:
        """Read all rows.

        Args:
          connection: A connection to the run's database.
          key: Returns the key of a row.
        """
        columns = ", ".join(f'"{name}"' for name in self.row_type._fields)
        query = f"SELECT {columns} FROM {self.name} ORDER BY {self.column}"
        self.rows = list(map(self.row_type._make, connection.execute(query).fetchall()))
        self.numbers = {key(row): number for number, row in enumerate(self.rows)}
        self.saved = len(self.rows)

    def save(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Write the rows that have changed."""
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
    registry = Registry()
    registry.graphs.load(connection, lambda row: (row.host, row.graph_id))
    registry.ops.load(connection, lambda row: (row.graph, row.name))
    registry.sites.load(connection, lambda row: row)
    registry.op_types.load(connection, lambda row: row.name)
    registry.shapes.load(connection, lambda row: row.text)
    _load_stacks(connection, registry.stacks)
    return registry


def _save_stacks(connection: duckdb.DuckDBPyConnection, table: Table[Stack]) -> None:
    rows = [
        StackRow(number, stack.host, stack.host_name, depth, frame)
        for number in sorted(table.dirty)
        for stack in [table.rows[number]]
        for depth, frame in enumerate(stack.frame_ids)
    ]
    insert_rows(connection, "stacks", kinds_of(StackRow), rows)
    table.set_saved()


def _load_stacks(connection: duckdb.DuckDBPyConnection, table: Table[Stack]) -> None:
    query = (
        "SELECT stack, host, host_name, list(frame_id ORDER BY depth) FROM stacks GROUP BY ALL ORDER BY stack"
    )
    for number, host, host_name, frame_ids in connection.execute(query).fetchall():
        stack = Stack(host, host_name, tuple(frame_ids))
        table.numbers[stack] = number
        table.rows.append(stack)
    table.saved = len(table.rows)
