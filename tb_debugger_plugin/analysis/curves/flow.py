"""Gradients, weights and updates of each variable over the steps of a training.

Takes a run. Returns tables of numbers: a row for each variable of each process in the order of the model, a
column for each stretch of steps. A call from Python that computes gradients is a step of its process, or
several: as many as the gradient that it computes least often. The gradient of a step is the last one: in a
loop, such as that of an RNN, a gradient is a sum that grows with each turn.

Invariant: memory and the answer depend on the number of variables and columns, not on the length of a run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from tb_debugger_plugin.analysis.alerts.tensors import RoleTensors, tensors
from tb_debugger_plugin.analysis.calls.call_owner import CALLS
from tb_debugger_plugin.analysis.curves.curve import NUMBERS, OF_VARIABLE
from tb_debugger_plugin.analysis.snapshot import Columns, JsonObject, Snapshot, SqlRow
from tb_debugger_plugin.index.tensors import BAD

_NUMBERS: Final = ("norm", "largest", "zero_share")
#: The occurrences of some sites, each in its step, and cells of several steps.
_CELLS: Final = f"""
WITH members AS (
  SELECT unnest($sites::INTEGER[]) AS site, unnest($members::INTEGER[]) AS member,
    unnest($hosts::INTEGER[]) AS host, unnest($steppers::BOOLEAN[]) AS is_stepper),
calls AS (SELECT idx AS call, host, wall_time AS ended FROM ({CALLS})),
found AS (
  SELECT member, members.host, is_stepper, g.idx, health = {BAD} AS is_bad, coalesce(call, $after) AS call,
    {", ".join(f"{NUMBERS[name]} AS {name}" for name in _NUMBERS)}
  FROM graph_executions g JOIN members USING (site)
    ASOF LEFT JOIN calls ON members.host = calls.host AND g.wall_time <= calls.ended),
counted AS (
  SELECT *, count(*) OVER (PARTITION BY member, call) AS total,
    row_number() OVER (PARTITION BY member, call ORDER BY idx) - 1 AS n FROM found),
steps AS (
  SELECT host, call, steps, sum(steps) OVER (PARTITION BY host ORDER BY call) - steps AS begin
  FROM (SELECT host, call, min(total) AS steps FROM counted WHERE is_stepper GROUP BY host, call)),
stepped AS (
  SELECT member, begin + n * steps // total AS step,
    {", ".join(f"arg_max({name}, idx) AS {name}" for name in _NUMBERS)},
    bool_or(is_bad) AS is_bad, coalesce(min(idx) FILTER (is_bad), max(idx)) AS idx
  FROM counted JOIN steps USING (host, call) GROUP BY member, step),
length AS (SELECT coalesce(max(step) + 1, 0)::BIGINT AS length FROM stepped)
SELECT member, (step * least(length, $most) // length)::INTEGER AS part, length, count(*), min(idx),
  avg(norm) FILTER (isfinite(norm)), max(largest) FILTER (isfinite(largest)), avg(zero_share),
  count(*) FILTER (is_bad), coalesce(min(idx) FILTER (is_bad), arg_max(idx, coalesce(largest, zero_share, 0)))
FROM stepped, length GROUP BY member, part, length
"""
#: What the last columns are.
_OF_CELL: Final = (*_NUMBERS, "bad", "index")
#: The variable with the number of its process.
_Name: TypeAlias = tuple[str, int]
#: The variable and what of it.
_Member: TypeAlias = tuple[_Name, str]


@dataclass(frozen=True)
class FlowVariable(JsonObject):
    """A row: a variable.

    Attributes:
      variable: Its name.
      layer: Its layer; None when it is not known.
      steps: In how many steps its gradient was computed; without one, what else is on record of it.
      host: Its process; None in a run of one process.
    """

    variable: str
    layer: str | None
    steps: int
    host: str | None


@dataclass(frozen=True)
class GradientFlow(JsonObject):
    """Gradients, weights and updates of each variable over the steps of a training.

    Use::

        flow = run.gradient_flow()
        plt.imshow(np.log(flow.table("gradient_norm")))

    Attributes:
      variables: The rows, in the order of the layers of the model.
      steps: The number of steps.
      num_columns: The number of columns.
      columns: Tables of `variables` × `num_columns`, row by row: ``value_norm``, ``value_largest``,
        ``value_zero_share``, ``value_bad`` (how many steps have NaN or infinity) and ``value_index``
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
    cells: dict[_Member, list[SqlRow]] = defaultdict(list)
    rows = _cells(snapshot, known, most)
    for member, part, _, *cell in rows:
        cells[member].append((part, *cell))
    length = rows[0][2] if rows else 0
    num_columns = min(length, most)
    names = _in_order(snapshot, known, cells)
    columns = {
        f"{kind}_{name}": np.full((len(names), num_columns), np.nan)
        for kind in OF_VARIABLE
        for name in _OF_CELL
    }
    for row, name in enumerate(names):
        for kind in OF_VARIABLE:
            for part, _, _, *numbers in cells.get((name, kind), ()):
                for column, number in zip(_OF_CELL, numbers, strict=True):
                    columns[f"{kind}_{column}"][row, part] = np.nan if number is None else number
    return GradientFlow(
        [_variable(snapshot, known, cells, name) for name in names],
        length,
        num_columns,
        {name: table.reshape(-1) for name, table in columns.items()},
    )


def _cells(snapshot: Snapshot, known: RoleTensors, most: int) -> list[SqlRow]:
    """Return the cells that are not empty, each with its member in place of a number."""
    of_site = {
        site: ((known.variables[site], snapshot.catalog.sites[site].host), kind)
        for kind, role in OF_VARIABLE.items()
        for site in known.of(role)
    }
    if not of_site:
        return []
    members = sorted({*of_site.values()})
    numbers = {member: number for number, member in enumerate(members)}
    kinds = {kind for _, kind in members}
    steppers = {"gradient"} if "gradient" in kinds else kinds
    rows = snapshot.rows(
        _CELLS,
        {
            "sites": [*of_site],
            "members": [numbers[member] for member in of_site.values()],
            "hosts": [snapshot.catalog.sites[site].host for site in of_site],
            "steppers": [kind in steppers for _, kind in of_site.values()],
            "after": snapshot.num_executions,
            "most": most,
        },
    )
    return [(members[member], *others) for member, *others in rows]


def _variable(
    snapshot: Snapshot, known: RoleTensors, cells: Mapping[_Member, list[SqlRow]], name: _Name
) -> FlowVariable:
    """Return a row, with the steps of its gradient, or else of its value or update."""
    counts = {kind: sum(int(row[1]) for row in cells.get((name, kind), ())) for kind in OF_VARIABLE}
    variable, host = name
    hosts = snapshot.catalog.host_names
    return FlowVariable(
        variable,
        known.layers.get(variable),
        counts["gradient"] or max(counts.values()),
        hosts[host] if len(hosts) > 1 else None,
    )


def _in_order(snapshot: Snapshot, known: RoleTensors, cells: Mapping[_Member, list[SqlRow]]) -> list[_Name]:
    """Return the variables in the order of the model: as the ops of their layers were made.

    The order is that of the graph with the most layers. Variables without a layer there are last.
    """
    names = {name for name, _ in cells}
    layers = {name: known.layers.get(name[0], name[0]) for name in names}
    inner = defaultdict(set)  # a layer, and the layers in it that have variables
    for layer in layers.values():
        scopes = layer.split("/")
        for length in range(1, len(scopes) + 1):
            inner["/".join(scopes[:length])].add(layer)
    first: dict[int, dict[str, int]] = defaultdict(dict)
    for op in snapshot.catalog.ops:
        # The model as a whole is a layer, too, and says nothing.
        found = inner.get(op.layer or "", ())
        for layer in found if len(found) < len({*layers.values()}) or len(found) == 1 else ():
            first[op.graph].setdefault(layer, op.number)
    order = max(first.values(), key=len, default={})
    return sorted(names, key=lambda name: (order.get(layers[name], len(snapshot.catalog.ops)), name))
