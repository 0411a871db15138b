"""Full-text search: finds things by a few letters of their names.

Takes text and returns ops, tensors, layers, variables, functions, source files and lines that contain it,
ignoring case. Equal names come first, then names that begin with the text, then the shortest.
"""

from __future__ import annotations

import re
from typing import Final

from tb_debugger_plugin.analysis.snapshot import Json, Snapshot

KINDS: Final = ("ops", "tensors", "layers", "variables", "functions", "files", "lines")
MAX_FOUND: Final = 1000
_TENSOR: Final = re.compile(r"^(.+):([0-9]{1,9})$", re.DOTALL)
_SOURCE_LINE: Final = re.compile(r"^(.*?):([0-9]{1,9})$", re.DOTALL)
_MAX_LINE: Final = 500


def find(snapshot: Snapshot, text: str, limit: int) -> dict[str, list[Json]]:
    """Return everything that contains a text.

    Args:
      snapshot: The run.
      text: ``name:2`` also finds the third output of an op, ``train.py:12`` also a line.
      limit: The largest number of results of each kind.

    Returns:
      A list for each of :data:`KINDS`.
    """
    return {
        "ops": _ops(snapshot, text, limit),
        "tensors": _tensors(snapshot, text, limit),
        "layers": _layers(snapshot, text, limit),
        "variables": _variables(snapshot, text, limit),
        "functions": _functions(snapshot, text, limit),
        "files": _files(snapshot, text, limit),
        "lines": _lines(snapshot, text, limit),
    }


def _best(column: str) -> str:
    return (
        f"ORDER BY lower({column}) <> lower($text), NOT starts_with(lower({column}), lower($text)),"
        f" length({column})"
    )


def _ops(snapshot: Snapshot, text: str, limit: int) -> list[Json]:
    rows = snapshot.rows(
        "SELECT g.graph_id, g.name, o.name, o.type FROM ops o JOIN graphs g USING (graph)"
        " WHERE contains(lower(o.name), lower($text)) OR contains(lower(coalesce(o.type, '')), lower($text))"
        f" {_best('o.name')}, o.op LIMIT $limit",
        {"text": text, "limit": limit},
    )
    return [
        {"graph_id": graph_id, "graph_name": graph, "op_name": name, "op_type": kind}
        for graph_id, graph, name, kind in rows
    ]


def _tensors(snapshot: Snapshot, text: str, limit: int) -> list[Json]:
    match = _TENSOR.match(text)
    if match is None:
        return []
    rows = snapshot.rows(
        "SELECT g.graph_id, g.name, o.name, o.type FROM ops o JOIN graphs g USING (graph)"
        " WHERE contains(lower(o.name), lower($text)) AND (o.num_outputs > $slot"
        " OR o.op IN (SELECT op FROM sites WHERE slot = $slot))"
        f" {_best('o.name')}, o.op LIMIT $limit",
        {"text": match[1], "slot": int(match[2]), "limit": limit},
    )
    return [
        {
            "graph_id": graph_id,
            "graph_name": graph,
            "op_name": name,
            "op_type": kind,
            "output_slot": int(match[2]),
        }
        for graph_id, graph, name, kind in rows
    ]


def _layers(snapshot: Snapshot, text: str, limit: int) -> list[Json]:
    rows = snapshot.rows(
        "SELECT o.layer, count(*), arg_min(g.graph_id, o.op), arg_min(o.name, o.op)"
        " FROM ops o JOIN graphs g USING (graph) WHERE contains(lower(o.layer), lower($text))"
        f" GROUP BY o.layer {_best('o.layer')}, o.layer LIMIT $limit",
        {"text": text, "limit": limit},
    )
    return [
        {"name": layer, "num_ops": count, "graph_id": graph_id, "op_name": name}
        for layer, count, graph_id, name in rows
    ]


def _variables(snapshot: Snapshot, text: str, limit: int) -> list[Json]:
    """Return variables, each with the first op that uses it, and the tensors that are its gradient."""
    rows = snapshot.rows(
        "SELECT v.name, arg_min(g.graph_id, v.op), arg_min(o.name, v.op)"
        " FROM (SELECT variable AS name, op FROM ops UNION ALL SELECT variable, op FROM gradients) v"
        " JOIN ops o ON o.op = v.op JOIN graphs g ON g.graph = o.graph"
        " WHERE contains(lower(v.name), lower($text))"
        f" GROUP BY v.name {_best('v.name')}, v.name LIMIT $limit",
        {"text": text, "limit": limit},
    )
    gradients: dict[str, list[Json]] = {name: [] for name, _, _ in rows}
    for name, graph_id, op_name, slot in snapshot.rows(
        "SELECT d.variable, g.graph_id, o.name, d.slot FROM gradients d JOIN ops o ON o.op = d.op"
        " JOIN graphs g ON g.graph = o.graph WHERE d.variable IN (SELECT unnest(?)) ORDER BY d.op, d.slot",
        [list(gradients)],
    ):
        if len(gradients[name]) < limit:
            gradients[name].append({"graph_id": graph_id, "op_name": op_name, "output_slot": slot})
    return [
        {"name": name, "graph_id": graph_id, "op_name": op_name, "gradients": gradients[name]}
        for name, graph_id, op_name in rows
    ]


def _functions(snapshot: Snapshot, text: str, limit: int) -> list[Json]:
    rows = snapshot.rows(
        "SELECT g.graph_id, g.name FROM graphs g WHERE contains(lower(g.name), lower($text))"
        f" {_best('g.name')}, g.graph LIMIT $limit",
        {"text": text, "limit": limit},
    )
    return [{"graph_id": graph_id, "name": name} for graph_id, name in rows]


def _files(snapshot: Snapshot, text: str, limit: int) -> list[Json]:
    rows = snapshot.rows(
        "SELECT source, host_name, path FROM sources WHERE contains(lower(path), lower($text))"
        f" {_best('path')}, source LIMIT $limit",
        {"text": text, "limit": limit},
    )
    return [{"index": source, "host_name": host, "file_path": path} for source, host, path in rows]


def _lines(snapshot: Snapshot, text: str, limit: int) -> list[Json]:
    match = _SOURCE_LINE.match(text)
    rows = snapshot.rows(
        "SELECT l.source, s.path, l.line, l.text FROM source_lines l JOIN sources s USING (source)"
        " WHERE contains(lower(l.text), lower($text))"
        " OR ($path IS NOT NULL AND l.line = $line AND ends_with(lower(s.path), lower($path)))"
        " ORDER BY contains(lower(l.text), lower($text)), l.source, l.line LIMIT $limit",
        {
            "text": text,
            "limit": limit,
            "path": match[1] if match else None,
            "line": int(match[2]) if match else 0,
        },
    )
    return [
        {"index": source, "file_path": path, "line": line, "text": content[:_MAX_LINE]}
        for source, path, line, content in rows
    ]
