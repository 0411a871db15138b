"""Counts the recorded tensors, and the bad ones, of each site, op, graph, layer and variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.index.tensors import BAD, GOOD

#: What is said of several values: a bad one says more than a good one, which says more than one not measured.
WorstHealth: TypeAlias = Literal["bad", "good", "unmeasured"]
#: After every position.
_NONE: Final = 2**62


def worst_health(values: int, bad: int, good: int) -> WorstHealth | None:
    """Return the worst health of values by their counts; None where there are none."""
    if not values:
        return None
    return "bad" if bad else "good" if good else "unmeasured"


@dataclass(frozen=True)
class TensorCounts:
    """Counts as arrays, by number of the op.

    Attributes:
      tensors: How many tensors of it are on record.
      bad: How many of them are bad.
      good: How many of them were measured and are not bad.
      first_bad: The position of the first bad one; -1 when none is.
    """

    tensors: npt.NDArray[np.int64]
    bad: npt.NDArray[np.int64]
    good: npt.NDArray[np.int64]
    first_bad: npt.NDArray[np.int64]


class GroupCounts(NamedTuple):
    """The counts of a group of ops."""

    ops: int
    tensors: int
    bad: int


@remembered(Snapshot.remember)
def tensor_counts(snapshot: Snapshot) -> TensorCounts:
    """Return the counts of all ops."""
    return tensor_counts_until(snapshot, snapshot.num_graph_executions)


def tensor_counts_until(snapshot: Snapshot, at: int) -> TensorCounts:
    """Return the counts of all ops up to a position in the list of graph executions."""
    rows = snapshot.columns(
        f"SELECT site, count(*) AS tensors, count(*) FILTER (health = {BAD}) AS bad,"
        f" count(*) FILTER (health = {GOOD}) AS good,"
        f" coalesce(min(idx) FILTER (health = {BAD}), {_NONE}) AS first"
        " FROM graph_executions WHERE idx <= $at GROUP BY site",
        {"at": at},
    )
    ops = np.array([site.op for site in snapshot.catalog.sites], np.int64)
    counts = np.zeros((3, len(snapshot.catalog.ops)), np.int64)
    first = np.full(len(snapshot.catalog.ops), _NONE)
    if len(ops):
        for number, name in enumerate(("tensors", "bad", "good")):
            np.add.at(counts[number], ops[rows["site"]], rows[name])
        np.minimum.at(first, ops[rows["site"]], rows["first"])
    first[first == _NONE] = -1
    return TensorCounts(counts[0], counts[1], counts[2], first)


def counts_by(
    snapshot: Snapshot, what: str, keys_of: Callable[[Op], Iterable[str | int]]
) -> dict[str | int, GroupCounts]:
    """Return the counts of groups of ops.

    Args:
      snapshot: The run.
      what: What the groups are; the counts are kept under this name.
      keys_of: Returns the groups that an op is in.
    """
    return snapshot.remember(f"counts_by_{what}", lambda: _count_groups(snapshot, keys_of))


def _count_groups(
    snapshot: Snapshot, keys_of: Callable[[Op], Iterable[str | int]]
) -> dict[str | int, GroupCounts]:
    counts = tensor_counts(snapshot)
    tensors, bad = counts.tensors.tolist(), counts.bad.tolist()
    groups: dict[str | int, list[int]] = {}
    for op in snapshot.catalog.ops:
        for key in keys_of(op):
            group = groups.setdefault(key, [0, 0, 0])
            group[0] += 1
            group[1] += tensors[op.number]
            group[2] += bad[op.number]
    return {key: GroupCounts(*group) for key, group in groups.items()}
