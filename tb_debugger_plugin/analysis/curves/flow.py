"""Gradients, weights and updates of each variable over the time of a training.

Takes a run. Returns a table of numbers: a row for each variable in the order of the model, a column for each
stretch of steps, where the k-th gradient of a variable belongs to its step k.

Invariant: memory and the answer depend on the number of variables and columns, not on the length of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from tb_debugger_plugin.analysis.alerts.tensors import READS, RoleTensors, tensors
from tb_debugger_plugin.analysis.curves.curve import NUMBERS, OF_VARIABLE
from tb_debugger_plugin.analysis.snapshot import Columns, JsonObject, Snapshot, SqlRow
from tb_debugger_plugin.index.tensors import BAD

#: What a cell holds of the occurrences in it, as SQL. The position leads to the first bad one, or else to
#: that with the largest magnitude.
_CELL: Final[Mapping[str, str]] = {
    "norm": "avg(norm) FILTER (isfinite(norm))",
    "largest": "max(largest) FILTER (isfinite(largest))",
    "zero_share": "avg(zero_share)",
    "bad": f"count(*) FILTER (health = {BAD})",
    "index": f"coalesce(min(idx) FILTER (health = {BAD}), arg_max(idx, coalesce(largest, zero_share, 0)))",
}
_NUMBERS: Final = ("norm", "largest", "zero_share")
#: The row of a variable, and what of it.
_Member: TypeAlias = tuple[int, str]
_MEMBERS: Final = (
    "members AS (SELECT unnest($sites::INTEGER[]) AS site, unnest($groups::INTEGER[]) AS member)"
)


@dataclass(frozen=True)
class FlowVariable(JsonObject):
    """A row: a variable.

    Attributes:
      variable: Its name.
      layer: Its layer; None when it is not known.
      steps: How often its gradient was computed; without one, what else is on record of it.
    """

    variable: str
    layer: str | None
    steps: int


@dataclass(frozen=True)
class GradientFlow(JsonObject):
    """Gradients, weights and updates of each variable over the steps of a training.

    Use::

        flow = run.gradient_flow()
        plt.imshow(np.log(flow.table("gradient_norm")))

    Attributes:
      variables: The rows, in the order in which the model reads them first.
      steps: The steps of the variable with the most.
      num_columns: The number of columns.
      columns: Tables of `variables` × `num_columns`, row by row: ``value_norm``, ``value_largest``,
        ``value_zero_share``, ``value_bad`` (how many occurrences have NaN or infinity) and ``value_index``
        (a position in the list of graph executions), and the same of ``gradient`` and ``update``; NaN where
        nothing is on record.
    """

    variables: list[FlowVariable]
    steps: int
    num_columns: int
    columns: Columns

    MEMBERS = "variables steps num_columns"

    def table(self, name: str) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Return a table of :attr:`columns` with its rows and columns."""
        return np.asarray(self.columns[name]).reshape(len(self.variables), self.num_columns)


def gradient_flow(snapshot: Snapshot, most: int = 100) -> GradientFlow:
    """Return gradients, weights and updates of each variable over the steps.

    Args:
      snapshot: The run.
      most: How many columns there are at most.
    """
    known = tensors(snapshot)
    names = _in_order(snapshot, known)
    members = _members(known, names)
    totals: dict[_Member, int] = dict(
        _of_members(snapshot, members, "SELECT member, count(*) FROM rows GROUP BY member")
    )
    kinds = [*OF_VARIABLE]
    order = sorted(kinds, key=lambda kind: kind != "gradient")
    steps = [
        next((totals[at, kind] for kind in order if (at, kind) in totals), 0) for at in range(len(names))
    ]
    longest = max(steps, default=0)
    num_columns = min(longest, most)
    shape = len(names), num_columns
    columns = {f"{kind}_{name}": np.full(shape, np.nan) for kind in kinds for name in _CELL}
    for (at, kind), column, *cells in _cells(snapshot, members, totals, steps, num_columns):
        for name, cell in zip(_CELL, cells, strict=True):
            columns[f"{kind}_{name}"][at, column] = np.nan if cell is None else cell
    return GradientFlow(
        [FlowVariable(name, known.layers.get(name), count) for name, count in zip(names, steps, strict=True)],
        longest,
        num_columns,
        {name: table.reshape(-1) for name, table in columns.items()},
    )


def _in_order(snapshot: Snapshot, known: RoleTensors) -> list[str]:
    """Return the variables in the order in which the program reads them first."""
    first: dict[str, int] = {}
    for op in snapshot.catalog.ops:
        if op.variable is not None and op.type in READS:
            first.setdefault(op.variable, op.number)
    names = {known.variables[site] for role in OF_VARIABLE.values() for site in known.of(role)}
    return sorted(names, key=lambda name: (first.get(name, len(snapshot.catalog.ops)), name))


def _members(known: RoleTensors, names: list[str]) -> dict[int, _Member]:
    """Return the variable of each site, and what of it the site is."""
    rows = {name: at for at, name in enumerate(names)}
    return {
        site: (rows[known.variables[site]], kind)
        for kind, role in OF_VARIABLE.items()
        for site in known.of(role)
    }


def _of_members(
    snapshot: Snapshot, members: Mapping[int, _Member], query: str, **parameters: object
) -> list[SqlRow]:
    """Ask about the occurrences of some sites, as ``rows`` with a ``member``, which comes first."""
    every = sorted({*members.values()})
    numbers = {member: number for number, member in enumerate(every)}
    sites = ", ".join(map(str, members)) or "-1"
    select = ", ".join(f"{NUMBERS[name]} AS {name}" for name in _NUMBERS)
    rows = snapshot.rows(
        f"WITH {_MEMBERS}, rows AS (SELECT member, idx, health, {select},"
        " row_number() OVER (PARTITION BY member ORDER BY idx) - 1 AS n"
        f" FROM graph_executions JOIN members USING (site) WHERE site IN ({sites})) {query}",
        {"sites": [*members], "groups": [numbers[one] for one in members.values()], **parameters},
    )
    return [(every[member], *others) for member, *others in rows]


def _cells(
    snapshot: Snapshot,
    members: Mapping[int, _Member],
    totals: Mapping[_Member, int],
    steps: list[int],
    num_columns: int,
) -> list[SqlRow]:
    """Return the cells that are not empty: their variable and what of it, the column, and what they hold."""
    every = sorted({*members.values()})
    select = ", ".join(_CELL.values())
    return _of_members(
        snapshot,
        members,
        "SELECT member, (n * steps[member + 1] // totals[member + 1]) * $columns // $longest AS part, "
        f"{select} FROM rows, (SELECT $steps::BIGINT[] AS steps, $totals::BIGINT[] AS totals)"
        " GROUP BY member, part",
        columns=num_columns,
        longest=max(1, *steps, 1),
        steps=[steps[at] for at, _ in every],
        totals=[totals.get(member, 1) for member in every],
    )
