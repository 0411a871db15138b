"""Reads the histories of tensors part by part, in the order of their values.

Takes sites, each with a group, such as its variable. Yields parts of the list of graph executions, sorted by
group and, within a group, by position. Each part begins with the rows of earlier parts that a rule still
needs.

Invariant: memory depends on the size of a part and on the number of groups, not on the length of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.alerts.rule import IN_GRAPH, Hit
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot

#: Rows of the list that are looked at at once.
_PART: Final = 1_000_000

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Part:
    """Rows in the order of their groups, and of time within a group.

    Attributes:
      columns: ``site``, ``idx``, ``group``, ``is_new`` (not on an earlier part) and the numbers.
      row: 0, 1, 2, …
      start: The first row of the group of each row.
    """

    columns: Columns
    row: Ints
    start: Ints

    def before(self, steps: int) -> Ints:
        """Return the row some steps before each row in its group, or the first one of the group."""
        return np.maximum(self.start, self.row - steps)

    def last(self, steps: int) -> Mask:
        """Return the last rows of each group."""
        ends = np.append(self.start[1:] != self.start[:-1], True)
        end = np.flatnonzero(ends)[np.cumsum(np.append(False, ends[:-1]))] if len(ends) else self.row
        return np.asarray(end - self.row < steps)


def parts(
    snapshot: Snapshot, groups: Mapping[int, int], numbers: Mapping[str, str], keep: Callable[[Part], Mask]
) -> Iterator[Part]:
    """Yield the values of some sites that have numbers, part by part.

    Args:
      snapshot: The run.
      groups: The group of each site.
      numbers: SQL expressions by the names of their columns.
      keep: Which rows of a part the next one begins with.
    """
    group_of = np.full(len(snapshot.catalog.sites), -1, np.int64)
    group_of[list(groups)] = list(groups.values())
    select = ", ".join(f"{sql} AS {name}" for name, sql in numbers.items())
    query = (
        f"SELECT site, idx, {select} FROM graph_executions WHERE idx >= $begin AND idx < $end"
        " AND variance IS NOT NULL AND site IN (SELECT unnest($sites::INTEGER[])) ORDER BY idx"
    )
    kept: Columns = {}
    for begin in range(0, snapshot.num_graph_executions, _PART):
        new = snapshot.columns(query, {"begin": begin, "end": begin + _PART, "sites": list(groups)})
        new["group"] = group_of[new["site"]]
        new["is_new"] = np.ones(len(new["idx"]), bool)
        part = _sorted({name: np.concatenate([kept[name], new[name]]) for name in new} if kept else new)
        yield part
        mask = keep(part)
        kept = {name: values[mask] for name, values in part.columns.items()}
        kept["is_new"] = np.zeros(len(kept["idx"]), bool)


def _sorted(columns: Columns) -> Part:
    # Rows that were kept come first and are earlier, so a stable sort keeps the order of time.
    # NumPy sorts numbers of 16 bits by their digits, which takes a tenth of the time.
    groups = columns["group"]
    is_short = not len(groups) or groups.max() < 1 << 15
    order = np.argsort(groups.astype(np.int16) if is_short else groups, kind="stable")
    ordered = {name: values[order] for name, values in columns.items()}
    row = np.arange(len(order))
    group = ordered["group"]
    is_first = np.append(True, group[1:] != group[:-1]) if len(row) else np.zeros(0, bool)
    return Part(ordered, row, np.maximum.accumulate(np.where(is_first, row, 0)) if len(row) else row)


@dataclass
class Tally:
    """Counts the values of each site that break a rule, over parts; lives while a rule is evaluated."""

    _hits: dict[int, Hit] = field(default_factory=dict)

    def add(self, part: Part, broken: Mask, measured: npt.NDArray[Any]) -> None:
        """Count the rows of a part that are new and break the rule."""
        rows = np.flatnonzero(broken & part.columns["is_new"])
        rows = rows[np.lexsort((part.columns["idx"][rows], part.columns["site"][rows]))]
        sites, begins, counts = np.unique(part.columns["site"][rows], return_index=True, return_counts=True)
        for site, begin, count in zip(sites.tolist(), begins.tolist(), counts.tolist(), strict=True):
            first, last = rows[begin], rows[begin + count - 1]
            known = self._hits.get(site)
            position = int(part.columns["idx"][first]) if known is None else known.position
            number = float(measured[first]) if known is None else known.measured
            times = count + (0 if known is None else known.times)
            self._hits[site] = Hit(position, IN_GRAPH, times, int(part.columns["idx"][last]), number)

    def hits(self) -> Sequence[Hit]:
        """Return the hit of each site."""
        return list(self._hits.values())
