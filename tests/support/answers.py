"""Reads the tables of a run without arbitrary numbers, for comparing two ways to read the run."""

from __future__ import annotations

from typing import Final

import duckdb

from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.index.schema import TABLES
from tests.support.events import PATIENCE_S

_SHAPE: Final = "(SELECT text FROM shapes WHERE shapes.shape = t.shape) AS shape"
_OP: Final = "(SELECT (host, graph_id, ops.name) FROM ops JOIN graphs USING (graph) WHERE op = {})"
_FRAMES: Final = "SELECT list((host, host_name, frame_id) ORDER BY depth) FROM stacks"
_STACK: Final = f"({_FRAMES} WHERE stacks.stack = t.stack) AS stack"
_OP_TYPE: Final = "(SELECT name FROM op_types WHERE op_types.op_type = t.op_type) AS op_type"
_GRAPH: Final = "(SELECT (host, graph_id) FROM graphs WHERE graphs.graph = t.graph) AS graph"

#: By table: a SQL query whose rows do not depend on the numbers of graphs, ops, sites, shapes and stacks.
QUERIES: Final[dict[str, str]] = {
    "executions": f"SELECT t.* REPLACE ({_OP_TYPE}, {_GRAPH}, {_STACK}) FROM executions t ORDER BY idx",
    "execution_inputs": "FROM execution_inputs ORDER BY idx, slot",
    "execution_outputs": f"SELECT t.* REPLACE ({_SHAPE}) FROM execution_outputs t ORDER BY idx, slot",
    "graph_executions": f"SELECT t.* EXCLUDE (site) REPLACE ({_SHAPE}), {_OP.format('sites.op')},"
    " slot, device FROM graph_executions t JOIN sites USING (site) ORDER BY idx",
    "bad_graph_executions": "FROM bad_graph_executions ORDER BY bad",
    "graphs": "SELECT t.* EXCLUDE (graph) FROM graphs t ORDER BY ALL",
    "ops": f"SELECT t.* EXCLUDE (op) REPLACE ({_GRAPH}, {_STACK}) FROM ops t ORDER BY ALL",
    "op_outputs": f"SELECT t.* REPLACE ({_SHAPE}, {_OP.format('t.op')} AS op) FROM op_outputs t ORDER BY ALL",
    "edges": f"SELECT {_OP.format('t.op')}, input_slot, {_OP.format('t.source_op')}, source_slot"
    " FROM edges t ORDER BY ALL",
    "op_graphs": f"SELECT {_OP.format('t.op')}, position, {_GRAPH} FROM op_graphs t ORDER BY ALL",
    "gradients": f"SELECT {_OP.format('t.op')}, slot, variable FROM gradients t ORDER BY ALL",
    "sites": f"SELECT {_OP.format('t.op')}, host, slot, device FROM sites t ORDER BY ALL",
    "op_types": "SELECT name, is_function FROM op_types ORDER BY ALL",
    "shapes": "SELECT text, rank FROM shapes ORDER BY ALL",
    "stacks": "SELECT host, host_name, depth, frame_id FROM stacks ORDER BY ALL",
    "meta": "FROM meta WHERE key LIKE 'stable_%' ORDER BY ALL",
}


def answers(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[str, ...]]]:
    """Returns the rows of all tables, comparable with those of another database; NaN and None are text."""
    actual = {}
    for table in TABLES:
        query = QUERIES.get(table, f"FROM {table} ORDER BY ALL")
        actual[table] = [tuple(map(repr, row)) for row in connection.execute(query).fetchall()]
    return actual


def answers_of(folder: Location) -> dict[str, list[tuple[str, ...]]]:
    """Returns the rows of all tables of the folder's only run, read completely."""
    (run,) = find_runs(folder)
    loader = RunLoader(run)
    try:
        assert loader.wait(PATIENCE_S) and not loader.failure, loader.failure
        with loader.reading() as connection:
            return answers(connection)
    finally:
        loader.close()
