"""Which lines of the program made which ops.

Takes the stacks that are on record. Returns the source files that made ops, with counts, and the ops of each
line of a file, with their health. An op belongs to each file of its stack, and there to the innermost line.
For a breakpoint, and on the page, it belongs to one line, the innermost one of the program's own files; a
stack of library files only belongs to its innermost line.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.graph.tensor_counts import WorstHealth, tensor_counts, worst_health
from tb_debugger_plugin.analysis.lists.filters import check_regex
from tb_debugger_plugin.analysis.snapshot import Columns, JsonObject, Snapshot, remembered
from tb_debugger_plugin.analysis.source.sources import USER, whose_code
from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.index.tensors import BAD, GOOD


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
    of_stacks = _of_all_stacks(snapshot) if op_name is None else _of_stacks(snapshot, op_name)
    counts = np.stack([of_stacks[name] for name in ("ops", "outputs", "tensors", "executions")])
    used = (counts.sum(axis=0) > 0)[rows["stack"]]
    stack, source, line = (rows[name][used] for name in ("stack", "source", "first"))
    sums = [np.bincount(source, row[stack]) for row in counts]
    first = np.full(len(sums[0]), np.iinfo(np.int64).max)
    np.minimum.at(first, source, line)
    return {
        number: [*(int(row[number]) for row in sums), int(first[number])]
        for number in np.unique(source).tolist()
    }


@remembered(Snapshot.remember)
def _of_all_stacks(snapshot: Snapshot) -> Columns:
    return _of_stacks(snapshot, None)


def _of_stacks(snapshot: Snapshot, op_name: str | None) -> Columns:
    """Return counts by stack: of its ops, their outputs and recorded tensors, and of what Python ran."""
    rows = _stack_files(snapshot)["stack"]
    size = int(rows.max()) + 1 if len(rows) else 0
    all_stacks, outputs = _stacks_of_ops(snapshot)
    ops = _ops_like(snapshot, op_name)
    ops = ops[(all_stacks[ops] >= 0) & (all_stacks[ops] < size)]
    stacks = all_stacks[ops]
    tensors = tensor_counts(snapshot)
    of_ops = {"outputs": outputs, "tensors": tensors.tensors, "bad": tensors.bad, "good": tensors.good}
    counts = {name: np.bincount(stacks, weight[ops], size) for name, weight in of_ops.items()}
    counts["ops"] = np.bincount(stacks, minlength=size)
    ran = _executions(snapshot)
    known = (ran["stack"] < size) & (op_name is None)
    for name in _RAN:
        counts[name] = np.bincount(ran["stack"][known], ran[name][known], size)
    return {name: of_stack.astype(np.int64) for name, of_stack in counts.items()}


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


#: Counts of executions.
_RAN: Final = ("executions", "bad_executions", "good_executions")


@remembered(Snapshot.remember)
def _executions(snapshot: Snapshot) -> Columns:
    return snapshot.columns(
        f"SELECT stack, count(*) AS executions, count(*) FILTER (health = {BAD}) AS bad_executions,"
        f" count(*) FILTER (health = {GOOD}) AS good_executions"
        " FROM executions WHERE stack >= 0 GROUP BY stack ORDER BY stack"
    )


@remembered(Snapshot.remember)
def executions_by_stack(snapshot: Snapshot) -> dict[int, int]:
    """Return how many ops and functions Python ran from each stack."""
    rows = _executions(snapshot)
    return dict(zip(rows["stack"].tolist(), rows["executions"].tolist(), strict=True))


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
    graph_name: str | None
    op_name: str  #: its name and type
    op_type: str | None
    num_tensors: int  #: how many of its tensors are on record, and how many of these are bad
    num_bad: int
    health: WorstHealth | None  #: the worst of them; null without any


@dataclass(frozen=True)
class Made(JsonObject):
    """What a line, or all lines of a file, made and ran."""

    num_ops: int  #: number of ops of graphs that were made there
    num_tensors: int  #: how many tensors of these ops are on record, and how many of these are bad
    num_bad: int
    executions: int  #: how many ops and functions Python ran from there, and how many had a bad output
    bad_executions: int
    #: `bad`, `good` or `unmeasured`: the worst of all these values; null without any
    health: WorstHealth | None


@dataclass(frozen=True)
class LineOps(Made):
    """What a line of a source file made and ran."""

    line: int  #: number of the line, from 1
    ops: list[LineOp]  #: the first 100 ops, those with bad values before the others


@dataclass(frozen=True)
class SourceFileOps(Made):
    """A recorded source file with what its lines made and ran."""

    index: int  #: position in [source_files/list](#source_fileslist)
    host_name: str  #: its host and path
    file_path: str
    origin: str  #: `user` or `library`: whose code it is
    line: int  #: the first line with bad values, else the first that made or ran something, else 1


def line_ops(snapshot: Snapshot, index: int) -> list[LineOps]:
    """Return the lines of a source file that made or ran something, by line.

    Raises:
      NotFoundError: There is no file with that index.
    """
    if not snapshot.rows("SELECT 1 FROM sources WHERE source = ?", [index]):
        raise NotFoundError(f"There is no source file {index}.")
    of_stack = ops_by_stack(snapshot)
    found = []
    for line, stacks in sorted(_stacks_of_lines(snapshot).get(index, {}).items()):
        made = _made(snapshot, stacks)
        if made.num_ops or made.executions:
            ops = [op for stack in stacks for op in of_stack.get(stack, ())]
            found.append(LineOps(**vars(made), line=line, ops=_named(snapshot, ops)))
    return found


def file_ops(snapshot: Snapshot) -> list[SourceFileOps]:
    """Return all recorded source files with the sums of their :func:`line_ops`.

    Those of the program come first, then those with bad values, then those that made or ran most.
    """
    of_lines = _stacks_of_lines(snapshot)
    counts = _of_all_stacks(snapshot)
    is_bad = counts["bad"] + counts["bad_executions"] > 0
    is_used = counts["ops"] + counts["executions"] > 0
    found = []
    for source, host_name, path, recorded in snapshot.rows(
        "SELECT source, host_name, path, origin FROM sources ORDER BY path, source"
    ):
        lines = of_lines.get(source, {})
        bad = [n for n, stacks in lines.items() if is_bad[stacks].any()]
        made = [n for n, stacks in lines.items() if is_used[stacks].any()]
        found.append(
            SourceFileOps(
                **vars(_made(snapshot, [stack for stacks in lines.values() for stack in stacks])),
                index=source,
                host_name=host_name,
                file_path=path,
                origin=whose_code(path, recorded),
                line=min(bad or made or [1]),
            )
        )
    return sorted(
        found,
        key=lambda file: (
            file.origin != USER,
            -(file.num_bad + file.bad_executions),
            -(file.num_ops + file.executions),
        ),
    )


def _made(snapshot: Snapshot, stacks: list[int]) -> Made:
    """Return what was made and run with some stacks."""
    sums = {name: int(of_stack[stacks].sum()) for name, of_stack in _of_all_stacks(snapshot).items()}
    return Made(
        num_ops=sums["ops"],
        num_tensors=sums["tensors"],
        num_bad=sums["bad"],
        executions=sums["executions"],
        bad_executions=sums["bad_executions"],
        health=worst_health(
            sums["tensors"] + sums["executions"],
            sums["bad"] + sums["bad_executions"],
            sums["good"] + sums["good_executions"],
        ),
    )


def _named(snapshot: Snapshot, numbers: list[int]) -> list[LineOp]:
    counts = tensor_counts(snapshot)
    first = sorted(numbers, key=lambda number: (counts.bad[number] == 0, number))[:MOST_OPS]
    return [_line_op(snapshot, number) for number in first]


def _line_op(snapshot: Snapshot, number: int) -> LineOp:
    catalog, counts = snapshot.catalog, tensor_counts(snapshot)
    op = catalog.ops[number]
    graph = catalog.graphs[op.graph]
    tensors, bad, good = (int(of_op[number]) for of_op in (counts.tensors, counts.bad, counts.good))
    health = worst_health(tensors, bad, good)
    return LineOp(graph.graph_id, graph.name, op.name, op.type, tensors, bad, health)


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
