"""The occurrences of a tensor: the same output of the same op, each time that it was computed.

Takes a recorded value, or the sites of a tensor, and returns its occurrences in the order of time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tb_debugger_plugin.analysis.calls.steps import steps_of
from tb_debugger_plugin.analysis.catalog import Site
from tb_debugger_plugin.analysis.snapshot import Columns, NamedParameters, Range, Snapshot
from tb_debugger_plugin.analysis.values.elements import read_slice
from tb_debugger_plugin.analysis.values.recorded_value import RecordedValue, find_value
from tb_debugger_plugin.analysis.values.slicing import Index, slicing_of
from tb_debugger_plugin.errors import QueryError
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.numbers import Array, Floats, Integers, widened
from tb_debugger_plugin.index.tensors import BAD


class _List(NamedTuple):
    """One of the long lists.

    Attributes:
      tables: SQL of the tables, with the summary in ``t``.
      key: The parameter of `find_value` for its positions.
      is_measured: SQL that is true if there is anything about the tensor in its record.
      row: The row with its time and its step.
      place: SQL of its site, or of its host.
    """

    tables: str
    key: str
    is_measured: str
    row: str
    place: str


_GRAPH_EXECUTIONS: Final = _List("graph_executions t", "graph_execution", "true", "t", "t.site")
_EXECUTIONS: Final = _List(
    "execution_outputs t JOIN executions e USING (idx)", "execution", "t.has_value", "e", "e.host"
)
# A function is called from several lines, and the first call of one has a stack of its own.
_CALLS_LIKE_VALUE: Final = (
    "t.slot = $slot AND (e.op_type, CASE WHEN e.graph < 0 THEN e.stack END, e.host) IS NOT DISTINCT FROM"
    " (SELECT (op_type, CASE WHEN graph < 0 THEN stack END, host) FROM executions WHERE idx = $index)"
)
_KEPT: Final = int(TensorDebugMode.FULL_TENSOR)
#: More than the occurrences of any tensor: numbers minus this come before all others.
_BEFORE_ALL: Final = 1 << 60


@dataclass(frozen=True)
class Occurrences:
    """Each time that a tensor was computed; :func:`of_value` and :func:`of_sites` make it.

    Attributes:
      snapshot: The run.
      where: The list that they are in.
      condition: SQL that is true of them.
      parameters: The parameters of the condition.
      slot: The number of the output.
      sites: Where they are in graphs; none for executions.
    """

    snapshot: Snapshot
    where: _List
    condition: str
    parameters: NamedParameters
    slot: int
    sites: Sequence[Site] = ()

    def count(self, before: int = 0) -> tuple[int, int]:
        """Return how many there are, and how many are before a position of the list."""
        query, parameters = self._query("count(*), count(*) FILTER (t.idx < $before)")
        ((total, earlier),) = self.snapshot.rows(query, {**parameters, "before": before})
        return total, earlier

    def at(self, positions: Sequence[int], numbers: Mapping[str, str]) -> Columns:
        """Return numbers of the occurrences at some positions of the list; as for :meth:`columns`."""
        listed = ", ".join(map(str, positions))
        select = ", ".join(f"({sql})::DOUBLE AS {name}" for name, sql in numbers.items())
        query, parameters = self._query(select)
        return self.snapshot.columns(f"{query} AND t.idx IN ({listed}) ORDER BY t.idx", parameters)

    def columns(self, numbers: Mapping[str, str], positions: Range | None = None) -> Columns:
        """Return some occurrences: ``index``, ``wall_time``, ``health``, ``is_kept``, numbers and ``step``.

        Args:
          numbers: SQL expressions on the columns of a tensor, by the names of the columns that they become.
          positions: Their positions among the occurrences; None for all.
        """
        select = "".join(f", ({sql})::DOUBLE AS {name}" for name, sql in numbers.items())
        query, parameters = self._query(
            f"t.idx::DOUBLE AS index, {self.where.row}.wall_time AS wall_time, t.health AS health,"
            f" {self.where.row}.step AS marked, {self.where.place} AS place,"
            f" (t.mode = {_KEPT} AND {self.where.is_measured})::UTINYINT AS is_kept{select}"
        )
        query += " ORDER BY t.idx"
        if positions is not None:
            query += " LIMIT $count OFFSET $first"
            parameters = {
                **parameters,
                "count": positions.end - positions.begin,
                "first": positions.begin,
            }
        return self._with_steps(self.snapshot.columns(query, parameters))

    def stretches(self, sums: Mapping[str, str], where: str, span: Range, most: int) -> Columns:
        """Return sums over stretches of the occurrences, of about equal length.

        A stretch is represented by its first bad occurrence, or else by its first.

        Args:
          sums: SQL aggregates of the columns of a tensor, by the names of the columns that they become.
          where: SQL that is true of the occurrences that are summed.
          span: The occurrences that are looked at.
          most: How many stretches there are at most.

        Returns:
          A row for each stretch that has any: ``occurrence``, ``index``, ``wall_time`` and ``step`` of the
          one that represents it, ``count`` and ``bad`` of those that are summed, and the sums.
        """
        length = span.end - span.begin
        row = self.where.row
        query, parameters = self._query(
            f"t.*, {row}.wall_time AS ended, {row}.step AS marked, {self.where.place} AS place,"
            " row_number() OVER (ORDER BY t.idx) - 1 AS n"
        )
        first = f"coalesce(min(n) FILTER (health = {BAD}), min(n))"
        chosen = {"index": "idx::DOUBLE", "wall_time": "ended", "marked": "marked", "place": "place"}
        found = self.snapshot.columns(
            f"SELECT {first}::DOUBLE AS occurrence, count(*)::DOUBLE AS count,"
            f" (count(*) FILTER (health = {BAD}))::DOUBLE AS bad,"
            # Bad ones come before all others.
            + "".join(
                f" arg_min({sql}, CASE WHEN health = {BAD} THEN n - {_BEFORE_ALL} ELSE n END) AS {name},"
                for name, sql in chosen.items()
            )
            + ", ".join(f"({sql})::DOUBLE AS {name}" for name, sql in sums.items())
            + f" FROM ({query}) t WHERE n >= $begin AND n < $end AND {where}"
            " GROUP BY ((n - $begin + 1) * $parts - 1) // $length ORDER BY occurrence",
            {
                **parameters,
                **{"begin": span.begin, "end": span.end},
                **{"parts": min(most, length), "length": max(1, length)},
            },
        )
        return self._with_steps(found)

    def _with_steps(self, found: Columns) -> Columns:
        """Return columns with the steps of the program in place of what they follow from."""
        hosts, marked = found.pop("place"), found.pop("marked")
        if self.where is _GRAPH_EXECUTIONS:
            hosts = self.snapshot.catalog.site_hosts[hosts] if len(hosts) else hosts
        steps = steps_of(self.snapshot, hosts, found["wall_time"], marked)
        return {**found, "step": steps.astype(np.float64)}

    def elements(self, columns: Columns, indices: tuple[Index, ...], rows: Integers | None = None) -> Floats:
        """Return one element of each occurrence; NaN where it was not kept or the slice does not fit.

        Args:
          columns: Occurrences, as :meth:`columns` gives them.
          indices: Select one element.
          rows: The rows whose element is read; None for all.
        """
        result = np.full(len(columns["index"]), np.nan)
        wanted = np.arange(len(result)) if rows is None else rows
        for row in wanted[columns["is_kept"][wanted] != 0].tolist():
            result[row] = self._element(int(columns["index"][row]), indices)
        return result

    def _element(self, index: int, indices: tuple[Index, ...]) -> float:
        try:
            value = find_value(self.snapshot, **{self.where.key: index}, slot=self.slot)
            with value.elements() as elements:
                slicing = slicing_of(indices, elements.shape)
                if slicing.size != 1 or elements.kind.kind == "O":
                    return np.nan
                element: Array = widened(read_slice(elements, slicing)).reshape(-1)[0]
                return float(abs(element) if elements.kind.kind == "c" else element)
        except QueryError:  # the slice does not fit a shape that changes, or the record is damaged
            return np.nan

    def _query(self, select: str) -> tuple[str, NamedParameters]:
        return f"SELECT {select} FROM {self.where.tables} WHERE {self.condition}", self.parameters


def of_value(value: RecordedValue) -> Occurrences:
    """Return the occurrences of the tensor that a value is one of."""
    if value.is_execution:
        parameters = {"index": value.index, "slot": value.slot}
        return Occurrences(value.snapshot, _EXECUTIONS, _CALLS_LIKE_VALUE, parameters, value.slot)
    ((site,),) = value.snapshot.rows("SELECT site FROM graph_executions WHERE idx = ?", [value.index])
    return of_sites(value.snapshot, [value.snapshot.catalog.sites[site]])


def of_sites(snapshot: Snapshot, sites: Sequence[Site]) -> Occurrences:
    """Return the occurrences at some sites of graphs, at least one."""
    # Numbers in the text, not a parameter: DuckDB then skips the rows of other sites before it reads columns.
    condition = f"t.site IN ({', '.join(str(site.number) for site in sites)})"
    return Occurrences(snapshot, _GRAPH_EXECUTIONS, condition, {}, sites[0].slot, tuple(sites))
