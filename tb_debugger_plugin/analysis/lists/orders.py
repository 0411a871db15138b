"""Sorted lists: the columns that sort them, the first rows, and the order of all rows.

Takes a condition and an order, and returns positions. The first rows by a measured number are found by the
database. What has few different values, such as the op type, is counted by value first: then only the rows
with the first values are read, and rows with equal values need no sorting.

:func:`whole_order` sorts all rows, for who scrolls further. It takes about a second for 10 M rows, and four
bytes for each row of the result.

Invariant: rows with equal values keep the order of the list, and rows without a value come last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.catalog import Catalog, Site
from tb_debugger_plugin.analysis.lists.executions import thread_names
from tb_debugger_plugin.analysis.lists.filters import NUMBERS, RowCondition, RowOrder
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot
from tb_debugger_plugin.analysis.source.user_lines import all_user_lines
from tb_debugger_plugin.events.dtypes import NAMES, numpy_dtype
from tb_debugger_plugin.events.numbers import Array, Floats, Integers
from tb_debugger_plugin.index.tensors import NOT_MEASURED

#: What things that rows refer to are sorted by: a text, a number, the parts of a name, or dimensions.
Text: TypeAlias = str | int | tuple[str | int, ...]
_Texts: TypeAlias = Sequence[Text | None]


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
      texts: Returns the sorted texts of which the values are positions; None if they are numbers.
    """

    keys: tuple[_Key, ...]
    value_of: Callable[[Snapshot, Columns], Floats]
    texts: Callable[[Snapshot], Sequence[Text]] | None = None


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
    sorting = ORDERS[table][order.column]
    if isinstance(sorting, Groups):
        return _of_groups(snapshot, table, condition, order, sorting, count)
    direction = "DESC" if order.descending else "ASC"
    rows = snapshot.columns(
        f"SELECT t.idx FROM {table} t WHERE {condition.sql}"
        f" ORDER BY {sorting} {direction} NULLS LAST, t.idx LIMIT {count}",
        list(condition.parameters),
    )
    query = f"SELECT count(*) FROM {table} t WHERE {condition.sql}"
    ((matching,),) = snapshot.rows(query, list(condition.parameters))
    return FirstRows(rows["idx"].astype(np.int64), matching)


#: Rows that are read at once to sort all.
_BATCH: Final = 1_228_800


def whole_order(
    snapshot: Snapshot, table: str, condition: RowCondition, order: RowOrder
) -> npt.NDArray[np.int32]:
    """Return the positions of all rows of a sorted list.

    Args:
      snapshot: The run.
      table: ``executions`` or ``graph_executions``.
      condition: What the rows fulfil.
      order: How they are sorted.
    """
    sorting = ORDERS[table][order.column]
    select = named_keys(sorting) if isinstance(sorting, Groups) else f"({sorting})::DOUBLE AS k0"
    query = f"SELECT t.idx, {select} FROM {table} t WHERE t.idx >= ? AND t.idx < ? AND ({condition.sql})"
    total = snapshot.num_executions if table == "executions" else snapshot.num_graph_executions
    positions, values = [np.empty(0, np.int32)], [np.empty(0, np.float64)]
    for begin in range(0, total, _BATCH):
        rows = snapshot.columns(query, [begin, begin + _BATCH, *condition.parameters])
        of_rows = sorting.value_of(snapshot, rows) if isinstance(sorting, Groups) else rows["k0"]
        if np.any(rows["idx"][1:] < rows["idx"][:-1]):
            in_list = np.argsort(rows["idx"])
            rows, of_rows = {"idx": rows["idx"][in_list]}, of_rows[in_list]
        positions.append(rows["idx"].astype(np.int32))
        values.append(-of_rows if order.descending else of_rows)
    return np.concatenate(positions)[stable_order(np.concatenate(values))]


def stable_order(values: Floats) -> npt.NDArray[np.int64]:
    """Return the indices that sort numbers; equal ones stay in order, and NaN comes last.

    It is what ``np.argsort(values, kind="stable")`` returns, in a quarter of the time: numbers are rounded to
    32 bits, which are sorted together with their 32-bit indices.
    """
    if np.all(values[1:] >= values[:-1]):  # as times mostly are
        return np.arange(len(values))
    if np.all(values[1:] < values[:-1]):
        return np.arange(len(values))[::-1]
    packed = np.arange(len(values), dtype=np.uint64)
    for begin in range(0, len(values), _BATCH):
        packed[begin : begin + _BATCH] |= _rising_bits(values[begin : begin + _BATCH]) << np.uint64(32)
    packed.sort()
    order = (packed & np.uint64(0xFFFFFFFF)).astype(np.int64)
    packed >>= np.uint64(32)
    in_order = values[order]
    is_wrong = in_order[1:] < in_order[:-1]
    if not is_wrong.any():
        return order
    # Numbers that were rounded to the same one.
    runs = np.concatenate([[0], np.cumsum(packed[1:] != packed[:-1])])
    rows = np.flatnonzero(np.bincount(runs, np.append(is_wrong, False))[runs])
    if 2 * len(rows) > len(values):
        return np.argsort(values, kind="stable")
    of_rows = order[rows]
    order[rows] = of_rows[np.lexsort((of_rows, values[of_rows]))]
    return order


def _rising_bits(values: Floats) -> npt.NDArray[np.uint64]:
    """Return whole numbers of 32 bits that rise as the numbers do."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = values.astype(np.float32) + np.float32(0)  # −0 is 0
    bits = rounded.view(np.uint32)
    rising = np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(0x80000000))
    rising[np.isnan(values)] = 0xFFFFFFFF
    return rising.astype(np.uint64)


def _of_groups(
    snapshot: Snapshot, table: str, condition: RowCondition, order: RowOrder, groups: Groups, count: int
) -> FirstRows:
    found = _counted(snapshot, table, condition, groups)
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
        of_groups = _rows_of(snapshot, table, condition, groups, chosen, limit)
        order_of_rows = _places(groups.value_of(snapshot, of_groups), order)
        return of_groups["idx"][np.argsort(order_of_rows, kind="stable")]

    if found["count"][places <= last].sum() <= _FEW_TIMES * count:
        positions = rows(places <= last)[:count]
    else:
        # The rows that are equal to the last one are in the order of the list: the first ones are enough.
        before = rows(places < last)
        positions = np.concatenate([before, rows(places == last, count - len(before))])
    return FirstRows(positions.astype(np.int64), int(ends[-1]))


def _counted(snapshot: Snapshot, table: str, condition: RowCondition, groups: Groups) -> Columns:
    """Return the groups that fulfil a condition, and how many rows each has."""

    if condition.sql == "true":
        return _all_counted(snapshot, table, groups)
    if condition.sites is not None and groups.keys == _SITE:
        found = _all_counted(snapshot, table, groups)
        chosen = np.isin(found["k0"], condition.sites)
        return {name: values[chosen] for name, values in found.items()}
    return _count(snapshot, table, condition, groups)


def _all_counted(snapshot: Snapshot, table: str, groups: Groups) -> Columns:
    # These lists are the longest ones, and they are sorted by one column after the other.
    name = "_".join(["rows_by", table, *(key.sql for key in groups.keys)])
    return snapshot.remember(name, lambda: _count(snapshot, table, RowCondition("true", ()), groups))


def _count(snapshot: Snapshot, table: str, condition: RowCondition, groups: Groups) -> Columns:
    query = f"SELECT {named_keys(groups)}, count(*) AS count FROM {table} t"
    return snapshot.columns(f"{query} WHERE {condition.sql} GROUP BY ALL", list(condition.parameters))


def _places(values: Floats, order: RowOrder) -> Floats:
    """Return the numbers that rise in the wanted order; no value comes last."""
    return np.where(np.isnan(values), np.inf, -values if order.descending else values)


def _rows_of(
    snapshot: Snapshot,
    table: str,
    condition: RowCondition,
    groups: Groups,
    chosen: Columns,
    limit: int | None,
) -> Columns:
    """Return the rows of some groups in the order of the list."""
    if not len(chosen["count"]):
        return {"idx": np.empty(0, np.int64), **chosen}
    if condition.sites is not None and groups.keys == _SITE:
        condition = RowCondition("true", ())  # the chosen groups fulfil it
    keys = ", ".join(key.sql for key in groups.keys)
    lists = ", ".join(f"unnest(?::{key.type}[])" for key in groups.keys)
    return snapshot.columns(
        f"SELECT t.idx, {named_keys(groups)} FROM {table} t WHERE ({keys}) IN (SELECT {lists})"
        f" AND ({condition.sql}) ORDER BY t.idx" + ("" if limit is None else f" LIMIT {limit}"),
        [*(chosen[f"k{number}"].tolist() for number in range(len(groups.keys))), *condition.parameters],
    )


def named_keys(groups: Groups) -> str:
    """Return SQL of the keys, named ``k0``, ``k1`` …"""
    return ", ".join(f"{key.sql} AS k{number}" for number, key in enumerate(groups.keys))


def _by_number(name: str, key: str, texts_of: Callable[[Snapshot], _Texts]) -> Groups:
    """Return the groups of rows that refer to the same thing, by its number, which is -1 for none."""

    def make(snapshot: Snapshot) -> tuple[list[Text], Floats]:
        texts = texts_of(snapshot)
        known = sorted({text for text in texts if text is not None})
        places = {text: place for place, text in enumerate(known)}
        values = [*(math.nan if text is None else places[text] for text in texts), math.nan]
        return known, np.array(values, np.float64)

    def made(snapshot: Snapshot) -> tuple[list[Text], Floats]:
        return snapshot.remember(f"places by {name} of {key}", lambda: make(snapshot))

    def value_of(snapshot: Snapshot, keys: Columns) -> Floats:
        return made(snapshot)[1][keys["k0"].astype(np.int64)]

    return Groups((_Key(key, "INTEGER"),), value_of, lambda snapshot: made(snapshot)[0])


def _by_site(name: str, text_of: Callable[[Catalog, Site], Text | None]) -> Groups:
    return _by_number(
        name, "t.site", lambda snapshot: [text_of(snapshot.catalog, site) for site in snapshot.catalog.sites]
    )


def _lines(snapshot: Snapshot, stacks: Iterable[int]) -> _Texts:
    lines = all_user_lines(snapshot)
    return [None if (line := lines.get(stack)) is None else (line.path, line.line) for stack in stacks]


def _lines_of_sites(snapshot: Snapshot) -> _Texts:
    return _lines(snapshot, (snapshot.catalog.ops[site.op].stack for site in snapshot.catalog.sites))


def _lines_of_stacks(snapshot: Snapshot) -> _Texts:
    ((most,),) = snapshot.rows("SELECT coalesce(max(stack), -1) FROM executions")
    return _lines(snapshot, range(most + 1))


def _threads(snapshot: Snapshot) -> list[Text]:
    return [*sorted(set(thread_names(snapshot).values()))]


def _thread(snapshot: Snapshot, keys: Columns) -> Floats:
    names = thread_names(snapshot)
    places = {name: place for place, name in enumerate(_threads(snapshot))}
    both = zip(keys["k0"].tolist(), keys["k1"].tolist(), strict=True)
    return np.array([places.get(names.get(one, ""), math.nan) for one in both], np.float64)


def _static(number: int, texts_of: Callable[[Snapshot], _Texts], none: int) -> Groups:
    """Return the groups of a number that the graph gives where the record lacks it.

    Args:
      number: Its position in :attr:`Catalog.site_statics`.
      texts_of: Returns the texts of the numbers.
      none: The number of what is not known.
    """
    column = ("dtype", "shape")[number]

    def value_of(snapshot: Snapshot, keys: Columns) -> Floats:
        own, site = keys["k0"].astype(np.int64), keys["k1"].astype(np.int64)
        if len(snapshot.catalog.sites):
            own = np.where(site >= 0, snapshot.catalog.site_statics[number][site], own)
        return by_number.value_of(snapshot, {"k0": np.where(own == none, -1, own)})

    by_number = _by_number(column, f"t.{column}", texts_of)
    is_unknown = f"t.{column} = {none}"
    return Groups(
        (
            _Key(f"t.{column}::INTEGER", "INTEGER"),
            _Key(f"CASE WHEN {is_unknown} THEN t.site ELSE -1 END", "INTEGER"),
        ),
        value_of,
        by_number.texts,
    )


def _dims(snapshot: Snapshot) -> list[tuple[int, ...]]:
    catalog = snapshot.catalog
    return [
        tuple(-1 if size is None else size for size in catalog.dims(number) or ())
        for number in range(len(catalog.shapes))
    ]


def _dtypes(snapshot: Snapshot) -> list[str | None]:
    return [NAMES.get(number) for number in range(256)]


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

#: By list and column: SQL of a number, or groups.
ORDERS: Final[dict[str, dict[str, str | Groups]]] = {
    "graph_executions": {
        "index": "t.idx",
        "wall_time": "t.wall_time",
        "health": f"nullif(t.health, {NOT_MEASURED})",
        **NUMBERS,
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
        "op_type": _by_site("op_type", lambda catalog, site: catalog.ops[site.op].type),
        "tensor_name": _by_site("tensor_name", lambda catalog, site: (catalog.ops[site.op].name, site.slot)),
        "slot": _by_site("slot", lambda _, site: site.slot),
        "function": _by_site("function", lambda catalog, site: catalog.graphs[site.graph].name),
        "layer": _by_site("layer", lambda catalog, site: catalog.ops[site.op].layer),
        "line": _by_number("line", "t.site", _lines_of_sites),
        "device": _by_site("device", lambda _, site: site.device),
        "host": _by_site("host", lambda catalog, site: catalog.host_names[site.host]),
        "dtype": _static(0, _dtypes, 0),
        "shape": _static(1, _dims, -1),
    },
    "executions": {
        "index": "t.idx",
        "wall_time": "t.wall_time",
        "health": f"nullif(t.health, {NOT_MEASURED})",
        "num_inputs": "t.num_inputs",
        "num_outputs": "t.num_outputs",
        "op_type": _by_number(
            "op_type", "t.op_type", lambda snapshot: [name for name, _ in snapshot.catalog.op_types]
        ),
        "line": _by_number("line", "t.stack", _lines_of_stacks),
        "thread": Groups((_Key("t.host", "INTEGER"), _Key("t.thread", "INTEGER")), _thread, _threads),
        "host": _by_number("host", "t.host", lambda snapshot: snapshot.catalog.host_names),
    },
}
