"""The views ``tensors`` and ``calls``: what a run computed, in words, for queries of users and for exports.

Takes a snapshot and gives its connection two views over the tables of ``docs/schema.md``, and the short
tables of words that they join. All of them are temporary: a run that nobody asks has none of them.

The step of a row is on record, or else follows from its time: it is the first one that ended after the row,
see :mod:`~tb_debugger_plugin.analysis.calls.steps`. It is then looked up in a list for each stretch of time,
which, other than a join by times, keeps the order of rows and reads no more of them than the query needs.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.calls.steps import host_steps
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.user_lines import all_user_lines
from tb_debugger_plugin.events.dtypes import NAMES
from tb_debugger_plugin.events.modes import MEASURED
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.columns import insert, texts
from tb_debugger_plugin.index.tensors import BAD, GOOD

_MENTIONED: Final = re.compile(r"\b(tensors|calls|show|describe|duckdb_views)\b", re.IGNORECASE)
#: Stretches of time in which the steps of a host are looked up.
_STRETCHES: Final = 1 << 16

_NUMBERS: Final = ", ".join(f"t.{name}" for name in MEASURED)
_HEALTH: Final = f"CASE t.health WHEN {GOOD} THEN 'good' WHEN {BAD} THEN 'bad' END AS health"
_RANK: Final = "nullif(coalesce(nullif(t.rank, -1), x.rank), -1) AS rank"

#: The short tables of words, in the order in which they are made; they are made once for a connection.
_WORDS: Final = (
    f"""CREATE TEMP TABLE _clocks AS
    SELECT host, min(wall_time) AS first,
      greatest((max(wall_time) - min(wall_time)) / least(4 * count(*), {_STRETCHES}), 1e-6) AS width
    FROM _step_ends GROUP BY host""",
    # An end is in the list of its own stretch, and in those since the end before, of which it is the next.
    f"""CREATE TEMP TABLE _stretches AS
    WITH placed AS (
      SELECT *, least(floor((wall_time - first) / width)::BIGINT, {_STRETCHES}) AS stretch
      FROM _step_ends JOIN _clocks USING (host)
    ), reaching AS (
      SELECT *, coalesce(lag(stretch) OVER (PARTITION BY host ORDER BY wall_time, step), 0) AS since
      FROM placed
    ), entries AS (
      SELECT host, unnest(range(since, stretch + 1)) AS stretch, wall_time, step FROM reaching
    )
    SELECT host, stretch, list({{'wall_time': wall_time, 'step': step}} ORDER BY wall_time, step) AS ends
    FROM entries GROUP BY host, stretch""",
    """CREATE TEMP TABLE _sites AS
    SELECT s.site, s.host, h.name AS host_name, g.name AS function, o.name AS op, o.type AS op_type, s.slot,
      o.layer, o.variable, v.variables AS gradient_of, l.line, s.device, p.dtype, p.shape
    FROM sites s JOIN ops o USING (op) JOIN graphs g ON g.graph = s.graph
    LEFT JOIN _hosts h ON h.host = s.host LEFT JOIN _lines l ON l.stack = o.stack
    LEFT JOIN (
      SELECT op, slot, string_agg(variable, ', ' ORDER BY rowid) AS variables FROM gradients GROUP BY op, slot
    ) v ON (v.op, v.slot) = (s.op, s.slot)
    LEFT JOIN (SELECT op, slot, max(dtype) AS dtype, max(shape) AS shape FROM op_outputs GROUP BY op, slot) p
      ON (p.op, p.slot) = (s.op, s.slot)""",
    """CREATE TEMP TABLE _devices AS
    SELECT host, device_id, max(name) AS name FROM devices GROUP BY host, device_id""",
    """CREATE TEMP TABLE _threads AS
    SELECT host, thread, max(name) AS name FROM threads GROUP BY host, thread""",
)


def _step(row: str, host: str) -> tuple[str, str]:
    """Return SQL of the step of a row, and of the joins that it needs."""
    ends = f"[one.step for one in k.ends if one.wall_time >= {row}.wall_time][1]"
    stretch = f"greatest(try_cast(floor(({row}.wall_time - c.first) / c.width) AS BIGINT), 0)"
    return (
        f"CASE WHEN z.is_marked THEN {row}.step ELSE coalesce({ends}, z.last_step) END AS step",
        f"""LEFT JOIN _step_hosts z ON z.host = {host} LEFT JOIN _clocks c ON c.host = {host}
    LEFT JOIN _stretches k ON k.host = {host} AND k.stretch = {stretch}""",
    )


_TRACE_STEP, _OF_TRACE = _step("t", "s.host")
_OUTPUT_STEP, _OF_OUTPUT = _step("e", "e.host")
_CALL_STEP, _OF_CALL = _step("t", "t.host")

#: The views by name.
VIEWS: Final[dict[str, str]] = {
    "tensors": f"""
    SELECT t.idx, false AS is_eager, t.wall_time, s.host_name AS host, {_TRACE_STEP}, s.function, s.op,
      s.op_type, s.slot, s.layer, s.variable, s.gradient_of, s.line, s.device, d.name AS dtype, {_RANK},
      x.text AS shape, {_HEALTH}, {_NUMBERS}
    FROM graph_executions t JOIN _sites s USING (site)
    LEFT JOIN _dtypes d ON d.dtype = coalesce(nullif(t.dtype, 0), s.dtype)
    LEFT JOIN shapes x ON x.shape = coalesce(nullif(t.shape, -1), s.shape)
    {_OF_TRACE}
    UNION ALL
    SELECT t.idx, true, e.wall_time, h.name, {_OUTPUT_STEP}, NULL, NULL, n.name, t.slot,
      NULL, NULL, NULL, l.line,
      v.name, d.name, {_RANK}, x.text, {_HEALTH}, {_NUMBERS}
    FROM execution_outputs t JOIN executions e USING (idx) JOIN op_types n USING (op_type)
    LEFT JOIN _hosts h ON h.host = e.host LEFT JOIN _lines l ON l.stack = e.stack
    LEFT JOIN _devices v ON (v.host, v.device_id) = (e.host, t.device_id)
    LEFT JOIN _dtypes d ON d.dtype = t.dtype LEFT JOIN shapes x ON x.shape = t.shape
    {_OF_OUTPUT}
    WHERE t.has_value""",
    "calls": f"""
    SELECT t.idx, t.wall_time, h.name AS host, r.name AS thread, n.name,
      n.is_function OR t.graph >= 0 AS is_function, {_CALL_STEP}, l.line, {_HEALTH},
      t.num_inputs, t.num_outputs
    FROM executions t JOIN op_types n USING (op_type) {_OF_CALL}
    LEFT JOIN _hosts h ON h.host = t.host LEFT JOIN _threads r ON (r.host, r.thread) = (t.host, t.thread)
    LEFT JOIN _lines l ON l.stack = t.stack""",
}


def may_read_views(query: str) -> bool:
    """Whether a query may read or list the views: whether it has one of their names anywhere."""
    return _MENTIONED.search(query) is not None


def add_views(snapshot: Snapshot) -> None:
    """Give the connection of a snapshot the views of :data:`VIEWS`, unless it has them."""
    if snapshot.rows("SELECT 1 FROM duckdb_views() WHERE temporary AND view_name = 'tensors'"):
        return
    lines = {stack: line.name for stack, line in all_user_lines(snapshot).items()}
    for table, key, words in (
        ("_hosts", "host", dict(enumerate(snapshot.catalog.host_names))),
        ("_dtypes", "dtype", NAMES),
        ("_lines", "stack", lines),
    ):
        column = "line" if table == "_lines" else "name"
        snapshot.connection.execute(f"CREATE TEMP TABLE {table} ({key} INTEGER, {column} VARCHAR)")
        columns = {key: np.array(list(words), np.int32), column: texts(list(words.values()))}
        insert(snapshot.connection, table, columns)
    _add_steps(snapshot)
    for statement in _WORDS:
        snapshot.connection.execute(statement)
    for name, query in VIEWS.items():
        snapshot.connection.execute(f"CREATE TEMP VIEW {name} AS {query}")


def _add_steps(snapshot: Snapshot) -> None:
    """Make the tables of hosts, with their last steps, and of when steps ended that are not on record."""
    hosts = host_steps(snapshot)
    ends = [np.full(len(one.ends), host, np.int32) for host, one in enumerate(hosts)]
    tables: dict[str, tuple[str, dict[str, Array]]] = {
        "_step_hosts": (
            "host INTEGER, is_marked BOOLEAN, last_step BIGINT",
            {
                "host": np.arange(len(hosts), dtype=np.int32),
                "is_marked": np.array([one.kind == "marked" for one in hosts], bool),
                "last_step": np.array(
                    [one.numbers[-1] if len(one.numbers) else 0 for one in hosts], np.int64
                ),
            },
        ),
        "_step_ends": (
            "host INTEGER, wall_time DOUBLE, step BIGINT",
            {
                "host": np.concatenate([np.empty(0, np.int32), *ends]),
                "wall_time": np.concatenate([np.empty(0), *(one.ends for one in hosts)]),
                "step": np.concatenate([np.empty(0, np.int64), *(one.numbers[:-1] for one in hosts)]),
            },
        ),
    }
    for table, (types, columns) in tables.items():
        snapshot.connection.execute(f"CREATE TEMP TABLE {table} ({types})")
        insert(snapshot.connection, table, columns)
