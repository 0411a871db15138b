"""The first rows of a sorted list.

Takes a condition and an order, and returns positions. A column of measured numbers is sorted by the database.
What has few different values, such as the op type, is counted by value first: then only the rows with the
first values are read, and rows with equal values need no sorting.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.catalog import Catalog, Site
from tb_debugger_plugin.analysis.lists.filters import RowCondition, RowOrder
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot
from tb_debugger_plugin.events.dtypes import NAMES, numpy_dtype
from tb_debugger_plugin.events.numbers import Array, Floats, Integers

#: What sites are sorted by.
Text = TypeVar("Text", str, tuple[str, int])


class _Key(NamedTuple):
    """SQL of a number that is never NULL, and its SQL type."""

    sql: str
    type: str


_SITE: Final = (_Key("t.site", "INTEGER"),)


class Groups(NamedTuple):
    """A division of the rows ``t`` into groups that have one value each.

    Attributes:
      keys: Numbers that are equal in a group.
      value_of: Returns the values of some keys ``k0``, ``k1`` …; NaN for no value.
    """

    keys: tuple[_Key, ...]
    value_of: Callable[[Snapshot, Columns], Floats]


#: How many more rows than needed are read at once, instead of in two queries.
_FEW_TIMES: Final = 8


class FirstRows(NamedTuple):
    """The first rows of a sorted list.

    Attributes:
      positions: Their positions in the whole list.
      matching: How many rows the sorted list has.
    """

    positions: Integers
    matching: int


def first_rows(
    snapshot: Snapshot, table: str, condition: RowCondition, order: RowOrder, count: int
) -> FirstRows:
    """Return the first rows of a sorted list.

    Args:
      snapshot: The run.
      table: ``executions`` or ``graph_executions``.
      condition: What the rows fulfil.
      order: How they are sorted.
      count: How many rows to return at most.
    """
    groups = _GROUPS.get(order.column) if table == "graph_executions" else None
    if groups is not None:
        return _of_groups(snapshot, condition, order, groups, count)
    direction = "DESC" if order.descending else "ASC"
    # Infinities and NaN of the files are NULL here; a rank that is not known is -1.
    column = "nullif(t.rank, -1)" if order.column == "rank" else f"t.{order.column}"
    rows = snapshot.columns(
        f"SELECT t.idx FROM {table} t WHERE {condition.sql}"
        f" ORDER BY {column} {direction} NULLS LAST, t.idx LIMIT {count}",
        list(condition.parameters),
    )
    query = f"SELECT count(*) FROM {table} t WHERE {condition.sql}"
    ((matching,),) = snapshot.rows(query, list(condition.parameters))
    return FirstRows(rows["idx"].astype(np.int64), matching)


def _of_groups(
    snapshot: Snapshot, condition: RowCondition, order: RowOrder, groups: Groups, count: int
) -> FirstRows:
    found = _counted(snapshot, condition, groups)
    places = _places(groups.value_of(snapshot, found), order)
    in_order = np.argsort(places, kind="stable")
    ends = np.cumsum(found["count"][in_order])
    if not len(ends):
        return FirstRows(np.empty(0, np.int64), 0)
    end = min(int(np.searchsorted(ends, count)), len(ends) - 1)
    last = places[in_order[end]]

    def rows(mask: npt.NDArray[np.bool_], limit: int | None = None) -> Array:
        """Return the positions of the rows of some groups, sorted."""
        chosen = {name: values[mask] for name, values in found.items()}
        of_groups = _rows_of(snapshot, condition, groups, chosen, limit)
        order_of_rows = _places(groups.value_of(snapshot, of_groups), order)
        return of_groups["idx"][np.argsort(order_of_rows, kind="stable")]

    if found["count"][places <= last].sum() <= _FEW_TIMES * count:
        positions = rows(places <= last)[:count]
    else:
        # The rows that are equal to the last one are in the order of the list: the first ones are enough.
        before = rows(places < last)
        positions = np.concatenate([before, rows(places == last, count - len(before))])
    return FirstRows(positions.astype(np.int64), int(ends[-1]))


def _counted(snapshot: Snapshot, condition: RowCondition, groups: Groups) -> Columns:
    """Return the groups that fulfil a condition, and how many rows each has."""

    if condition.sql == "true":
        return _all_counted(snapshot, groups)
    if condition.sites is not None and groups.keys == _SITE:
        found = _all_counted(snapshot, groups)
        chosen = np.isin(found["k0"], condition.sites)
        return {name: values[chosen] for name, values in found.items()}
    return _count(snapshot, condition, groups)


def _all_counted(snapshot: Snapshot, groups: Groups) -> Columns:
    # These lists are the longest ones, and they are sorted by one column after the other.
    name = "_".join(["rows_by", *(key.sql for key in groups.keys)])
    return snapshot.remember(name, lambda: _count(snapshot, RowCondition("true", ()), groups))


def _count(snapshot: Snapshot, condition: RowCondition, groups: Groups) -> Columns:
    query = f"SELECT {_named(groups)}, count(*) AS count FROM graph_executions t"
    return snapshot.columns(f"{query} WHERE {condition.sql} GROUP BY ALL", list(condition.parameters))


def _places(values: Floats, order: RowOrder) -> Floats:
    """Return the numbers that rise in the wanted order; no value comes last."""
    return np.where(np.isnan(values), np.inf, -values if order.descending else values)


def _rows_of(
    snapshot: Snapshot, condition: RowCondition, groups: Groups, chosen: Columns, limit: int | None
) -> Columns:
    """Return the rows of some groups in the order of the list."""
    if not len(chosen["count"]):
        return {"idx": np.empty(0, np.int64), **chosen}
    if condition.sites is not None and groups.keys == _SITE:
        condition = RowCondition("true", ())  # the chosen groups fulfil it
    keys = ", ".join(key.sql for key in groups.keys)
    lists = ", ".join(f"unnest(?::{key.type}[])" for key in groups.keys)
    return snapshot.columns(
        f"SELECT t.idx, {_named(groups)} FROM graph_executions t WHERE ({keys}) IN (SELECT {lists})"
        f" AND ({condition.sql}) ORDER BY t.idx" + ("" if limit is None else f" LIMIT {limit}"),
        [*(chosen[f"k{number}"].tolist() for number in range(len(groups.keys))), *condition.parameters],
    )


def _named(groups: Groups) -> str:
    return ", ".join(f"{key.sql} AS k{number}" for number, key in enumerate(groups.keys))


def _by_site(column: str, text_of: Callable[[Catalog, Site], Text | None]) -> Groups:
    def places_of_sites(catalog: Catalog) -> Floats:
        texts = [text_of(catalog, site) for site in catalog.sites]
        known = sorted({text for text in texts if text is not None})
        places = {text: float(place) for place, text in enumerate(known)}
        return np.array([math.nan if text is None else places[text] for text in texts], np.float64)

    def value_of(snapshot: Snapshot, keys: Columns) -> Floats:
        values = snapshot.remember_of_sites(f"places_by_{column}", lambda: places_of_sites(snapshot.catalog))
        return values[keys["k0"].astype(np.int64)]

    return Groups(_SITE, value_of)


def _bytes(snapshot: Snapshot, keys: Columns) -> Floats:
    """Return the bytes of all elements; the graph gives the dtype and the size that a record lacks."""
    catalog = snapshot.catalog
    site, size, dtype = (keys[f"k{number}"].astype(np.int64) for number in range(3))
    if not len(site):
        return np.empty(0, np.float64)
    dtypes, shapes = catalog.site_statics
    sizes = np.array([*(_num_elements(catalog, number) for number in range(len(catalog.shapes))), math.nan])
    static = site >= 0
    dtype[static & (dtype == 0)] = dtypes[site[static & (dtype == 0)]]
    elements: Floats = np.where(size >= 0, size, math.nan)
    unknown = static & (size < 0)
    elements[unknown] = sizes[shapes[site[unknown]]]
    return np.asarray(elements * _ITEM_BYTES[dtype], np.float64)


def _num_elements(catalog: Catalog, shape: int) -> float:
    dims = catalog.dims(shape)
    if dims is None or None in dims:
        return math.nan
    return float(math.prod(size for size in dims if size is not None))


_ITEM_BYTES: Final[Floats] = np.full(256, math.nan)
for _number in NAMES:
    _kind = numpy_dtype(_number)
    _ITEM_BYTES[_number] = math.nan if _kind is None else _kind.itemsize

#: By column of graph executions.
_GROUPS: Final[dict[str, Groups]] = {
    "op_type": _by_site("op_type", lambda catalog, site: catalog.ops[site.op].type),
    "tensor_name": _by_site("tensor_name", lambda catalog, site: (catalog.ops[site.op].name, site.slot)),
    "size": Groups(
        (_Key("coalesce(t.size, -1)", "DOUBLE"),),
        lambda _, keys: np.where(keys["k0"] < 0, math.nan, keys["k0"]),
    ),
    "bytes": Groups(
        (
            _Key("CASE WHEN t.dtype = 0 OR t.size IS NULL THEN t.site ELSE -1 END", "INTEGER"),
            _Key("coalesce(t.size, -1)", "DOUBLE"),
            _Key("t.dtype", "UTINYINT"),
        ),
        _bytes,
    ),
}
