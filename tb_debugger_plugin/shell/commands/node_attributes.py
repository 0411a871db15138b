"""The attributes of a node as lines."""

from __future__ import annotations

from typing import Any

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.reading.dumps.dump_dir import DebugDumpDir
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.shell.screen import Line, Style, plain


def attribute_lines(run: Run, snapshot: Snapshot, op: Op) -> list[Line]:
    """Return two lines for each attribute, after a heading."""
    lines: list[Line] = [(), plain("Node attributes:", Style.HEADING)]
    attributes = _recorded(snapshot, op) if op.attributes else _dumped(run, snapshot, op)
    if attributes is None:
        return [*lines, plain("  Not recorded: only this package's recorder and dump folders hold them.")]
    for name, value in attributes:
        lines += [plain(f"  {name}:"), plain(f"    {value}"), ()]
    return lines


def _recorded(snapshot: Snapshot, op: Op) -> list[tuple[Any, ...]]:
    host = snapshot.catalog.graphs[op.graph].host
    return snapshot.rows(
        "SELECT name, value FROM op_attributes WHERE host = ? AND attributes = ? ORDER BY name",
        [host, op.attributes],
    )


def _dumped(run: Run, snapshot: Snapshot, op: Op) -> list[tuple[str, str]] | None:
    """Return what the graph in a dump folder says; None in a recording."""
    rows = snapshot.rows(
        "SELECT c.folder, g.device FROM dump_graphs g JOIN dump_calls c USING (call)"
        " WHERE g.graph = ? ORDER BY call LIMIT 1",
        [op.graph],
    )
    if not rows:
        return None
    ((folder, device),) = rows
    with DebugDumpDir(run.folder, call=folder) as dump:
        attributes = dump.node_attributes(op.name, device_name=op.device or device)
    return [(name, " ".join(str(attributes[name]).split())) for name in sorted(attributes)]
