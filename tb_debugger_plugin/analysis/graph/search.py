"""Full-text search: finds things by a few letters of their names.

Takes text and returns ops, tensors, layers, variables, functions, source files and lines that contain it,
ignoring case. Equal names come first, then names that begin with the text, then the shortest.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.snapshot import JsonObject, Snapshot, remembered
from tb_debugger_plugin.analysis.source.sources import LIBRARY, whose_code

MAX_FOUND: Final = 1000
_TENSOR: Final = re.compile(r"^(.+):([0-9]{1,9})$", re.DOTALL)
_SOURCE_LINE: Final = re.compile(r"^(.*?):([0-9]{1,9})$", re.DOTALL)
#: SQL that is true of a line ``l`` of a file ``s`` that has the text, or that the text names.
_LINE_FITS: Final = (
    "(contains(lower(l.text), lower($text))"
    " OR ($path IS NOT NULL AND l.line = $line AND ends_with(lower(s.path), lower($path))))"
)
#: Lines around stack frames, which some files have in place of their text.
_AROUND_FRAMES: Final = (
    "SELECT s.source, s.path, l.line, any_value(l.text) AS text"
    " FROM frame_lines l JOIN sources s USING (host, file_index)"
)
_HAS_NO_TEXT: Final = "s.source NOT IN (SELECT source FROM source_lines)"
_MAX_LINE: Final = 500


@dataclass(frozen=True)
class FoundOp(JsonObject):
    """An op."""

    graph_id: str  #: its graph
    graph_name: str | None
    op_name: str  #: its name and type
    op_type: str | None


@dataclass(frozen=True)
class FoundTensor(FoundOp):
    """An output of an op."""

    output_slot: int  #: slot of the tensor


@dataclass(frozen=True)
class FoundLayer(JsonObject):
    """A layer."""

    name: str  #: path of the layer
    num_ops: int  #: how many ops it has
    graph_id: str  #: its first op
    op_name: str


@dataclass(frozen=True)
class FoundGradient(JsonObject):
    """A tensor that is the gradient of a variable."""

    graph_id: str  #: its graph and op
    op_name: str
    output_slot: int  #: slot of the tensor


@dataclass(frozen=True)
class FoundVariable(JsonObject):
    """A variable."""

    name: str  #: name of the variable
    graph_id: str  #: the first op that uses it
    op_name: str
    gradients: list[FoundGradient]  #: the tensors that are its gradient


@dataclass(frozen=True)
class FoundFunction(JsonObject):
    """A graph with a name."""

    graph_id: str  #: its id
    name: str  #: name of the function


@dataclass(frozen=True)
class FoundFile(JsonObject):
    """A source file."""

    index: int  #: position in [source_files/list](#source_fileslist)
    host_name: str  #: its host and path
    file_path: str


@dataclass(frozen=True)
class FoundLine(JsonObject):
    """A line of a source file."""

    index: int  #: position of the file in [source_files/list](#source_fileslist)
    file_path: str  #: path of the file
    line: int  #: number of the line, from 1
    text: str  #: its first 500 characters


class FoundJson(TypedDict):
    """What contains a text, by kind."""

    ops: list[FoundOp]  #: ops whose names or types contain the text
    tensors: list[FoundTensor]  #: for a text like `name:2`, outputs of ops
    layers: list[FoundLayer]  #: layers
    variables: list[FoundVariable]  #: variables
    functions: list[FoundFunction]  #: graphs with such names
    files: list[FoundFile]  #: source files
    lines: list[FoundLine]  #: lines of source files; for a text like `train.py:12`, also that line


#: The kinds, by which :func:`find` can be told to search only some.
KINDS: Final = tuple(FoundJson.__annotations__)


def find(snapshot: Snapshot, text: str, limit: int, kinds: Collection[str] = ()) -> FoundJson:
    """Return everything that contains a text.

    Args:
      snapshot: The run.
      text: ``name:2`` also finds the third output of an op, ``train.py:12`` also a line.
      limit: The largest number of results of each kind.
      kinds: The members of the answer that are searched; the others stay empty. Without any, all are.
    """
    # Nothing is searched for a limit of 0.
    most = {kind: limit if not kinds or kind in kinds else 0 for kind in KINDS}
    return {
        "ops": _ops(snapshot, text, most["ops"]),
        "tensors": _tensors(snapshot, text, most["tensors"]),
        "layers": _layers(snapshot, text, most["layers"]),
        "variables": _variables(snapshot, text, most["variables"]),
        "functions": _functions(snapshot, text, most["functions"]),
        "files": _files(snapshot, text, most["files"]),
        "lines": _lines(snapshot, text, most["lines"]),
    }


def _best(column: str) -> str:
    return (
        f"ORDER BY lower({column}) <> lower($text), NOT starts_with(lower({column}), lower($text)),"
        f" length({column})"
    )


def _ops(snapshot: Snapshot, text: str, limit: int) -> list[FoundOp]:
    rows = snapshot.rows(
        "SELECT g.graph_id, g.name, o.name, o.type FROM ops o JOIN graphs g USING (graph)"
        " WHERE contains(lower(o.name), lower($text)) OR contains(lower(coalesce(o.type, '')), lower($text))"
        f" {_best('o.name')}, o.op LIMIT $limit",
        {"text": text, "limit": limit},
    )
    return [FoundOp(*row) for row in rows]


def _tensors(snapshot: Snapshot, text: str, limit: int) -> list[FoundTensor]:
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
    return [FoundTensor(*(*row, int(match[2]))) for row in rows]


def _layers(snapshot: Snapshot, text: str, limit: int) -> list[FoundLayer]:
    rows = snapshot.rows(
        "SELECT o.layer, count(*), arg_min(g.graph_id, o.op), arg_min(o.name, o.op)"
        " FROM ops o JOIN graphs g USING (graph) WHERE contains(lower(o.layer), lower($text))"
        f" GROUP BY o.layer {_best('o.layer')}, o.layer LIMIT $limit",
        {"text": text, "limit": limit},
    )
    return [FoundLayer(*row) for row in rows]


def _variables(snapshot: Snapshot, text: str, limit: int) -> list[FoundVariable]:
    """Return variables, each with the first op that uses it, and the tensors that are its gradient."""
    rows = snapshot.rows(
        "SELECT v.name, arg_min(g.graph_id, v.op), arg_min(o.name, v.op)"
        " FROM (SELECT variable AS name, op FROM ops UNION ALL SELECT variable, op FROM gradients) v"
        " JOIN ops o ON o.op = v.op JOIN graphs g ON g.graph = o.graph"
        " WHERE contains(lower(v.name), lower($text))"
        f" GROUP BY v.name {_best('v.name')}, v.name LIMIT $limit",
        {"text": text, "limit": limit},
    )
    gradients: dict[str, list[FoundGradient]] = {name: [] for name, _, _ in rows}
    for name, *tensor in snapshot.rows(
        "SELECT d.variable, g.graph_id, o.name, d.slot FROM gradients d JOIN ops o ON o.op = d.op"
        " JOIN graphs g ON g.graph = o.graph WHERE d.variable IN (SELECT unnest(?)) ORDER BY d.op, d.slot",
        [list(gradients)],
    ):
        if len(gradients[name]) < limit:
            gradients[name].append(FoundGradient(*tensor))
    return [FoundVariable(*(*row, gradients[row[0]])) for row in rows]


def _functions(snapshot: Snapshot, text: str, limit: int) -> list[FoundFunction]:
    rows = snapshot.rows(
        "SELECT g.graph_id, g.name FROM graphs g WHERE contains(lower(g.name), lower($text))"
        f" {_best('g.name')}, g.graph LIMIT $limit",
        {"text": text, "limit": limit},
    )
    return [FoundFunction(*row) for row in rows]


def _files(snapshot: Snapshot, text: str, limit: int) -> list[FoundFile]:
    rows = snapshot.rows(
        "SELECT source, host_name, path FROM sources WHERE contains(lower(path), lower($text))"
        f" {_best('path')}, source LIMIT $limit",
        {"text": text, "limit": limit},
    )
    return [FoundFile(*row) for row in rows]


@remembered(Snapshot.remember_of_graphs)
def _libraries(snapshot: Snapshot) -> list[int]:
    """Return the source files of libraries."""
    rows = snapshot.rows("SELECT source, path, origin FROM sources")
    return [source for source, path, recorded in rows if whose_code(path, recorded) == LIBRARY]


@remembered(Snapshot.remember_of_graphs)
def _framed(snapshot: Snapshot) -> bool:
    """Return whether some file has only lines around frames."""
    rows = snapshot.rows(
        f"SELECT 1 FROM frame_lines l JOIN sources s USING (host, file_index) WHERE {_HAS_NO_TEXT} LIMIT 1"
    )
    return bool(rows)


def _lines(snapshot: Snapshot, text: str, limit: int) -> list[FoundLine]:
    """Return lines, those of the program's own files first; of a file, whole or the lines around frames."""
    match = _SOURCE_LINE.match(text)
    found = (
        "SELECT l.source, s.path, l.line, l.text FROM source_lines l JOIN sources s USING (source)"
        f" WHERE {_LINE_FITS}"
    )
    if _framed(snapshot):
        found += f" UNION ALL {_AROUND_FRAMES} WHERE {_LINE_FITS} AND {_HAS_NO_TEXT} GROUP BY ALL"
    rows = snapshot.rows(
        f"SELECT * FROM ({found}) l"
        " ORDER BY contains(lower(l.text), lower($text)), l.source IN (SELECT unnest($libraries::INTEGER[])),"
        " l.source, l.line LIMIT $limit",
        {
            "text": text,
            "limit": limit,
            "path": match[1] if match else None,
            "line": int(match[2]) if match else 0,
            "libraries": _libraries(snapshot),
        },
    )
    return [FoundLine(*(*place, content[:_MAX_LINE])) for *place, content in rows]
