"""The views ``tensors`` and ``calls``: what a run computed, in words, for queries of users and for exports.

Takes a snapshot and gives its connection two views over the tables of ``docs/schema.md``, and the short
tables of words that they join. All of them are temporary: a run that nobody asks has none of them.

The step of a tensor is how often the function in whose call it was computed had been called before. A call is
on record when it has returned, so that call is the first one that returned after the tensor was computed. It
is looked up in a list for each stretch of time, which, other than a join by times, keeps the order of rows
and reads no more of them than the query needs.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.calls.call_owner import CALLS
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.user_lines import user_lines
from tb_debugger_plugin.events.dtypes import NAMES
from tb_debugger_plugin.events.modes import MEASURED
from tb_debugger_plugin.index.columns import insert, texts
from tb_debugger_plugin.index.tensors import BAD, GOOD

_MENTIONED: Final = re.compile(r"\b(tensors|calls|show|describe|duckdb_views)\b", re.IGNORECASE)
#: Stretches of time in which the calls of a host are looked up.
_STRETCHES: Final = 1 << 16

_NUMBERS: Final = ", ".join(f"t.{name}" for name in MEASURED)
_HEALTH: Final = f"CASE t.health WHEN {GOOD} THEN 'good' WHEN {BAD} THEN 'bad' END AS health"
_RANK: Final = "nullif(coalesce(nullif(t.rank, -1), x.rank), -1) AS rank"

#: The short tables of words, in the order in which they are made; they are made once for a connection.
_WORDS: Final = (
    f"""CREATE TEMP TABLE _function_calls AS
    SELECT idx, host, wall_time, row_number() OVER (PARTITION BY host, op_type ORDER BY idx) - 1 AS step
    FROM ({CALLS})""",
    f"""CREATE TEMP TABLE _clocks AS
    SELECT host, min(wall_time) AS first,
      greatest((max(wall_time) - min(wall_time)) / least(4 * count(*), {_STRETCHES}), 1e-6) AS width
    FROM _function_calls WHERE isfinite(wall_time) GROUP BY host""",
    # A call is in the list of its own stretch, and in those since the call before, of which it is the next.
    f"""CREATE TEMP TABLE _stretches AS
    WITH placed AS (
      SELECT *, least(floor((wall_time - first) / width)::BIGINT, {_STRETCHES}) AS stretch
      FROM _function_calls JOIN _clocks USING (host) WHERE isfinite(wall_time)
    ), reaching AS (
      SELECT *, coalesce(lag(stretch) OVER (PARTITION BY host ORDER BY wall_time, idx), 0) AS since
      FROM placed
    ), entries AS (
      SELECT host, unnest(range(since, stretch + 1)) AS stretch, wall_time, step, idx FROM reaching
    )
    SELECT host, stretch, list({{'wall_time': wall_time, 'step': step}} ORDER BY wall_time, idx) AS calls
    FROM entries GROUP BY host, stretch""",
    """CREATE TEMP TABLE _sites AS
    SELECT s.site, s.host, h.name AS host_name, g.name AS function, o.name AS op, o.type AS op_type, s.slot,
      o.layer, o.variable, v.variables AS gradient_of, l.line, s.device, p.dtype, p.shape, c.first, c.width
    FROM sites s JOIN ops o USING (op) JOIN graphs g ON g.graph = s.graph
    LEFT JOIN _hosts h ON h.host = s.host LEFT JOIN _lines l ON l.stack = o.stack
    LEFT JOIN _clocks c ON c.host = s.host
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
_STEP: Final = "[call.step for call in k.calls if call.wall_time >= t.wall_time][1]"

#: The views by name.
VIEWS: Final[dict[str, str]] = {
    "tensors": f"""
    SELECT t.idx, false AS is_eager, t.wall_time, s.host_name AS host, {_STEP} AS step, s.function, s.op,
      s.op_type, s.slot, s.layer, s.variable, s.gradient_of, s.line, s.device, d.name AS dtype, {_RANK},
      x.text AS shape, {_HEALTH}, {_NUMBERS}
    FROM graph_executions t JOIN _sites s USING (site)
    LEFT JOIN _dtypes d ON d.dtype = coalesce(nullif(t.dtype, 0), s.dtype)
    LEFT JOIN shapes x ON x.shape = coalesce(nullif(t.shape, -1), s.shape)
    LEFT JOIN _stretches k ON k.host = s.host
      AND k.stretch = greatest(try_cast(floor((t.wall_time - s.first) / s.width) AS BIGINT), 0)
    UNION ALL
    SELECT t.idx, true, e.wall_time, h.name, NULL, NULL, NULL, n.name, t.slot, NULL, NULL, NULL, l.line,
      v.name, d.name, {_RANK}, x.text, {_HEALTH}, {_NUMBERS}
    FROM execution_outputs t JOIN executions e USING (idx) JOIN op_types n USING (op_type)
    LEFT JOIN _hosts h ON h.host = e.host LEFT JOIN _lines l ON l.stack = e.stack
    LEFT JOIN _devices v ON (v.host, v.device_id) = (e.host, t.device_id)
    LEFT JOIN _dtypes d ON d.dtype = t.dtype LEFT JOIN shapes x ON x.shape = t.shape
    WHERE t.has_value""",
    "calls": f"""
    SELECT t.idx, t.wall_time, h.name AS host, r.name AS thread, n.name, c.idx IS NOT NULL AS is_function,
      c.step, l.line, {_HEALTH}, t.num_inputs, t.num_outputs
    FROM executions t JOIN op_types n USING (op_type) LEFT JOIN _function_calls c USING (idx)
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
    lines = {stack: line.name for stack, line in user_lines(snapshot).items()}
    for table, key, words in (
        ("_hosts", "host", dict(enumerate(snapshot.catalog.host_names))),
        ("_dtypes", "dtype", NAMES),
        ("_lines", "stack", lines),
    ):
        column = "line" if table == "_lines" else "name"
        snapshot.connection.execute(f"CREATE TEMP TABLE {table} ({key} INTEGER, {column} VARCHAR)")
        columns = {key: np.array(list(words), np.int32), column: texts(list(words.values()))}
        insert(snapshot.connection, table, columns)
    for statement in _WORDS:
        snapshot.connection.execute(statement)
    for name, query in VIEWS.items():
        snapshot.connection.execute(f"CREATE TEMP VIEW {name} AS {query}")
