"""The graph executions of the calls that are looked at, in memory.

Takes positions of traces; returns what was recorded of them and of the other traces of the same call of a
function, or of the same run of a session. A call with very many traces is read in parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.calls.call_owner import owners, span_of_call, traces_of_call
from tb_debugger_plugin.analysis.calls.steps import step_at
from tb_debugger_plugin.analysis.origins.values import UNMEASURED, Measured
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.tensors import BAD, NOT_MEASURED

#: Traces of a call that are read at once, before and after the one that is looked at.
_BEFORE: Final = 400_000
_AFTER: Final = 100_000
#: Where it is not known to which call a trace belongs, so many around it are read.
_UNOWNED: Final = 50_000
#: Lengths of the parts in which the nearest value of a tensor is searched: most have one in each call.
_SPANS: Final = (1 << 16, 1 << 20)
#: The rows with bad elements of a kind, as SQL.
BAD_ROWS: Final = {"nan": "(nan > 0 OR nan IS NULL)", "inf": "(pos_inf + neg_inf > 0 OR nan IS NULL)"}
_COUNTS: Final = ("nan", "neg_inf", "pos_inf", "size")
_COLUMNS: Final = ", ".join(("idx", "wall_time", "step", "site", "health", *_COUNTS, "positive"))


@dataclass(frozen=True)
class Window:
    """The traces of one call, or a part of them.

    Attributes:
      owner: Position of the execution; None when it is not known or has not returned.
      columns: Their columns, in the order of their positions.
      is_whole: Whether these are all traces of the call.
    """

    owner: int | None
    columns: Columns
    is_whole: bool = True

    @property
    def idx(self) -> Array:
        """The positions."""
        return self.columns["idx"]

    def row(self, idx: int) -> int | None:
        """Return the row of a trace; None when it is not here."""
        first, last, is_gapless = self._reach
        if not first <= idx <= last:
            return None
        if is_gapless:
            return idx - first
        row = int(np.searchsorted(self.idx, idx))
        return row if self.idx[row] == idx else None

    def of_sites(self, sites: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the positions of the traces of some sites, in order."""
        order, starts = self._by_site
        parts = [order[starts[site] : starts[site + 1]] for site in sites if site + 1 < len(starts)]
        rows = parts[0] if len(parts) == 1 else np.sort(np.concatenate([*parts, np.empty(0, np.int64)]))
        found: npt.NDArray[np.int64] = self.idx[rows.astype(np.int64)]
        return found

    @cached_property
    def _reach(self) -> tuple[int, int, bool]:
        """The first and the last position, and whether all between them are here, as of one thread."""
        if not len(self.idx):
            return 0, -1, True
        first, last = int(self.idx[0]), int(self.idx[-1])
        return first, last, last - first + 1 == len(self.idx)

    @cached_property
    def _by_site(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        sites = self.columns["site"]
        order = np.argsort(sites, kind="stable")
        last = int(sites.max()) if len(sites) else -1
        return order, np.searchsorted(sites[order], np.arange(last + 2))

    def measured(self, idx: int) -> Measured:
        """Return what was recorded of a trace."""
        row = self.row(idx)
        return UNMEASURED if row is None else measured(self.columns, row)


def measured(columns: Columns, row: int) -> Measured:
    """One row of columns of numbers."""
    health = int(columns["health"][row])
    nan, neg_inf, pos_inf, size = (_whole(columns[name][row]) for name in _COUNTS)
    bad = None if health == NOT_MEASURED else health == BAD
    positive = _whole(columns["positive"][row])
    return Measured(bad, nan, neg_inf, pos_inf, size, float(columns["wall_time"][row]), positive)


def _whole(count: float) -> int | None:
    return None if math.isnan(count) else int(count)


class Traces:
    """The traces that a search has looked at; lives as long as the search.

    Args:
      snapshot: The run.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._windows: list[Window] = []
        self._measured: dict[int, Measured] = {}

    def window(self, idx: int) -> Window:
        """Return the call of a trace."""
        for window in reversed(self._windows):
            row = window.row(idx)
            if row is not None and (window.is_whole or _is_inside(window, row)):
                return window
        made = self._make(idx)
        self._windows.append(made)
        return made

    def of_execution(self, execution: int) -> Window | None:
        """Return the traces of a call; None when nothing of it was recorded."""
        for window in self._windows:
            if window.owner == execution and window.is_whole:
                return window
        rows = traces_of_call(self._snapshot, execution)
        if rows is None:
            return None
        made = self._read(execution, rows[0], rows[1], rows[1] - 1)
        self._windows.append(made)
        return made

    def bad_beside(self, execution: int, sites: Sequence[int]) -> int | None:
        """Return the last bad trace of some sites that ran while a call may have, in any thread.

        Of calls that run at the same time in several threads it is not on record which trace ran in which.
        None if all of them ran in one thread.
        """
        threads = self._snapshot.rows_of("executions", "SELECT count(DISTINCT thread) FROM executions")
        span = span_of_call(self._snapshot, execution) if threads[0][0] > 1 else None
        if span is None:
            return None
        ((found,),) = self._snapshot.rows(
            "SELECT max(idx) FROM graph_executions WHERE wall_time >= $begin AND wall_time <= $end"
            f" AND health = {BAD} AND site IN (SELECT unnest($sites::INTEGER[]))"
            " AND (SELECT count(DISTINCT thread) > 1 FROM executions"
            " WHERE host = $host AND wall_time >= $begin AND wall_time <= $end)",
            {**span._asdict(), "sites": list(sites)},
        )
        return None if found is None else int(found)

    def measured(self, idx: int) -> Measured:
        """Return what was recorded of a trace."""
        if idx not in self._measured:
            self._measured[idx] = self.window(idx).measured(idx)
        return self._measured[idx]

    def site(self, idx: int) -> int:
        """Return the site of a trace."""
        return int(self._of_row("site", idx))

    def step(self, idx: int) -> int | None:
        """Return the step of a trace; None where its process has a single one."""
        host = self._snapshot.catalog.sites[self.site(idx)].host
        return step_at(self._snapshot, host, self.measured(idx).time, int(self._of_row("step", idx)))

    def _of_row(self, column: str, idx: int) -> float:
        window = self.window(idx)
        row = window.row(idx)
        assert row is not None
        return float(window.columns[column][row])

    def _make(self, idx: int) -> Window:
        (row,) = self._snapshot.rows("SELECT wall_time, site FROM graph_executions WHERE idx = ?", [idx])
        owner = float(owners(self._snapshot, np.array([row[0]]), np.array([row[1]], np.int32))[0])
        if math.isnan(owner):
            return self._around(idx, row[0])
        rows = traces_of_call(self._snapshot, int(owner)) or (idx, idx + 1)
        return self._read(int(owner), min(rows[0], idx), max(rows[1], idx + 1), idx)

    def _around(self, idx: int, time: float) -> Window:
        """Return the traces of the session run, or else those around a trace that have no owner either."""
        runs = self._snapshot.rows(
            "SELECT begin_time, end_time FROM session_runs WHERE begin_time <= $t AND end_time >= $t LIMIT 1",
            {"t": time},
        )
        columns = self._columns(idx - _UNOWNED, idx + _UNOWNED)
        if runs:
            begin, end = runs[0]
            kept = (columns["wall_time"] >= begin) & (columns["wall_time"] <= end)
        else:
            kept = np.isnan(owners(self._snapshot, columns["wall_time"], columns["site"]))
        kept |= columns["idx"] == idx
        return Window(None, {name: values[kept] for name, values in columns.items()}, is_whole=bool(runs))

    def _read(self, owner: int, begin: int, end: int, at: int) -> Window:
        is_whole = end - begin <= _BEFORE + _AFTER
        if not is_whole:
            begin, end = max(begin, at - _BEFORE), min(end, at + _AFTER)
        columns = self._columns(begin, end)
        owned_by = owners(self._snapshot, columns["wall_time"], columns["site"])
        kept = (owned_by == owner) | (columns["idx"] == at)
        return Window(owner, {name: values[kept] for name, values in columns.items()}, is_whole)

    def _columns(self, begin: int, end: int) -> Columns:
        columns = self._snapshot.columns(
            f"SELECT {_COLUMNS} FROM graph_executions WHERE idx >= ? AND idx < ? ORDER BY idx", [begin, end]
        )
        return {
            name: values.astype(np.float64) if name in (*_COUNTS, "positive") else values
            for name, values in columns.items()
        }


def spans_before(idx: int) -> Iterator[tuple[int, int]]:
    """Yield the begins and ends of parts of what is before a position, the nearest and shortest first."""
    end = max(idx, 0)
    for length in _SPANS:
        yield max(end - length, 0), end
        end = max(end - length, 0)
        if end == 0:
            return
    yield 0, end


def spans_after(idx: int, total: int) -> Iterator[tuple[int, int]]:
    """Yield the begins and ends of parts of what is after a position, the nearest and shortest first."""
    begin = idx + 1
    for length in _SPANS:
        yield begin, min(begin + length, total)
        begin += length
        if begin >= total:
            return
    yield begin, total


def _is_inside(window: Window, row: int) -> bool:
    """Whether a part of a call holds enough of what is before a trace."""
    return row > min(len(window.idx), _BEFORE) // 8


def sites_of(snapshot: Snapshot, tensors: Iterable[tuple[int, int]]) -> list[int]:
    """Return the sites of some outputs of ops."""
    wanted = set(tensors)
    return [
        site.number
        for op in {op for op, _ in wanted}
        for site in snapshot.catalog.op_sites.get(op, ())
        if (site.op, site.slot) in wanted
    ]
