"""What was read and assigned of variables inside of graphs, near a position among the graph executions.

Takes the keys of a variable, or ops that assign. A search asks for all variables of a step, one after the
other, so the reads and assigned values of all of them are taken into memory, a block of the long list at a
time. What is not in the block of the position is searched with a query.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.origins.structure import Structure
from tb_debugger_plugin.analysis.origins.traces import BAD_ROWS, sites_of, spans_after, spans_before
from tb_debugger_plugin.analysis.origins.values import BadKind
from tb_debugger_plugin.analysis.origins.variables import Keys, VariableKeys
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot
from tb_debugger_plugin.index.tensors import BAD, GOOD

#: Graph executions of a block, and blocks that are kept.
_BLOCK: Final = 1 << 16
_MAX_BLOCKS: Final = 16
#: The traces that are searched for, as SQL: all of them, bad ones, and those with bad elements of a kind.
_CHOICES: Final = {
    "all": "true",
    "bad": f"health = {BAD}",
    **{kind: f"health = {BAD} AND {has_kind}" for kind, has_kind in BAD_ROWS.items()},
}


class VariableTraces:
    """The reads and assigned values of the variables of a run; lives as long as a search.

    Args:
      snapshot: The run.
      structure: Its graphs.
      variables: Its variables.
    """

    def __init__(self, snapshot: Snapshot, structure: Structure, variables: VariableKeys) -> None:
        self._snapshot = snapshot
        self._structure = structure
        self._variables = variables
        self._blocks: dict[int, Columns] = {}

    def last_good_read(self, keys: Keys, at: int) -> tuple[float, int]:
        """Return time and position of the last good read before a position; -1 for both if there is none.

        Several tensors may have one time.
        """
        sites = self._reads(keys)
        if not sites:
            return -1.0, -1
        number = max(at - 1, 0) // _BLOCK
        block = self._block(number)
        before = _rows(block, sites, (block["idx"] < at) & (block["health"] == GOOD))
        if len(before):
            return float(block["wall_time"][before[-1]]), int(block["idx"][before[-1]])
        for begin, end in spans_before(number * _BLOCK):
            rows = self._snapshot.rows(
                "SELECT wall_time, idx FROM graph_executions WHERE idx >= ? AND idx < ?"
                f" AND health = {GOOD} AND site IN (SELECT unnest(?)) ORDER BY idx DESC LIMIT 1",
                [begin, end, sites],
            )
            if rows:
                return rows[0][0], rows[0][1]
        return -1.0, -1

    def next_read(self, keys: Keys, after: int) -> int | None:
        """Return the health of the first measured read after a position; None if there is none."""
        sites, total = self._reads(keys), self._snapshot.num_graph_executions
        if not sites or after + 1 >= total:
            return None
        number = (after + 1) // _BLOCK
        block = self._block(number)
        measured = np.isin(block["health"], (GOOD, BAD))
        following = _rows(block, sites, (block["idx"] > after) & measured)
        if len(following):
            return int(block["health"][following[0]])
        for begin, end in spans_after((number + 1) * _BLOCK - 1, total):
            rows = self._snapshot.rows(
                "SELECT health FROM graph_executions WHERE idx >= ? AND idx < ?"
                f" AND site IN (SELECT unnest(?)) AND health IN ({GOOD}, {BAD}) ORDER BY idx LIMIT 1",
                [begin, end, sites],
            )
            if rows:
                return int(rows[0][0])
        return None

    def first_bad_assigned(
        self, ops: Iterable[int], at: int, since: tuple[float, int], kind: BadKind | None
    ) -> tuple[int, int] | None:
        """Return the first bad value that ops assigned between two moments, and the op.

        Args:
          ops: The ops.
          at: The position before which it is.
          since: Time and position after which it is.
          kind: The kind of its bad elements; None for any.

        Returns:
          The position of its trace and the op; None if there is none.
        """
        return min(self._assigned(ops, at, since, kind or "bad"), default=None)

    def last_assigned(self, ops: Iterable[int], at: int, since: tuple[float, int]) -> tuple[int, int] | None:
        """Return the last value that ops assigned between two moments, as the first bad one is returned."""
        return max(self._assigned(ops, at, since, "all"), default=None)

    def _assigned(
        self, ops: Iterable[int], at: int, since: tuple[float, int], choice: str
    ) -> list[tuple[int, int]]:
        """Return the first and the last trace of each output that ops assigned between two moments.

        Args:
          ops: The ops.
          at: The position before which the traces are.
          since: Time and position after which they are.
          choice: Which traces, a key of `_CHOICES`.
        """
        by_site = {site: op for op in ops for site in sites_of(self._snapshot, self._structure.assigned(op))}
        if not by_site:
            return []
        first, last = max(since[1] + 1, 0) // _BLOCK, max(at - 1, 0) // _BLOCK
        if first == last:
            block = self._block(first)
            inside = (block["idx"] < at) & (block["idx"] > since[1]) & (block["wall_time"] >= since[0])
            rows = _rows(block, list(by_site), inside & block[choice])
            ends = [*rows[:1], *rows[-1:]]
            return [(int(block["idx"][row]), by_site[int(block["site"][row])]) for row in ends]
        found = self._snapshot.rows(
            "SELECT site, min(idx), max(idx) FROM graph_executions WHERE idx < ? AND idx > ?"
            f" AND wall_time >= ? AND site IN (SELECT unnest(?::INTEGER[])) AND {_CHOICES[choice]}"
            " GROUP BY site",
            [at, since[1], since[0], list(by_site)],
        )
        return [(int(trace), by_site[site]) for site, *traces in found for trace in traces]

    def _reads(self, keys: Keys) -> list[int]:
        return sites_of(self._snapshot, [(op, 0) for op in self._variables.reading(keys)])

    def _block(self, number: int) -> Columns:
        """Return the reads and assigned values of all variables in a block of the long list."""
        found = self._blocks.get(number)
        if found is None:
            chosen = ", ".join(f'{sql} AS "{name}"' for name, sql in _CHOICES.items())
            found = self._snapshot.columns(
                f"SELECT site, idx, wall_time, health, {chosen} FROM graph_executions"
                " WHERE idx >= ? AND idx < ? AND site IN (SELECT unnest(?::INTEGER[])) ORDER BY idx",
                [number * _BLOCK, (number + 1) * _BLOCK, self._sites],
            )
            if len(self._blocks) >= _MAX_BLOCKS:
                self._blocks.clear()
            self._blocks[number] = found
        return found

    @cached_property
    def _sites(self) -> list[int]:
        reads = [(op, 0) for op in self._variables.reads]
        assigned = [tensor for op in self._variables.assigns for tensor in self._structure.assigned(op)]
        return sites_of(self._snapshot, [*reads, *assigned])


def _rows(block: Columns, sites: list[int], chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return the rows of a block that are of some sites, of those that a mask chooses."""
    return np.flatnonzero(np.isin(block["site"], sites) & chosen)
