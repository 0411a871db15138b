"""The tensors of a node that are on record, as lines with links."""

from __future__ import annotations

from typing import Any, Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.tensor_counts import tensor_counts
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.index.tensors import BAD
from tb_debugger_plugin.shell.links import command_line
from tb_debugger_plugin.shell.names import literal
from tb_debugger_plugin.shell.screen import Line, Part, Style, link, plain

#: The first tensors are listed; `lt` pages through all of them.
_SHOWN: Final = 1000


def dump_lines(snapshot: Snapshot, op: Op) -> list[Line]:
    """Return a line for each recorded tensor of an op, in the order of time, after an empty line."""
    sites = {site.number: site.slot for site in snapshot.catalog.op_sites.get(op.number, ())}
    count = int(tensor_counts(snapshot).tensors[op.number])
    begin = first_time(snapshot)
    others = _other_dumps(snapshot, op, begin)
    lines: list[Line] = [(), plain(f"{count + len(others):,} dumped tensor(s):", Style.HEADING), ()]
    lines += [_line(row, sites[row[1]], begin) for row in _rows(snapshot, list(sites))]
    if count > _SHOWN:
        rest = link("lt lists all of them", command_line("lt", "-n", f"{literal(op.name)}$"))
        lines.append((Part(f"  ({count - _SHOWN:,} more; "), rest, Part(")")))
    return lines + others


def first_time(snapshot: Snapshot) -> float:
    """Return when the first tensor of the run was computed; 0 if there is none."""
    rows = snapshot.rows("SELECT wall_time FROM graph_executions WHERE idx = 0")
    return float(rows[0][0]) if rows else 0.0


def _rows(snapshot: Snapshot, sites: list[int]) -> list[tuple[Any, ...]]:
    return snapshot.rows(
        "SELECT idx, site, wall_time, health, nan, neg_inf, pos_inf FROM graph_executions"
        f" WHERE site IN (SELECT unnest(?::INTEGER[])) ORDER BY idx LIMIT {_SHOWN}",
        [sites],
    )


def _line(row: tuple[Any, ...], slot: int, begin: float) -> Line:
    index, _, time, health, *counts = row
    text = f"Slot {slot} @ {(time - begin) * 1e3:.3f} ms"
    style = Style.BAD if health == BAD else Style.PLAIN
    words = bad_words(*counts)
    return (Part("  "), link(text, f"pt #{index}", style), Part(f"  {words}" if words else "", style))


def bad_words(nan: float | None, neg_inf: float | None, pos_inf: float | None) -> str:
    """Return how many elements are bad, such as ``2 NaN, 1 -inf``; empty if none, or if not counted."""
    counts = ((nan, "NaN"), (neg_inf, "-inf"), (pos_inf, "+inf"))
    return ", ".join(f"{count:,.0f} {name}" for count, name in counts if count and count == count)


def _other_dumps(snapshot: Snapshot, op: Op, begin: float) -> list[Line]:
    """Return the dumps of debug ops that give no tensor of the program, such as `DebugNumericSummary`."""
    rows = snapshot.rows(
        "SELECT watch_key, time FROM dump_files WHERE idx IS NULL AND starts_with(watch_key, ?)"
        f" ORDER BY time LIMIT {_SHOWN}",
        [f"{op.name}:"],
    )
    lines: list[Line] = []
    for key, time in rows:
        _, slot, debug_op = key.rsplit(":", 2)
        text = f"Slot {slot} @ {debug_op} @ {time / 1e3 - begin * 1e3:.3f} ms"
        lines.append((Part("  "), link(text, command_line("pt", key))))
    return lines
