"""Finds the tensors that break a rule on the numbers of single values.

Takes an SQL condition on the columns of a measured tensor, and the parameters of a rule as ``$name``. Returns
one hit for each tensor of a graph, and for each output of the eager ops on one line.

Invariant: DuckDB reads the long lists and returns one row for each tensor, so the memory that a rule takes
does not depend on how often a program ran.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from tb_debugger_plugin.analysis.alerts.places import sites_at
from tb_debugger_plugin.analysis.alerts.rule import IN_GRAPH, Find, RuleHit, Values
from tb_debugger_plugin.analysis.alerts.tensors import Role, tensors
from tb_debugger_plugin.analysis.snapshot import NamedParameters, Snapshot
from tb_debugger_plugin.events.dtypes import NAMES

#: Numbers of the dtypes of integers and truth values.
INTEGERS: Final = ", ".join(str(number) for number, name in NAMES.items() if name == "bool" or "int" in name)
#: The root mean square of the finite elements, which is never below the mean of their magnitudes.
RMS = "sqrt(abs(variance + mean * mean))"
#: The largest magnitude of the finite elements.
LARGEST = "greatest(abs(min), abs(max))"


def by_value(where: str, measured: str, *, roles: Sequence[Role] = ()) -> Find:
    """Return a search for tensors by a condition on a single value.

    Args:
      where: The condition, such as ``max > $limit``.
      measured: An expression for what is measured.
      roles: The roles of the tensors that are looked at; none = all.
      eager: Whether outputs of executions are looked at, too. They have no role.
    """
    select = f"count(*), max(idx), arg_min({measured}, idx)"

    def find(snapshot: Snapshot, values: Values) -> list[RuleHit]:
        used = parameters_in(where + measured, values)
        only, chosen = sites_condition(snapshot, roles)
        graph = snapshot.rows(
            f"SELECT min(idx), {select} FROM graph_executions WHERE {only} AND {where} GROUP BY site",
            {**used, **chosen},
        )
        hits = [RuleHit(index, IN_GRAPH, count, last, number) for index, count, last, number in graph]
        return hits + ([] if roles else _eager(snapshot, where, select, used))

    return find


def without(leaves_out: Callable[[Snapshot, Values], Collection[int]], find: Find) -> Find:
    """Return a search that leaves out some sites.

    Args:
      leaves_out: Returns them; called only if something was found.
      find: The search.
    """

    def search(snapshot: Snapshot, values: Values) -> list[RuleHit]:
        hits = find(snapshot, values)
        left = leaves_out(snapshot, values) if hits else ()
        return [hit for hit, site in zip(hits, sites_of(snapshot, hits), strict=True) if site not in left]

    return search


def sites_of(snapshot: Snapshot, hits: Sequence[RuleHit]) -> list[int]:
    """Return the site of each hit; -1 for an eager op."""
    sites = sites_at(snapshot, [hit.position for hit in hits if hit.slot < 0])
    return [sites[hit.position] if hit.slot < 0 else -1 for hit in hits]


def _eager(snapshot: Snapshot, where: str, select: str, used: NamedParameters) -> list[RuleHit]:
    rows = snapshot.rows(
        f"SELECT min(idx), slot, {select} FROM execution_outputs JOIN"
        " (SELECT idx, op_type, stack FROM executions) USING (idx)"
        f" WHERE {where} GROUP BY op_type, stack, slot, host",
        used or None,
    )
    return [RuleHit(*row) for row in rows]


def parameters_in(sql: str, values: Values) -> NamedParameters:
    """Return the parameters that an SQL text uses: DuckDB refuses others."""
    return {name: value for name, value in values.items() if f"${name}" in sql}


def sites_condition(snapshot: Snapshot, roles: Sequence[Role]) -> tuple[str, NamedParameters]:
    """Return an SQL condition for the sites with some roles, and its parameters."""
    if not roles:
        return "true", {}
    return "site IN (SELECT unnest($sites::INTEGER[]))", {"sites": tensors(snapshot).of(*roles)}
