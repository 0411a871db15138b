"""Which lines of the program made which ops.

Takes the stacks that are on record. Returns the source files that made ops, with counts, and the ops of each
line of a file. An op belongs to each file of its stack, and there to the innermost line.

Lines are those that are on record; no path is ever opened.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.graph.tensor_counts import tensor_counts
from tb_debugger_plugin.analysis.lists.filters import check_regex
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot
from tb_debugger_plugin.analysis.sources import USER, origin
from tb_debugger_plugin.errors import NotFoundError

_SHOWN: Final = 5


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
    """Returns the source files that made or ran something, by path.

    Args:
      snapshot: The run.
      path: A regular expression that matches any part of the path; None for all files.
      op_name: Count only ops whose name matches this from the beginning; None for all ops.

    Raises:
      BadQueryError: One of them is no regular expression.
    """
    if path is not None:
        check_regex(snapshot, "the path filter", path)
    sums = _sums_of_sources(snapshot, _of_stacks(snapshot, op_name))
    found: dict[str, SourceCounts] = {}
    for source, name, recorded in snapshot.rows(
        "SELECT source, path, origin FROM sources WHERE $path IS NULL OR regexp_matches(path, $path)"
        " ORDER BY path, source",
        {"path": path},
    ):
        if source in sums:
            one = SourceCounts(name, origin(name, recorded) == USER, *sums[source])
            found[name] = one if name not in found else _together(found[name], one)
    return list(found.values())


def _together(a: SourceCounts, b: SourceCounts) -> SourceCounts:
    """The counts of a file of two hosts."""
    return a._replace(
        nodes=a.nodes + b.nodes,
        tensors=a.tensors + b.tensors,
        dumps=a.dumps + b.dumps,
        executions=a.executions + b.executions,
        first_line=min(a.first_line, b.first_line),
    )


def _sums_of_sources(snapshot: Snapshot, counts: npt.NDArray[np.int64]) -> dict[int, list[int]]:
    """Returns the four counts and the first line of each source that made or ran something."""
    rows = _stack_files(snapshot)
    used = counts[:, rows["stack"]].any(axis=0)
    stack, source, line = (rows[name][used] for name in ("stack", "source", "first"))
    size = int(source.max()) + 1 if len(source) else 0
    sums = np.zeros((len(counts), size), np.int64)
    for number, row in enumerate(counts):
        np.add.at(sums[number], source, row[stack])
    first = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(first, source, line)
    return {number: [*sums[:, number].tolist(), int(first[number])] for number in np.unique(source).tolist()}


def _of_stacks(snapshot: Snapshot, op_name: str | None) -> npt.NDArray[np.int64]:
    """Returns the numbers of nodes, tensors, dumps and executions, a row each, by stack."""
    rows = _stack_files(snapshot)["stack"]
    counts = np.zeros((4, int(rows.max()) + 1 if len(rows) else 0), np.int64)
    dumps = tensor_counts(snapshot).tensors
    ops = [snapshot.catalog.ops[number] for number in _ops_like(snapshot, op_name)]
    known = [op for op in ops if 0 <= op.stack < counts.shape[1]]
    stacks = np.array([op.stack for op in known], np.int64)
    np.add.at(counts[0], stacks, 1)
    np.add.at(counts[1], stacks, np.array([op.num_outputs or 0 for op in known], np.int64))
    np.add.at(counts[2], stacks, dumps[np.array([op.number for op in known], np.int64)])
    if op_name is None:
        for stack, count in executions_by_stack(snapshot).items():
            if stack < counts.shape[1]:
                counts[3, stack] += count
    return counts


def _stack_files(snapshot: Snapshot) -> Columns:
    """Returns, for each stack and each source in it, its first line there and its innermost one."""
    return snapshot.remember(
        "stack_files",
        lambda: snapshot.columns(
            "SELECT k.stack, s.source, min(f.line) AS first, arg_max(f.line, k.depth) AS line"
            " FROM stacks k JOIN frames f ON f.host = k.host AND f.frame_id = k.frame_id"
            " JOIN sources s ON s.host = f.host AND s.file_index = f.file_index"
            " GROUP BY k.stack, s.source ORDER BY k.stack, s.source"
        ),
    )


def _ops_like(snapshot: Snapshot, op_name: str | None) -> list[int]:
    if op_name is None:
        return list(range(len(snapshot.catalog.ops)))
    check_regex(snapshot, "the node name filter", op_name)
    rows = snapshot.rows("SELECT op FROM ops WHERE regexp_matches(name, ?)", [f"^(?:{op_name})"])
    return [op for (op,) in rows]


def executions_by_stack(snapshot: Snapshot) -> dict[int, int]:
    """Returns how many ops and functions Python ran from each stack."""
    return snapshot.remember(
        "executions_by_stack",
        lambda: dict(snapshot.rows("SELECT stack, count(*) FROM executions WHERE stack >= 0 GROUP BY stack")),
    )


@dataclass(frozen=True)
class RecordedFile:
    """A source file and its lines, as they were recorded.

    Attributes:
      path: The path on the machine of the program.
      sources: Its numbers; several hosts may have recorded it.
      lines: The text of each line that is on record, by number from 1.
    """

    path: str
    sources: list[int]
    lines: dict[int, str]


def recorded_file(snapshot: Snapshot, text: str) -> RecordedFile:
    """Returns a source file by its path, or by the end of it.

    Raises:
      NotFoundError: There is no such file, or there are several.
    """
    rows = snapshot.rows("SELECT source, path FROM sources ORDER BY source")
    paths = {path for _, path in rows}
    ends = [path for path in paths if path.endswith("/" + text) or path.endswith("\\" + text)]
    near = sorted(ends or (path for path in paths if text in path))
    chosen = [text] if text in paths else near
    if len(chosen) != 1:
        raise NotFoundError(_no_file(text, chosen, bool(paths)))
    sources = [source for source, path in rows if path == chosen[0]]
    return RecordedFile(chosen[0], sources, _lines(snapshot, sources))


def _no_file(text: str, several: list[str], has_files: bool) -> str:
    if several:
        left = len(several) - _SHOWN
        more = f" and {left} more" if left > 0 else ""
        return f"{len(several)} source files have {text!r}: {', '.join(several[:_SHOWN])}{more}."
    if not has_files:
        return "The recording holds no source files: dump folders of tfdbg have none."
    return f"No source file has {text!r} in its path; `ls` lists those that are on record."


def _lines(snapshot: Snapshot, sources: list[int]) -> dict[int, str]:
    whole = snapshot.rows(
        "SELECT line, any_value(text) FROM source_lines WHERE source IN (SELECT unnest(?)) GROUP BY line",
        [sources],
    )
    return dict(
        whole
        or snapshot.rows(
            "SELECT f.line, any_value(f.text) FROM frame_lines f JOIN sources s USING (host, file_index)"
            " WHERE s.source IN (SELECT unnest(?)) GROUP BY f.line",
            [sources],
        )
    )


def stacks_by_line(snapshot: Snapshot, sources: list[int]) -> dict[int, list[int]]:
    """Returns, for each line of a file, the stacks in which it is the innermost line of the file."""
    rows = _stack_files(snapshot)
    chosen = np.flatnonzero(np.isin(rows["source"], sources))
    lines: dict[int, list[int]] = defaultdict(list)
    for line, stack in zip(rows["line"][chosen].tolist(), rows["stack"][chosen].tolist(), strict=True):
        lines[line].append(stack)
    return lines


def ops_by_line(snapshot: Snapshot, sources: list[int]) -> dict[int, list[int]]:
    """Returns the numbers of the ops that each line of a file made, sorted by name."""
    ops = snapshot.catalog.ops
    of_stack = snapshot.remember_of_graphs("ops_by_stack", lambda: _group_by_stack(snapshot))
    return {
        line: sorted(made, key=lambda number: ops[number].name)
        for line, stacks in stacks_by_line(snapshot, sources).items()
        if (made := [number for stack in stacks for number in of_stack.get(stack, ())])
    }


def executions_by_line(snapshot: Snapshot, sources: list[int]) -> dict[int, int]:
    """Returns how many ops and functions each line of a file ran from Python."""
    counts = executions_by_stack(snapshot)
    sums = {
        line: sum(counts.get(stack, 0) for stack in stacks)
        for line, stacks in stacks_by_line(snapshot, sources).items()
    }
    return {line: count for line, count in sums.items() if count}


def _group_by_stack(snapshot: Snapshot) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for op in snapshot.catalog.ops:
        if op.stack >= 0:
            groups[op.stack].append(op.number)
    return dict(groups)


class UserLine(NamedTuple):
    """A line of the program.

    Attributes:
      path: The file.
      line: The line, from 1.
      function: The function.
    """

    path: str
    line: int
    function: str


def user_lines(snapshot: Snapshot, stacks: list[int]) -> dict[int, UserLine]:
    """Returns the innermost line of the user's code in each stack, or else the innermost line."""
    rows = snapshot.rows("SELECT source, path, origin FROM sources")
    own = [source for source, path, recorded in rows if origin(path, recorded) == USER]
    query = (
        "SELECT k.stack, arg_max({name: s.path, line: f.line, function: f.function},"
        " k.depth + CASE WHEN s.source IN (SELECT unnest($own::INTEGER[])) THEN 1000000 ELSE 0 END)"
        " FROM stacks k JOIN frames f ON f.host = k.host AND f.frame_id = k.frame_id"
        " JOIN sources s ON s.host = f.host AND s.file_index = f.file_index"
        " WHERE k.stack IN (SELECT unnest($stacks::INTEGER[])) GROUP BY k.stack"
    )
    found = snapshot.rows(query, {"own": own, "stacks": sorted({stack for stack in stacks if stack >= 0})})
    return {stack: UserLine(one["name"], one["line"], one["function"]) for stack, one in found}
