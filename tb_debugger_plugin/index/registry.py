"""Numbers the things that repeat, so that each is stored once: graphs, ops, sites, op types, shapes and
stacks.

Takes keys and returns small integers. A graph or op may be referred to before it is described, or never be
described: it gets its number at once and is marked as not known, and its description completes it later.

Invariant: numbers are dense from 0 and never change; ``save`` writes what has changed since the last time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tb_debugger_plugin.index.columns import insert_rows

if TYPE_CHECKING:
    # The decoding processes do not use a database, and importing it takes 14 MB.
    import duckdb

# The largest value of the column; no tensor has as many dimensions.
_MAX_RANK: Final = 32767
_FUNCTION: Final = re.compile(r"^__(inference|forward|backward)_")

_GRAPH_KINDS: Final = {
    "graph": "i4",
    "host": "i4",
    "graph_id": "O",
    "name": "O",
    "outer_id": "O",
    "known": "?",
}
_OP_KINDS: Final = {
    **{"op": "i4", "graph": "i4", "name": "O", "type": "O", "device": "O", "num_outputs": "i4"},
    **{"wall_time": "f8", "stack": "i4", "layer": "O", "variable": "O", "known": "?"},
}
_SITE_KINDS: Final = {"site": "i4", "op": "i4", "graph": "i4", "host": "i4", "slot": "i4", "device": "O"}


@dataclass
class Table:
    """Numbered rows of one table.

    Attributes:
      numbers: Row number by key.
      rows: The rows by number, without the number.
      dirty: Numbers of rows that are not saved yet.
      saved: How many rows the database has.
    """

    numbers: dict[Any, int] = field(default_factory=dict)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    dirty: set[int] = field(default_factory=set)
    saved: int = 0

    def number(self, key: Any, row: tuple[Any, ...]) -> int:
        """Returns the number of a key; a new key gets the row."""
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.rows)
            self.rows.append(row)
            self.dirty.add(number)
        return number

    def replace(self, number: int, row: tuple[Any, ...]) -> None:
        """Replace a row."""
        if self.rows[number] != row:
            self.rows[number] = row
            self.dirty.add(number)

    def save(self, connection: duckdb.DuckDBPyConnection, table: str, kinds: dict[str, str]) -> None:
        """Write the changed rows; the first key of ``kinds`` is the column of the number."""
        changed = sorted(number for number in self.dirty if number < self.saved)
        if changed:
            connection.execute(
                f"DELETE FROM {table} WHERE {next(iter(kinds))} IN (SELECT unnest(?))", [changed]
            )
        insert_rows(connection, table, kinds, [(number, *self.rows[number]) for number in sorted(self.dirty)])
        self.saved = len(self.rows)
        self.dirty.clear()


class Registry:
    """All numbered things of a run; lives as long as its indexer, which fills it from the tables."""

    def __init__(self) -> None:
        self.graphs = Table()
        self.ops = Table()
        self.sites = Table()
        self.op_types = Table()
        self.shapes = Table()
        self.stacks = Table()
        self._site_cache: dict[tuple[int, str, str, int, str], int] = {}

    def graph(self, host: int, graph_id: str) -> int:
        """Returns the number of a graph, which may not be described yet."""
        return self.graphs.number((host, graph_id), (host, graph_id, None, None, False))

    def describe_graph(self, host: int, graph_id: str, name: str, outer_id: str) -> None:
        """Complete a graph by its description."""
        self.graphs.replace(
            self.graph(host, graph_id), (host, graph_id, name or None, outer_id or None, True)
        )

    def op(self, graph: int, name: str) -> int:
        """Returns the number of an op, which may not be described yet."""
        return self.ops.number((graph, name), (graph, name, None, None, None, None, -1, None, None, False))

    def describe_op(self, graph: int, name: str, *description: Any) -> int:
        """Complete an op by its type, device, number of outputs, wall time, stack, layer and variable."""
        number = self.op(graph, name)
        self.ops.replace(number, (graph, name, *description, True))
        return number

    def site(self, host: int, graph_id: str, op_name: str, slot: int, device: str) -> int:
        """Returns the number of a site: a slot of an op on a device."""
        key = (host, graph_id, op_name, slot, device)
        number = self._site_cache.get(key)
        if number is None:
            graph = self.graph(host, graph_id)
            op = self.op(graph, op_name)
            row = (op, graph, host, slot, device or None)
            number = self._site_cache[key] = self.sites.number(row, row)
        return number

    def op_type(self, name: str) -> int:
        """Returns the number of an op type, or name of a function, that ran eagerly."""
        return self.op_types.number(name, (name, bool(_FUNCTION.match(name))))

    def shape(self, text: str, rank: int) -> int:
        """Returns the number of a shape."""
        return self.shapes.number(text, (text, min(rank, _MAX_RANK)))

    def stack(self, host: int, location: Any) -> int:
        """Returns the number of a stack; -1 for a ``CodeLocation`` without frames."""
        frames = tuple(location.stack_frame_ids)
        key = (host, location.host_name, frames)
        return self.stacks.number(key, key) if frames else -1

    def save(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Write what changed, inside the caller's transaction; returns whether anything did."""
        tables = (self.graphs, self.ops, self.sites, self.op_types, self.shapes, self.stacks)
        changed = any(table.dirty for table in tables)
        self.graphs.save(connection, "graphs", _GRAPH_KINDS)
        self.ops.save(connection, "ops", _OP_KINDS)
        self.sites.save(connection, "sites", _SITE_KINDS)
        self.op_types.save(connection, "op_types", {"op_type": "i4", "name": "O", "is_function": "?"})
        self.shapes.save(connection, "shapes", {"shape": "i4", "text": "O", "rank": "i2"})
        self._save_stacks(connection)
        return changed

    def _save_stacks(self, connection: duckdb.DuckDBPyConnection) -> None:
        rows = [
            (number, host, host_name, depth, frame)
            for number in sorted(self.stacks.dirty)
            for host, host_name, frames in [self.stacks.rows[number]]
            for depth, frame in enumerate(frames)
        ]
        kinds = {"stack": "i4", "host": "i4", "host_name": "O", "depth": "i4", "frame_id": "O"}
        insert_rows(connection, "stacks", kinds, rows)
        self.stacks.saved = len(self.stacks.rows)
        self.stacks.dirty.clear()


def load_registry(connection: duckdb.DuckDBPyConnection) -> Registry:
    """Load the registry as it was saved.

    Args:
      connection: A connection to the run's database.
    """
    registry = Registry()
    _load(connection, registry.graphs, "graphs", "graph", lambda row: (row[0], row[1]))
    _load(connection, registry.ops, "ops", "op", lambda row: (row[0], row[1]))
    _load(connection, registry.sites, "sites", "site", lambda row: row)
    _load(connection, registry.op_types, "op_types", "op_type", lambda row: row[0])
    _load(connection, registry.shapes, "shapes", "shape", lambda row: row[0])
    _load_stacks(connection, registry.stacks)
    return registry


def _load(connection: duckdb.DuckDBPyConnection, table: Table, name: str, number: str, key: Any) -> None:
    for _, *fields in connection.execute(f"SELECT * FROM {name} ORDER BY {number}").fetchall():
        row = tuple(fields)
        table.numbers[key(row)] = len(table.rows)
        table.rows.append(row)
    table.saved = len(table.rows)


def _load_stacks(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    query = (
        "SELECT stack, host, host_name, list(frame_id ORDER BY depth) FROM stacks GROUP BY ALL ORDER BY stack"
    )
    for number, host, host_name, frames in connection.execute(query).fetchall():
        key = (host, host_name, tuple(frames))
        table.numbers[key] = number
        table.rows.append(key)
    table.saved = len(table.rows)
