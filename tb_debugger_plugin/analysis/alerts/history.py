"""Finds tensors whose values over the steps of a program break a rule.

A step is one value of a tensor: the n-th time that its op ran. Only tensors with the roles of the rule are
looked at, which are few; of each value only the numbers of the summary are read.

Invariant: as in :mod:`tb_debugger_plugin.analysis.alerts.search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tb_debugger_plugin.analysis.alerts.rule import IN_GRAPH, Hit, Values
from tb_debugger_plugin.analysis.alerts.search import NORM, sites_condition
from tb_debugger_plugin.analysis.alerts.tensors import Role, tensors
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.tensorflow_names import is_gradient

#: The columns that must be alike for two values to be called equal.
_ALIKE: Final = ("min", "max", "mean", "variance")
#: Most sites whose histories are sorted at once; DuckDB keeps within its memory.
_SITES_AT_ONCE: Final = 1024


def growing(snapshot: Snapshot, values: Values) -> list[Hit]:
    """Returns the gradients and variables whose norm grows by a factor within some steps."""
    steps = int(values["steps"])
    query = (
        "WITH norms AS (SELECT site, idx, "
        f"{NORM} AS norm FROM graph_executions WHERE {{sites}} AND variance IS NOT NULL),"
        f" pairs AS (SELECT site, idx, norm, coalesce(lag(norm, {steps}) OVER w, first_value(norm) OVER w)"
        " AS before FROM norms WINDOW w AS (PARTITION BY site ORDER BY idx))"
        " SELECT min(idx), count(*), max(idx), arg_min(norm / before, idx) FROM pairs"
        " WHERE before > 0 AND norm > $above AND norm >= before * $factor GROUP BY site"
    )
    parameters = {"factor": values["factor"], "above": values["above"]}
    return _hits(snapshot, query, tensors(snapshot).of(Role.GRADIENT, Role.WEIGHT), parameters)


def unchanged(snapshot: Snapshot, values: Values) -> list[Hit]:
    """Returns the trained variables that were equal for some steps in a row."""
    steps = int(values["steps"])
    differences = " AND ".join(
        f"abs({name} - lag({name}) OVER w) <= $atol + $rtol * abs(lag({name}) OVER w)" for name in _ALIKE
    )
    query = (
        f"WITH same AS (SELECT site, idx, coalesce({differences}, false)::INTEGER AS is_same"
        " FROM graph_executions WHERE {sites} AND variance IS NOT NULL"
        " WINDOW w AS (PARTITION BY site ORDER BY idx)),"
        " runs AS (SELECT site, idx, sum(is_same) OVER (PARTITION BY site ORDER BY idx"
        f" ROWS BETWEEN {steps - 2} PRECEDING AND CURRENT ROW) AS num_same FROM same)"
        f" SELECT min(idx), count(*), max(idx), any_value({steps}) FROM runs"
        f" WHERE num_same >= {steps - 1} GROUP BY site"
    )
    return _hits(
        snapshot, query, _read_while_training(snapshot), {"rtol": values["rtol"], "atol": values["atol"]}
    )


def _read_while_training(snapshot: Snapshot) -> list[int]:
    """The reads of trained variables in graphs that compute gradients, or all if no graph does both.

    While a model is evaluated, its variables do not change, which is as it should be.
    """
    catalog, weights = snapshot.catalog, tensors(snapshot).of(Role.WEIGHT)
    training = {catalog.ops[op].graph for op, _ in catalog.gradients}
    training |= {op.graph for op in catalog.ops if is_gradient(op.name)}
    own = [site for site in weights if catalog.sites[site].graph in training]
    return own or weights


def _hits(snapshot: Snapshot, query: str, sites: Sequence[int], parameters: dict[str, Any]) -> list[Hit]:
    only = "site IN (SELECT unnest($sites::INTEGER[]))"
    hits: list[Hit] = []
    for begin in range(0, len(sites), _SITES_AT_ONCE):
        part = {"sites": list(sites[begin : begin + _SITES_AT_ONCE])}
        rows = snapshot.rows(query.replace("{sites}", only), {**parameters, **part})
        hits += [Hit(index, IN_GRAPH, count, last, number) for index, count, last, number in rows]
    return hits


#: For each update of a variable: the site, the position, and the norm of the update over that of the variable
#: as it was last read.
_RATIOS: Final = (
    "WITH updated AS (SELECT unnest($updates::INTEGER[]) AS site, unnest($updated::INTEGER[]) AS variable),"
    " read AS (SELECT unnest($weights::INTEGER[]) AS site, unnest($weighed::INTEGER[]) AS variable),"
    f" changes AS (SELECT site, idx, variable, {NORM} AS norm FROM graph_executions JOIN updated USING (site)"
    f" WHERE variance IS NOT NULL), weights AS (SELECT idx, variable, {NORM} AS norm FROM graph_executions"
    " JOIN read USING (site) WHERE rank >= 2 AND variance IS NOT NULL),"
    " ratios AS (SELECT c.site, c.idx, c.norm / (w.norm + 1e-9) AS ratio FROM changes c ASOF JOIN weights w"
    " ON c.variable = w.variable AND c.idx >= w.idx WHERE w.norm > 0)"
    " SELECT min(idx), count(*), max(idx), arg_min(ratio, idx) FROM ratios WHERE {ratio} GROUP BY site"
)


def large_updates(snapshot: Snapshot, values: Values) -> list[Hit]:
    """Returns the updates that are large beside their variables."""
    return _by_ratio(snapshot, "ratio > $limit", values)


def small_updates(snapshot: Snapshot, values: Values) -> list[Hit]:
    """Returns the updates that are small beside their variables."""
    return _by_ratio(snapshot, "ratio < $limit", values)


def _by_ratio(snapshot: Snapshot, condition: str, values: Values) -> list[Hit]:
    known = tensors(snapshot)
    updates, weights = known.of(Role.UPDATE), known.of(Role.WEIGHT)
    names = sorted({known.variables[site] for site in (*updates, *weights)})
    number = {name: position for position, name in enumerate(names)}
    rows = snapshot.rows(
        _RATIOS.replace("{ratio}", condition),
        {
            "updates": updates,
            "updated": [number[known.variables[site]] for site in updates],
            "weights": weights,
            "weighed": [number[known.variables[site]] for site in weights],
            "limit": values["limit"],
        },
    )
    return [Hit(index, IN_GRAPH, count, last, ratio) for index, count, last, ratio in rows]


def uneven_starts(snapshot: Snapshot, values: Values) -> list[Hit]:
    """Returns the matrix whose first values vary most, or least, if the variances are too far apart."""
    only, chosen = sites_condition(snapshot, [Role.WEIGHT])
    rows = snapshot.rows(
        "SELECT min(idx), site, arg_min(variance, idx) AS first FROM graph_executions"
        f" WHERE {only} AND rank >= 2 AND size > 1 AND variance > 0 GROUP BY site ORDER BY first",
        chosen,
    )
    firsts: dict[str, tuple[int, float]] = {}
    for index, site, variance in rows:
        name = tensors(snapshot).variables[site]
        if name not in firsts or index < firsts[name][0]:
            firsts[name] = index, variance
    ordered = sorted(firsts.values(), key=lambda one: one[1])
    if len(ordered) < 2 or ordered[-1][1] < ordered[0][1] * float(values["ratio"]):
        return []
    low, middle, high = (ordered[at][1] for at in (0, len(ordered) // 2, -1))
    odd = ordered[-1] if high / middle >= middle / low else ordered[0]
    return [Hit(odd[0], IN_GRAPH, 1, odd[0], high / low)]
