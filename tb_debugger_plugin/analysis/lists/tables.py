"""Pages of the long lists as columns, and their overview in buckets.

Takes a range and returns NumPy columns, with dictionaries for values that repeat. Nothing is turned into
Python objects row by row. Columns that take a further look at the tables are there only if they are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.calls.call_health import call_health
from tb_debugger_plugin.analysis.calls.call_owner import owners
from tb_debugger_plugin.analysis.calls.steps import steps_of
from tb_debugger_plugin.analysis.catalog import Catalog, Op, Site
from tb_debugger_plugin.analysis.lists.executions import thread_names
from tb_debugger_plugin.analysis.lists.filters import NUMBERS
from tb_debugger_plugin.analysis.lists.selection import STRETCH, Selection
from tb_debugger_plugin.analysis.snapshot import Columns, Range, Snapshot, remembered
from tb_debugger_plugin.analysis.source.user_lines import all_user_lines
from tb_debugger_plugin.events.modes import COUNTS, MEASURED, MOMENTS, SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.tensors import BAD, NOT_MEASURED

_COUNTED: Final = ("size", *COUNTS)
#: The modes that measure moments, or of which the index does. Most recordings would send these columns empty.
_MOMENT_MODES: Final = [
    TensorDebugMode.FULL_TENSOR,
    *(mode for mode, names in SUMMARY_COLUMNS.items() if set(names) & set(MOMENTS)),
]


@dataclass(frozen=True)
class ColumnPage:
    """Some rows as columns.

    Attributes:
      generation: The commit they were read from.
      range: The positions.
      total: The length of the list.
      columns: Arrays of float64, int32 or uint8 by name.
      dictionaries: Values of the columns that hold positions in a dictionary (-1 = none).
      matching: How many rows fulfil the filter; None when there is none.
    """

    generation: int
    range: Range
    total: int
    columns: dict[str, Array]
    dictionaries: dict[str, list[str]]
    matching: int | None = None


class PageBuilder:
    """The columns of a page and their dictionaries, while they are made."""

    def __init__(self) -> None:
        self.columns: dict[str, Array] = {}
        self.dictionaries: dict[str, list[str]] = {}

    def encode(self, name: str, numbers: Array, values: Sequence[str | None]) -> None:
        """Add a dictionary column of the values at the given numbers; -1 and None mean no value."""
        used, inverse = np.unique(numbers, return_inverse=True)
        texts = [values[number] if number >= 0 else None for number in used.tolist()]
        entries = {text: code for code, text in enumerate(dict.fromkeys(t for t in texts if t is not None))}
        codes = np.array([entries[text] if text is not None else -1 for text in texts], np.int32)
        self.columns[name] = codes[inverse.reshape(-1)] if len(codes) else np.empty(0, np.int32)
        self.dictionaries[name] = list(entries)

    def encode_sites(self, name: str, sites: Array, values: dict[int, str | None]) -> None:
        """Add a dictionary column of values that are given by site."""
        used, inverse = np.unique(sites, return_inverse=True)
        self.encode(name, inverse.reshape(-1), [values[site] for site in used.tolist()])


_EXECUTIONS: Final = (
    "t.idx, t.wall_time, t.step, t.op_type, t.health, t.graph, t.num_inputs, t.num_outputs, t.host, t.stack,"
    " t.thread"
)
_TRACES: Final = ", ".join(
    f"t.{name}"
    for name in ("idx", "wall_time", "step", "site", "mode", "health", "dtype", "rank", "shape", *MEASURED)
)
#: Numbers that are computed from the summary, and only if they are wanted.
_COMPUTED: Final = ("std", "norm")


def executions_page(
    snapshot: Snapshot, positions: Range, chosen: Selection | None = None, wanted: Collection[str] = ()
) -> ColumnPage:
    """Return a page of the list of executions.

    Args:
      snapshot: The run.
      positions: The positions, among the rows of ``chosen`` if given.
      chosen: A selection from :func:`~tb_debugger_plugin.analysis.lists.selection.select`; None = all rows.
      wanted: Names in :data:`MORE`.
    """
    if chosen is None:
        query = f"SELECT {_EXECUTIONS} FROM executions t WHERE t.idx >= ? AND t.idx < ? ORDER BY t.idx"
        rows = snapshot.columns(query, [positions.begin, positions.end])
    else:
        rows = chosen.rows(snapshot, _EXECUTIONS, positions)
    builder = PageBuilder()
    if chosen is not None:
        builder.columns["index"] = rows["idx"].astype(np.float64)
    builder.columns["wall_time"] = rows["wall_time"]
    builder.encode("op_type", rows["op_type"], [name for name, _ in snapshot.catalog.op_types])
    functions = np.array([is_function for _, is_function in snapshot.catalog.op_types], bool)
    is_function = functions[rows["op_type"]] | (rows["graph"] >= 0)
    builder.columns["is_function"] = is_function.astype(np.uint8)
    builder.columns["health"] = rows["health"]
    builder.columns["call_health"] = call_health(snapshot)[rows["idx"]]
    builder.encode("graph_id", rows["graph"], [graph.graph_id for graph in snapshot.catalog.graphs])
    builder.columns["num_inputs"] = rows["num_inputs"]
    builder.columns["num_outputs"] = rows["num_outputs"]
    builder.encode("host", rows["host"], snapshot.catalog.host_names)
    builder.columns["step"] = steps_of(snapshot, rows["host"], rows["wall_time"], rows["step"]).astype(
        np.int32
    )
    for name in wanted:
        MORE["executions"][name](snapshot, builder, rows)
    return _page(snapshot, positions, snapshot.num_executions, chosen, builder)


def _page(
    snapshot: Snapshot, positions: Range, total: int, chosen: Selection | None, builder: PageBuilder
) -> ColumnPage:
    matching = None if chosen is None else chosen.matching
    total = total if chosen is None else chosen.total
    return ColumnPage(snapshot.generation, positions, total, builder.columns, builder.dictionaries, matching)


def graph_executions_page(
    snapshot: Snapshot,
    positions: Range,
    *,
    only_bad: bool = False,
    chosen: Selection | None = None,
    wanted: Collection[str] = (),
) -> ColumnPage:
    """Return a page of the list of graph executions.

    Args:
      snapshot: The run.
      positions: The positions, among the bad rows if ``only_bad``, among the rows of ``chosen`` if given.
      only_bad: Whether to leave out rows that are not bad.
      chosen: A selection from :func:`~tb_debugger_plugin.analysis.lists.selection.select`; None = all rows.
      wanted: Names in :data:`MORE`.
    """
    select = ", ".join([_TRACES, *(f"{NUMBERS[name]} AS {name}" for name in _COMPUTED if name in wanted)])
    if chosen is not None:
        rows = chosen.rows(snapshot, select, positions)
    else:
        condition = (
            "t.idx IN (SELECT idx FROM bad_graph_executions WHERE bad >= ? AND bad < ?)"
            if only_bad
            else "t.idx >= ? AND t.idx < ?"
        )
        query = f"SELECT {select} FROM graph_executions t WHERE {condition} ORDER BY t.idx"
        rows = snapshot.columns(query, [positions.begin, positions.end])
    builder = PageBuilder()
    builder.columns["index"] = rows["idx"].astype(np.float64)
    builder.columns["wall_time"] = rows["wall_time"]
    _add_sites(snapshot, builder, rows["site"])
    builder.columns["mode"] = rows["mode"]
    builder.columns["health"] = rows["health"]
    _add_shapes(snapshot, builder, rows)
    has_moments = bool(np.isin(rows["mode"], _MOMENT_MODES).any())
    for name in (*_COUNTED, *(MOMENTS if has_moments else ())):
        builder.columns[name] = rows[name].astype(np.float64)
    builder.columns["owner"] = owners(snapshot, rows["wall_time"], rows["site"])
    hosts = snapshot.catalog.site_hosts[rows["site"]]
    builder.columns["step"] = steps_of(snapshot, hosts, rows["wall_time"], rows["step"]).astype(np.int32)
    for name in wanted:
        MORE["graph_executions"][name](snapshot, builder, rows)
    return _page(
        snapshot,
        positions,
        snapshot.num_bad_graph_executions if only_bad else snapshot.num_graph_executions,
        chosen,
        builder,
    )


def _gradient_of(catalog: Catalog, site: Site) -> str | None:
    variables = catalog.gradients.get((site.op, site.slot))
    return ", ".join(variables) if variables else None


#: The dictionary columns of a graph execution that follow from its site.
_SITE_COLUMNS: Final[dict[str, Callable[[Catalog, Site], str | None]]] = {
    "op_name": lambda catalog, site: catalog.ops[site.op].name,
    "op_type": lambda catalog, site: catalog.ops[site.op].type,
    "graph_id": lambda catalog, site: catalog.graphs[site.graph].graph_id,
    "function": lambda catalog, site: catalog.graphs[site.graph].name,
    "device": lambda _, site: site.device,
    "host": lambda catalog, site: catalog.host_names[site.host],
    "layer": lambda catalog, site: catalog.ops[site.op].layer,
    "gradient_of": _gradient_of,
}


def _add_sites(snapshot: Snapshot, builder: PageBuilder, numbers: Array) -> None:
    catalog = snapshot.catalog
    sites = {number: catalog.sites[number] for number in np.unique(numbers).tolist()}
    for name, value_of in _SITE_COLUMNS.items():
        builder.encode_sites(name, numbers, {n: value_of(catalog, site) for n, site in sites.items()})
    slots = np.array([site.slot for site in catalog.sites], np.int32)
    builder.columns["slot"] = slots[numbers] if len(numbers) else np.empty(0, np.int32)


def _add_shapes(snapshot: Snapshot, builder: PageBuilder, rows: dict[str, Array]) -> None:
    # The graph gives dtypes and shapes that the traces do not have.
    static_dtype, static_shape = snapshot.catalog.site_statics
    sites = rows["site"]
    dtype, shape, rank = rows["dtype"], rows["shape"], rows["rank"].astype(np.int32)
    if len(sites):
        dtype = np.where(dtype == 0, static_dtype[sites], dtype)
        shape = np.where(shape < 0, static_shape[sites], shape)
        ranks = np.array(
            [*(len(snapshot.catalog.dims(n) or []) for n in range(len(snapshot.catalog.shapes))), -1],
            np.int32,
        )
        rank = np.where(rank < 0, ranks[shape], rank)
    builder.columns["dtype"] = dtype.astype(np.uint8)
    builder.columns["rank"] = rank.astype(np.int32)
    builder.encode("shape", shape, snapshot.catalog.shapes)


def _add_number(name: str) -> _Adder:
    def add(_: Snapshot, builder: PageBuilder, rows: Columns) -> None:
        builder.columns[name] = rows[name].astype(np.float64)

    return add


def _add_lines_of_sites(snapshot: Snapshot, builder: PageBuilder, rows: Columns) -> None:
    catalog = snapshot.catalog
    _add_lines(snapshot, builder, rows["site"], lambda site: catalog.ops[catalog.sites[site].op].stack)


def _add_lines_of_stacks(snapshot: Snapshot, builder: PageBuilder, rows: Columns) -> None:
    _add_lines(snapshot, builder, rows["stack"], lambda stack: stack)


def _add_lines(snapshot: Snapshot, builder: PageBuilder, keys: Array, stack_of: Callable[[int], int]) -> None:
    lines = all_user_lines(snapshot)
    found = {key: lines.get(stack_of(key)) for key in np.unique(keys).tolist()}
    names = {key: None if at is None else f"{at.path}:{at.line}" for key, at in found.items()}
    builder.encode_sites("line", keys, names)


def _add_threads(snapshot: Snapshot, builder: PageBuilder, rows: Columns) -> None:
    names = thread_names(snapshot)
    both = list(zip(rows["host"].tolist(), rows["thread"].tolist(), strict=True))
    numbers = {one: number for number, one in enumerate(dict.fromkeys(both))}
    codes = np.array([numbers[one] for one in both], np.int64)
    builder.encode("thread", codes, [names.get(one) for one in numbers])


def _add_threads_of_calls(snapshot: Snapshot, builder: PageBuilder, rows: Columns) -> None:
    calls = builder.columns["owner"]
    known = np.unique(calls[~np.isnan(calls)]).astype(np.int64)
    found = snapshot.rows(
        "SELECT idx, host, thread FROM executions WHERE idx IN (SELECT unnest(?::BIGINT[]))", [known.tolist()]
    )
    names = thread_names(snapshot)
    by_call = {call: names.get((host, thread)) for call, host, thread in found}
    numbers = {call: number for number, call in enumerate(by_call)}
    codes = np.array([numbers.get(call, -1) for call in np.nan_to_num(calls, nan=-1).tolist()], np.int64)
    builder.encode("thread", codes, list(by_call.values()))


def _add_occurrences(snapshot: Snapshot, builder: PageBuilder, rows: Columns) -> None:
    """Add how often each tensor was computed before."""
    positions, sites = rows["idx"].astype(np.int64), rows["site"].astype(np.int64)
    stretches = positions // STRETCH
    begins = " OR ".join(
        f"t.idx >= {number * STRETCH} AND t.idx < {(number + 1) * STRETCH}" for number in np.unique(stretches)
    )
    near = snapshot.columns(
        "SELECT t.idx, t.site FROM graph_executions t"
        f" WHERE t.site IN (SELECT unnest(?::INTEGER[])) AND ({begins or 'false'})",
        [np.unique(sites).tolist()],
    )
    # Sorted by site, then by position.
    keys = np.sort(near["site"].astype(np.int64) * snapshot.num_graph_executions + near["idx"])
    first = sites * snapshot.num_graph_executions
    inside = np.searchsorted(keys, first + positions) - np.searchsorted(keys, first + stretches * STRETCH)
    counts = _counts_before(snapshot)
    places = np.searchsorted(counts["key"], stretches * len(snapshot.catalog.sites) + sites)
    builder.columns["occurrence"] = (counts["before"][places] + inside).astype(np.float64)


@remembered(Snapshot.remember)
def _counts_before(snapshot: Snapshot) -> Columns:
    """Return how many rows a site has before each stretch that it has rows in, by a number of both."""
    return snapshot.columns(
        f"SELECT stretch * {len(snapshot.catalog.sites)} + site AS key,"
        " (sum(count) OVER (PARTITION BY site ORDER BY stretch) - count)::BIGINT AS before FROM ("
        f"SELECT t.idx // {STRETCH} AS stretch, t.site, count(*) AS count FROM graph_executions t"
        " GROUP BY ALL"
        ") ORDER BY key"
    )


_Adder = Callable[[Snapshot, PageBuilder, Columns], None]
#: By list and column: what adds it to the page of some rows.
MORE: Final[dict[str, dict[str, _Adder]]] = {
    "graph_executions": {
        **{name: _add_number(name) for name in _COMPUTED},
        "line": _add_lines_of_sites,
        "thread": _add_threads_of_calls,
        "occurrence": _add_occurrences,
    },
    "executions": {"line": _add_lines_of_stacks, "thread": _add_threads},
}


class OverviewJson(TypedDict):
    """Bad and measured rows of equal parts of a list."""

    total: int  #: length of the list
    bad: list[int]  #: number of bad rows of each part
    measured: list[int]  #: number of measured rows of each part


def overview(snapshot: Snapshot, table: str, buckets: int) -> OverviewJson:
    """Return how many bad and measured rows each bucket of a list has.

    Args:
      snapshot: The run.
      table: ``executions`` or ``graph_executions``. An execution is also bad when something bad ran in it.
      buckets: The number of equal buckets.

    Returns:
      The counts; bucket ``b`` has the rows whose ``position * buckets // total`` is b.
    """
    total = snapshot.num_executions if table == "executions" else snapshot.num_graph_executions
    bad = np.zeros(buckets, np.int64)
    measured = np.zeros(buckets, np.int64)
    if table == "executions" and total:
        own = snapshot.columns("SELECT health FROM executions ORDER BY idx")["health"]
        worst = np.maximum(own, call_health(snapshot))
        buckets_of_rows = np.arange(total) * buckets // total
        np.add.at(bad, buckets_of_rows, worst == BAD)
        np.add.at(measured, buckets_of_rows, worst != NOT_MEASURED)
    elif total:
        bucket = f"idx * {buckets} // {total}"
        bad = _count_by_bucket(
            snapshot, f"SELECT {bucket}, count(*) FROM bad_graph_executions GROUP BY 1", buckets
        )
        measured = _measured_by_bucket(snapshot, bucket, buckets)
    return {"total": total, "bad": bad.tolist(), "measured": measured.tolist()}


def _count_by_bucket(snapshot: Snapshot, query: str, buckets: int) -> npt.NDArray[np.int64]:
    counts = np.zeros(buckets, np.int64)
    for bucket, count in snapshot.rows(query):
        counts[bucket] = count
    return counts


def _measured_by_bucket(snapshot: Snapshot, bucket: str, buckets: int) -> npt.NDArray[np.int64]:
    # Mostly everything is measured, or nothing. The rarer of the two is counted, because DuckDB knows which
    # row groups of the column have none of it and skips them.
    rarer = "=" if _num_unmeasured(snapshot) * 2 <= snapshot.num_graph_executions else "<>"
    query = f"SELECT {bucket}, count(*) FROM graph_executions WHERE health {rarer} {NOT_MEASURED} GROUP BY 1"
    counts = _count_by_bucket(snapshot, query, buckets)
    if rarer == "<>":
        return counts
    # The first row of bucket b is the first whose position * buckets is not below b * total.
    firsts = -(-np.arange(buckets + 1) * snapshot.num_graph_executions // buckets)
    return np.diff(firsts) - counts


@remembered(Snapshot.remember)
def _num_unmeasured(snapshot: Snapshot) -> int:
    return int(snapshot.rows(f"SELECT count(*) FROM graph_executions WHERE health = {NOT_MEASURED}")[0][0])


def _device(catalog: Catalog, op: Op) -> str | None:
    """Return the device of the graph, or else one on which a tensor of the op was recorded."""
    sites = () if op.device else catalog.op_sites.get(op.number, ())
    return op.device or next((site.device for site in sites if site.device), None)


#: The texts of an op by column.
OP_COLUMNS: Final[dict[str, Callable[[Catalog, Op], str | None]]] = {
    "op_name": lambda _, op: op.name,
    "op_type": lambda _, op: op.type,
    "graph_id": lambda catalog, op: catalog.graphs[op.graph].graph_id,
    "function": lambda catalog, op: catalog.graphs[op.graph].name,
    "layer": lambda _, op: op.layer,
    "device": _device,
    "host": lambda catalog, op: catalog.host_names[catalog.graphs[op.graph].host],
}


def num_ops(snapshot: Snapshot) -> int:
    """Return the length of the list of ops. Ops that are only referred to are left out."""
    return len(_known_ops(snapshot))


def ops_page(snapshot: Snapshot, positions: Range) -> ColumnPage:
    """Return a page of the list of ops, in the order in which they were recorded.

    Args:
      snapshot: The run.
      positions: The positions in the list.
    """
    every = _known_ops(snapshot)
    ops = every[positions.begin : positions.end]
    builder = PageBuilder()
    for name, text_of in OP_COLUMNS.items():
        builder.encode(name, np.arange(len(ops)), [text_of(snapshot.catalog, op) for op in ops])
    outputs = [-1 if op.num_outputs is None else op.num_outputs for op in ops]
    builder.columns["num_outputs"] = np.array(outputs, np.int32)
    return ColumnPage(snapshot.generation, positions, len(every), builder.columns, builder.dictionaries)


@remembered(Snapshot.remember_of_graphs)
def _known_ops(snapshot: Snapshot) -> list[Op]:
    return [op for op in snapshot.catalog.ops if op.known]
