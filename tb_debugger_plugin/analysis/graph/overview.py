"""Sums up a whole graph as some parts, such as its layers, with their health and the tensors between them.

Takes a graph, what a part is, and the parts that are open. Large parts that have parts inside them, and the
ops outside of any part, are opened while there is room. An open part stands for what is in it: parts and
single ops.

Invariant: each op of the graph is in one part, or counted as left out.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, TypedDict

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.adjacency import adjacency
from tb_debugger_plugin.analysis.graph.graphs import CalledGraphJson, graph_number, graphs_run_by
from tb_debugger_plugin.analysis.graph.tensor_counts import TensorCounts, tensor_counts, tensor_counts_until
from tb_debugger_plugin.analysis.snapshot import Json, JsonObject, Snapshot, check_index
from tb_debugger_plugin.events.tensorflow_names import is_gradient

MAX_PARTS: Final = 400

_Path = tuple[str, ...]
#: The path of the ops outside of any part.
_OUTSIDE: Final[_Path] = ("",)


@dataclass(frozen=True)
class GraphPart(JsonObject):
    """A part of a graph, or a single op."""

    #: path of the layer or scope, after `∇ ` for the gradient of a layer, and empty for the ops outside of
    #: any; or the name of the op
    name: str
    is_op: bool  #: whether it is a single op
    ops: int  #: number of its ops
    bad_ops: int  #: how many of them computed NaN or infinity
    tensors: int  #: number of its tensors on record, up to `at`
    bad: int  #: how many of them have NaN or infinity
    #: position of the first of those in the list of graph executions; null when none is bad
    first_bad: int | None
    op_name: str  #: the op of that one; otherwise its first op
    op_type: str | None  #: the type of that op
    #: the [graphs that it runs](#graphs-that-an-op-runs), of a single op
    runs: list[Annotated[Json, CalledGraphJson]]


@dataclass(frozen=True)
class PartEdge(JsonObject):
    """The tensors from one part to another."""

    source: int  #: the part that makes them, as its position in `parts`
    target: int  #: the part that takes them, in the same way
    tensors: int  #: how many inputs of ops they are
    bad: int  #: how many of these are made by ops that computed NaN or infinity


class GraphOverviewJson(TypedDict):
    """The answer of the route ``graphs/overview``."""

    graph_id: str  #: the graph
    graph_name: str | None  #: name of the function; null when it has none
    parts: list[GraphPart]  #: the parts, in the order of their first ops
    edges: list[PartEdge]  #: what goes from part to part
    #: for each of the asked ops, the part that it is in, as its position in `parts`; null when it is in none
    places: list[int | None]
    parts_left_out: int  #: how many parts are left out, because there are too many
    ops_left_out: int  #: how many ops are in those


def overview(
    snapshot: Snapshot,
    graph_id: str,
    *,
    by: str,
    opened: Collection[str],
    most: int,
    ops: Iterable[str] = (),
    at: int | None = None,
) -> GraphOverviewJson:
    """Return the parts of a graph.

    Args:
      snapshot: The run.
      graph_id: The id of the graph.
      by: What a part is, one of :data:`PATHS`.
      opened: The names of the parts that the reader opened.
      most: The number of parts up to which parts are opened without being asked for.
      ops: Names of ops whose places are asked for.
      at: The position in the list of graph executions up to which tensors count; None = the end.

    Raises:
      BadQueryError: There is no such position.
      NotFoundError: There is no such graph.
    """
    if at is not None:
        check_index(at, snapshot.num_graph_executions, "graph execution")
    graph = snapshot.catalog.graphs[graph_number(snapshot, graph_id)]
    paths = {op.number: PATHS[by](op) for op in snapshot.catalog.ops if op.graph == graph.number}
    unfolded = _unfolded(paths.values(), opened, most)
    members: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for number, path in paths.items():
        members[_part_of(snapshot.catalog.ops[number], path, unfolded)].append(number)
    counts = tensor_counts(snapshot) if at is None else tensor_counts_until(snapshot, at)
    numbers = snapshot.catalog.op_numbers
    parts = [_part(snapshot, counts, name, is_op, inside) for (name, is_op), inside in members.items()]
    kept = _most_important(parts)
    shown = {
        name: index for index, name in enumerate(key for key, keep in zip(members, kept, strict=True) if keep)
    }
    part_of = {number: shown[key] for key, inside in members.items() if key in shown for number in inside}
    return {
        "graph_id": graph.graph_id,
        "graph_name": graph.name,
        "parts": [part for part, keep in zip(parts, kept, strict=True) if keep],
        "edges": _edges(snapshot, counts, part_of),
        "places": [part_of.get(numbers.get((graph.number, name), -1)) for name in ops],
        "parts_left_out": len(parts) - len(shown),
        "ops_left_out": len(paths) - len(part_of),
    }


def _scope(op: Op) -> _Path:
    return tuple(op.name.split("/")[:-1]) or _OUTSIDE


def _layer(op: Op) -> _Path:
    if op.layer is None:
        return _scope(op)
    first, *rest = op.layer.split("/")
    return (f"∇ {first}" if is_gradient(op.name) else first, *rest)


#: By what a part is: the path from the outermost part around an op to the innermost one.
PATHS: Final[Mapping[str, Callable[[Op], _Path]]] = {"layer": _layer, "scope": _scope}


def _unfolded(paths: Iterable[_Path], opened: Collection[str], most: int) -> set[_Path]:
    """Return the parts that are open: those that the reader opened, and large ones while there is room."""
    direct = Counter(paths)
    inside: dict[_Path, set[_Path]] = defaultdict(set)
    ops: Counter[_Path] = Counter()
    for path, count in direct.items():
        for length in range(len(path) + 1):
            ops[path[:length]] += count
            if length:
                inside[path[: length - 1]].add(path[:length])
    chosen = {path for path in ops if path and "/".join(path) in opened}
    unfolded: set[_Path] = set()
    front: list[tuple[int, _Path]] = [(0, ())]
    shown = 1
    while front:
        _, path = heapq.heappop(front)
        after = shown - 1 + len(inside[path]) + direct[path]
        if not path or path in chosen or ((inside[path] or path == _OUTSIDE) and after <= most):
            unfolded.add(path)
            shown = after
            for part in inside[path]:
                heapq.heappush(front, (-ops[part], part))
    return unfolded


def _part_of(op: Op, path: _Path, unfolded: Collection[_Path]) -> tuple[str, bool]:
    """Return the name of the part that an op is in, and whether that is the op itself."""
    for length in range(1, len(path) + 1):
        if path[:length] not in unfolded:
            return "/".join(path[:length]), False
    return op.name, True


def _part(snapshot: Snapshot, counts: TensorCounts, name: str, is_op: bool, ops: list[int]) -> GraphPart:
    bad = [op for op in ops if counts.bad[op]]
    first = min(bad, key=lambda op: int(counts.first_bad[op]), default=None)
    op = snapshot.catalog.ops[ops[0] if first is None else first]
    is_one = is_op or len(ops) == 1
    return GraphPart(
        *(op.name if is_one else name, is_one),
        ops=len(ops),
        bad_ops=len(bad),
        tensors=int(counts.tensors[ops].sum()),
        bad=int(counts.bad[ops].sum()),
        first_bad=None if first is None else int(counts.first_bad[first]),
        op_name=op.name,
        op_type=op.type,
        runs=graphs_run_by(snapshot, op.number) if is_one else [],
    )


def _most_important(parts: list[GraphPart]) -> list[bool]:
    """Return which parts are kept: those that were bad first, then the largest."""

    def rank(index: int) -> tuple[float, int]:
        part = parts[index]
        return (float("inf") if part.first_bad is None else part.first_bad, -part.ops)

    kept = set(sorted(range(len(parts)), key=rank)[:MAX_PARTS])
    return [index in kept for index in range(len(parts))]


def _edges(snapshot: Snapshot, counts: TensorCounts, part_of: Mapping[int, int]) -> list[PartEdge]:
    tensors: Counter[tuple[int, int]] = Counter()
    bad: Counter[tuple[int, int]] = Counter()
    edges = adjacency(snapshot)
    for op, target in part_of.items():
        for _, made_by, _ in edges.numbered_inputs(op):
            source = part_of.get(made_by, target)
            if source != target:
                tensors[source, target] += 1
                bad[source, target] += int(counts.bad[made_by] > 0)
    return [PartEdge(*pair, count, bad[pair]) for pair, count in sorted(tensors.items())]
