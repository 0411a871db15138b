"""Counts the recorded tensors, and the bad ones, of each site, op, graph, layer and variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot, remembered
from tb_debugger_plugin.index.tensors import BAD


@dataclass(frozen=True)
class TensorCounts:
    """Counts as arrays, by number of the op.

    Attributes:
      tensors: How many tensors of it are on record.
      bad: How many of them are bad.
      first_bad: The position of the first bad one; -1 when none is.
    """

    tensors: npt.NDArray[np.int64]
    bad: npt.NDArray[np.int64]
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
    ops = np.array([site.op for site in snapshot.catalog.sites], np.int64)
    count = len(snapshot.catalog.ops)
    every = snapshot.columns(
        "SELECT site, count(*) AS n FROM graph_executions WHERE idx <= $at GROUP BY site", {"at": at}
    )
    bad = snapshot.columns(
        "SELECT site, count(*) AS n, min(idx) AS first FROM graph_executions"
        f" WHERE health = {BAD} AND idx <= $at GROUP BY site",
        {"at": at},
    )
    none = np.iinfo(np.int64).max
    first = np.full(count, none)
    if len(ops):
        np.minimum.at(first, ops[bad["site"]], bad["first"])
    first[first == none] = -1
    return TensorCounts(_sums(ops, every, count), _sums(ops, bad, count), first)


def _sums(ops: npt.NDArray[np.int64], rows: Columns, count: int) -> npt.NDArray[np.int64]:
    sums = np.zeros(count, np.int64)
    if len(ops):
        np.add.at(sums, ops[rows["site"]], rows["n"])
    return sums


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
