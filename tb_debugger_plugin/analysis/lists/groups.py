"""Groups of the rows of a long list: how many there are of each op, layer, line, function or process.

Takes a filter and a column; returns a group for each value of the column, those with most bad rows first.
"""

from __future__ import annotations

from typing import Final, TypedDict

import numpy as np

from tb_debugger_plugin.analysis.calls.call_health import call_health
from tb_debugger_plugin.analysis.lists.filters import Filter, RowCondition
from tb_debugger_plugin.analysis.lists.orders import ORDERS, Groups, Text, named_keys
from tb_debugger_plugin.analysis.lists.selection import condition_of
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot
from tb_debugger_plugin.index.tensors import BAD, GOOD, NOT_MEASURED

_WORDS: Final = {BAD: "bad", GOOD: "good", NOT_MEASURED: "unmeasured"}
#: By list: the columns that make groups.
GROUPED: Final = {
    "graph_executions": ("op_type", "layer", "line", "function", "host", "device", "dtype", "tensor_name"),
    "executions": ("op_type", "line", "host", "thread"),
}


class RowGroupJson(TypedDict):
    """A group of rows with one value."""

    value: str | None  #: the value; null for the rows without one
    count: int  #: number of rows
    bad: int  #: number of bad rows
    health: str  #: the worst health: `bad`, `good` or `unmeasured`
    first: int  #: position of the first row in the whole list


class RowGroupsJson(TypedDict):
    """The answer of the route ``groups``."""

    by: str  #: the parameter
    num_groups: int  #: number of groups, of which those after `limit` are left out
    groups: list[RowGroupJson]  #: the groups with most bad rows first, then those with most rows


def row_groups(snapshot: Snapshot, table: str, row_filter: Filter, by: str, limit: int) -> RowGroupsJson:
    """Return the groups of the rows that fulfil a filter.

    An execution is also bad when something bad ran in it.

    Args:
      snapshot: The run.
      table: ``executions`` or ``graph_executions``.
      row_filter: The filter.
      by: A column of :data:`GROUPED`.
      limit: How many groups to return at most.
    """
    groups = ORDERS[table][by]
    assert isinstance(groups, Groups) and groups.texts is not None
    texts = groups.texts(snapshot)
    found = _counted(snapshot, table, condition_of(snapshot, table, row_filter), groups)
    # Several keys may have the same text.
    places = np.nan_to_num(groups.value_of(snapshot, found), nan=len(texts)).astype(np.int64)
    chosen, of_key = np.unique(places, return_inverse=True)
    sums = {name: np.zeros(len(chosen), np.int64) for name in ("count", "bad", "health")}
    first = np.full(len(chosen), np.iinfo(np.int64).max)
    np.add.at(sums["count"], of_key, found["count"].astype(np.int64))
    np.add.at(sums["bad"], of_key, found["bad"].astype(np.int64))
    np.maximum.at(sums["health"], of_key, found["worst"].astype(np.int64))
    np.minimum.at(first, of_key, found["first"].astype(np.int64))
    in_order = np.lexsort((first, -sums["count"], -sums["bad"]))[:limit]
    return {
        "by": by,
        "num_groups": len(chosen),
        "groups": [
            {
                "value": _label(texts[chosen[at]]) if chosen[at] < len(texts) else None,
                "count": int(sums["count"][at]),
                "bad": int(sums["bad"][at]),
                "health": _WORDS[int(sums["health"][at])],
                "first": int(first[at]),
            }
            for at in in_order.tolist()
        ],
    }


def _counted(snapshot: Snapshot, table: str, condition: RowCondition, groups: Groups) -> Columns:
    """Return the numbers of each combination of keys: `count`, `bad`, the `worst` health, `first`."""
    worst, source = "t.health", f"{table} t"
    if table == "executions":
        inside = call_health(snapshot)
        worst = "greatest(t.health, i.health)"
        source += " JOIN (SELECT unnest(range(?)) AS idx, unnest(?::UTINYINT[]) AS health) i USING (idx)"
        parameters = [len(inside), inside.tolist(), *condition.parameters]
    else:
        parameters = [*condition.parameters]
    return snapshot.columns(
        f"SELECT {named_keys(groups)}, count(*) AS count, count(*) FILTER ({worst} = {BAD}) AS bad,"
        f" max({worst}) AS worst, min(t.idx) AS first FROM {source} WHERE {condition.sql} GROUP BY ALL",
        parameters,
    )


def _label(text: Text) -> str:
    """Return a value as the filters have it: a line as `path:line`, a tensor as `op:slot`."""
    return ":".join(map(str, text)) if isinstance(text, tuple) else str(text)
