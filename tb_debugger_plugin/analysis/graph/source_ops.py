"""Which lines of the program made which ops.

Takes the stacks that are on record. Returns the source files that made ops, with counts, and the ops of each
line of a file. An op belongs to each file of its stack, and there to the innermost line. For a breakpoint it
belongs to one line, the innermost one of the program's own files; a stack of library files only belongs to
its innermost line.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.graph.tensor_counts import tensor_counts
from tb_debugger_plugin.analysis.lists.filters import check_regex
from tb_debugger_plugin.analysis.snapshot import Columns, JsonObject, Snapshot, remembered
from tb_debugger_plugin.analysis.source.sources import USER, whose_code
from tb_debugger_plugin.errors import NotFoundError


class SourceCounts(NamedTuple):
    """A source file with what it made.

    Attributes:
      path: The path on the machine of the program.
      is_user: Whether it is the program's own file; library files are not.
      nodes: How many ops of graphs have it in their stack.
      tensors: How many outputs these have.
      dumps: How many of their tensors are on record.
      executions: How many ops and functions it ran from Python.
      first_line: The first line that made or ran something.
    """

    path: str
    is_user: bool
    nodes: int
    tensors: int
    dumps: int
    executions: int
    first_line: int


def source_counts(
    snapshot: Snapshot, path: str | None = None, op_name: str | None = None
) -> list[SourceCounts]:
    """Return the source files that made or ran something, by path.

    Args:
      snapshot: The run.
      path: A regular expression that matches any part of the path; None for all files.
      op_name: Count only ops whose name matches this from the beginning; None for all ops.

    Raises:
      BadQueryError: One of them is no regular expression.
    """
    if path is not None:
        check_regex(snapshot, "the path filter", path)
    sums = _all_sums(snapshot) if op_name is None else _sums_of_sources(snapshot, op_name)
    found: dict[str, SourceCounts] = {}
    for source, name, recorded in snapshot.rows(
        "SELECT source, path, origin FROM sources WHERE $path IS NULL OR regexp_matches(path, $path)"
        " ORDER BY path, source",
        {"path": path},
    ):
        if source in sums:
            one = SourceCounts(name, whose_code(name, recorded) == USER, *sums[source])
            found[name] = one if name not in found else _together(found[name], one)
    return list(found.values())


def _together(a: SourceCounts, b: SourceCounts) -> SourceCounts:
    """Return the counts of a file of two hosts."""
    return a._replace(
        nodes=a.nodes + b.nodes,
        tensors=a.tensors + b.tensors,
        dumps=a.dumps + b.dumps,
        executions=a.executions + b.executions,
        first_line=min(a.first_line, b.first_line),
    )


@remembered(Snapshot.remember)
def _all_sums(snapshot: Snapshot) -> dict[int, list[int]]:
    return _sums_of_sources(snapshot, None)


def _sums_of_sources(snapshot: Snapshot, op_name: str | None) -> dict[int, list[int]]:
    """Return the four counts and the first line of each source that made or ran something."""
    rows = _stack_files(snapshot)
    counts = _of_stacks(snapshot, op_name)
    used = (counts.sum(axis=0) > 0)[rows["stack"]]
    stack, source, line = (rows[name][used] for name in ("stack", "source", "first"))
    sums = [np.bincount(source, row[stack]) for row in counts]
    first = np.full(len(sums[0]), np.iinfo(np.int64).max)
    np.minimum.at(first, source, line)
    return {
        number: [*(int(row[number]) for row in sums), int(first[number])]
        for number in np.unique(source).tolist()
    }


def _of_stacks(snapshot: Snapshot, op_name: str | None) -> npt.NDArray[np.float64]:
    """Return the numbers of nodes, tensors, dumps and executions, a row each, by stack."""
    rows = _stack_files(snapshot)["stack"]
    size = int(rows.max()) + 1 if len(rows) else 0
    all_stacks, outputs = _stacks_of_ops(snapshot)
    ops = _ops_like(snapshot, op_name)
    ops = ops[(all_stacks[ops] >= 0) & (all_stacks[ops] < size)]
    stacks = all_stacks[ops]
    executions = np.zeros(size)
    if op_name is None:
        for stack, count in executions_by_stack(snapshot).items():
            if stack < size:
                executions[stack] = count
    weights = (None, outputs[ops], tensor_counts(snapshot).tensors[ops])
    return np.stack([*(np.bincount(stacks, weight, size) for weight in weights), executions])


@remembered(Snapshot.remember_of_graphs)
def _stacks_of_ops(snapshot: Snapshot) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the stack and the number of outputs of each op."""
    ops = snapshot.catalog.ops
    stacks = np.array([op.stack for op in ops], np.int64)
    return stacks, np.array([op.num_outputs or 0 for op in ops], np.int64)


@remembered(Snapshot.remember)
def _stack_files(snapshot: Snapshot) -> Columns:
    """Return, for each stack and each source in it, its first line there and its innermost one."""
    return snapshot.columns(
        "SELECT k.stack, s.source, min(f.line) AS first, arg_max(f.line, k.depth) AS line"
        " FROM stacks k JOIN frames f ON f.host = k.host AND f.frame_id = k.frame_id"
        " JOIN sources s ON s.host = f.host AND s.file_index = f.file_index"
        " GROUP BY k.stack, s.source ORDER BY k.stack, s.source"
    )


def _ops_like(snapshot: Snapshot, op_name: str | None) -> npt.NDArray[np.int64]:
    if op_name is None:
        return np.arange(len(snapshot.catalog.ops))
    check_regex(snapshot, "the node name filter", op_name)
    columns = snapshot.columns("SELECT op FROM ops WHERE regexp_matches(name, ?)", [f"^(?:{op_name})"])
    return columns["op"].astype(np.int64)


@remembered(Snapshot.remember)
def executions_by_stack(snapshot: Snapshot) -> dict[int, int]:
    """Return how many ops and functions Python ran from each stack."""
    return dict(snapshot.rows("SELECT stack, count(*) FROM executions WHERE stack >= 0 GROUP BY stack"))


class SourcePlace(NamedTuple):
    """The lines of a file that are asked about.

    Attributes:
      sources: The numbers of the file.
      with_callers: Whether an op counts at each line of the file in its stack, not only at the innermost one.
    """

    sources: tuple[int, ...]
    with_callers: bool = False


@remembered(Snapshot.remember)
def stacks_by_line(snapshot: Snapshot, place: SourcePlace) -> dict[int, list[int]]:
    """Return the stacks of each line of a file."""
    if place.with_callers:
        rows = snapshot.columns(
            "SELECT DISTINCT k.stack, f.line FROM stacks k"
            " JOIN frames f ON f.host = k.host AND f.frame_id = k.frame_id"
            " JOIN sources s ON s.host = f.host AND s.file_index = f.file_index"
            " WHERE s.source IN (SELECT unnest(?)) ORDER BY k.stack",
            [list(place.sources)],
        )
    else:
        rows = _stack_files(snapshot)
        chosen = np.flatnonzero(np.isin(rows["source"], place.sources))
        rows = {name: rows[name][chosen] for name in ("line", "stack")}
    lines: dict[int, list[int]] = defaultdict(list)
    for line, stack in zip(rows["line"].tolist(), rows["stack"].tolist(), strict=True):
        lines[line].append(stack)
    return dict(lines)


@remembered(Snapshot.remember)
def ops_by_line(snapshot: Snapshot, place: SourcePlace) -> dict[int, list[int]]:
    """Return the numbers of the ops that each line of a file made, sorted by name."""
    ops = snapshot.catalog.ops
    of_stack = ops_by_stack(snapshot)
    return {
        line: sorted(made, key=lambda number: ops[number].name)
        for line, stacks in stacks_by_line(snapshot, place).items()
        if (made := [number for stack in stacks for number in of_stack.get(stack, ())])
    }


@remembered(Snapshot.remember)
def tensors_by_line(snapshot: Snapshot, place: SourcePlace) -> dict[int, list[tuple[int, int]]]:
    """Return op and slot of the recorded tensors whose ops each line of a file made, sorted by name."""
    sites = snapshot.catalog.op_sites
    return {
        line: [(op, slot) for op in ops for slot in sorted({site.slot for site in sites.get(op, ())})]
        for line, ops in ops_by_line(snapshot, place).items()
    }


def executions_by_line(snapshot: Snapshot, place: SourcePlace) -> dict[int, int]:
    """Return how many ops and functions each line of a file ran from Python."""
    counts = executions_by_stack(snapshot)
    if not counts:
        return {}
    sums = {
        line: sum(counts.get(stack, 0) for stack in stacks)
        for line, stacks in stacks_by_line(snapshot, place).items()
    }
    return {line: count for line, count in sums.items() if count}


@remembered(Snapshot.remember_of_graphs)
def ops_by_stack(snapshot: Snapshot) -> dict[int, list[int]]:
    """Return the numbers of the ops that were made with each stack."""
    groups: dict[int, list[int]] = defaultdict(list)
    for op in snapshot.catalog.ops:
        if op.stack >= 0:
            groups[op.stack].append(op.number)
    return dict(groups)


#: The most ops that are named of a line.
MOST_OPS: Final = 100


@dataclass(frozen=True)
class LineOp(JsonObject):
    """An op that a line made."""

    graph_id: str  #: its graph
    op_name: str  #: its name and type
    op_type: str | None


@dataclass(frozen=True)
class LineOps(JsonObject):
    """What a line of a source file made and ran."""

    line: int  #: number of the line, from 1
    num_ops: int  #: number of ops of graphs that the line made
    executions: int  #: how many ops and functions the line ran from Python
    ops: list[LineOp]  #: the first 100 ops


def line_ops(snapshot: Snapshot, index: int) -> list[LineOps]:
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
            found.append(LineOps(line, len(ops), ran, _named(snapshot, ops)))
    return found


def _named(snapshot: Snapshot, numbers: list[int]) -> list[LineOp]:
    catalog = snapshot.catalog
    ops = [catalog.ops[number] for number in numbers[:MOST_OPS]]
    return [LineOp(catalog.graphs[op.graph].graph_id, op.name, op.type) for op in ops]


@remembered(Snapshot.remember)
def _stacks_of_lines(snapshot: Snapshot) -> dict[int, dict[int, list[int]]]:
    """Return the stacks of each line, by source."""
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
