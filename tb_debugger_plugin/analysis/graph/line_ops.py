"""Which lines of a source file a program can stop at: those that made ops or ran some from Python.

Each op belongs to one line, the innermost one of the program's own files in its stack, as for a breakpoint on
a line. A stack of library files only belongs to its innermost line.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from tb_debugger_plugin.analysis.graph.source_ops import executions_by_stack, ops_by_stack
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.sources import USER, whose_code
from tb_debugger_plugin.errors import NotFoundError

#: The most ops that are named of a line.
MOST_OPS: Final = 100


def line_ops(snapshot: Snapshot, index: int) -> list[dict[str, Any]]:
    """Return the lines of a source file that made or ran something, by line.

    Raises:
      NotFoundError: There is no file with that index.
    """
    if not snapshot.rows("SELECT 1 FROM sources WHERE source = ?", [index]):
        raise NotFoundError(f"There is no source file {index}.")
    of_stack = ops_by_stack(snapshot)
    executions = executions_by_stack(snapshot)
    found = []
    for line, stacks in sorted(_stacks_of_lines(snapshot).get(index, {}).items()):
        ops = sorted(op for stack in stacks for op in of_stack.get(stack, ()))
        ran = sum(executions.get(stack, 0) for stack in stacks)
        if ops or ran:
            found.append({"line": line, "num_ops": len(ops), "executions": ran, "ops": _named(snapshot, ops)})
    return found


def _named(snapshot: Snapshot, numbers: list[int]) -> list[dict[str, Any]]:
    catalog = snapshot.catalog
    ops = [catalog.ops[number] for number in numbers[:MOST_OPS]]
    return [
        {"graph_id": catalog.graphs[op.graph].graph_id, "op_name": op.name, "op_type": op.type} for op in ops
    ]


def _stacks_of_lines(snapshot: Snapshot) -> dict[int, dict[int, list[int]]]:
    """Return the stacks of each line, by source."""
    return snapshot.remember("stacks_of_own_lines", lambda: _find_lines(snapshot))


def _find_lines(snapshot: Snapshot) -> dict[int, dict[int, list[int]]]:
    own = [
        source
        for source, path, recorded in snapshot.rows("SELECT source, path, origin FROM sources")
        if whose_code(path, recorded) == USER
    ]
    rows = snapshot.columns(
        # The depth of a library frame is made negative, so that any frame of the program is inside of it.
        "SELECT stack, arg_max(source, rank) AS source, arg_max(line, rank) AS line FROM ("
        " SELECT k.stack, s.source, f.line,"
        "  CASE WHEN s.source IN (SELECT unnest(?)) THEN k.depth ELSE k.depth - 1000000 END AS rank"
        " FROM stacks k JOIN frames f ON f.host = k.host AND f.frame_id = k.frame_id"
        " JOIN sources s ON s.host = f.host AND s.file_index = f.file_index"
        ") GROUP BY stack ORDER BY stack",
        [own],
    )
    lines: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for stack, source, line in zip(
        *(rows[name].tolist() for name in ("stack", "source", "line")), strict=True
    ):
        lines[source][line].append(stack)
    return lines
