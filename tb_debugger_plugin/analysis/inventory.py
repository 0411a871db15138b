"""The inventory of a run: lists of its ops, functions, variables, layers and session runs, and of its lines,
types, processes, devices, dtypes and threads.

A row of :data:`KINDS` is such a list. Takes a filter on graph executions, and returns the things that it
leaves with what is on record of each: how many ops, tensors and calls, how many of them are bad, and where
the first bad one is.

Invariants: one pass over each long list answers all kinds, and returns a row for each tensor of the graphs
and each place of a call; a thing is there although nothing of it was computed, unless the filter is about
what was computed; a column of which nothing is known is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.alerts.tensors import Role, tensors
from tb_debugger_plugin.analysis.calls.call_health import call_health
from tb_debugger_plugin.analysis.calls.call_owner import owners
from tb_debugger_plugin.analysis.calls.steps import steps_of
from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.op_kinds import READS
from tb_debugger_plugin.analysis.lasting import lasting
from tb_debugger_plugin.analysis.lists import session_runs
from tb_debugger_plugin.analysis.lists.executions import thread_names
from tb_debugger_plugin.analysis.lists.filters import (
    Filter,
    RowOrder,
    execution_condition,
    filtered_ops,
    graph_execution_condition,
    is_about_rows,
    may_filter_executions,
)
from tb_debugger_plugin.analysis.lists.orders import stable_order
from tb_debugger_plugin.analysis.lists.tables import OP_COLUMNS, ColumnPage, PageBuilder
from tb_debugger_plugin.analysis.snapshot import Columns, Range, Snapshot, remembered
from tb_debugger_plugin.analysis.source.user_lines import all_user_lines
from tb_debugger_plugin.events.dtypes import NAMES
from tb_debugger_plugin.events.numbers import Array, Floats, Integers
from tb_debugger_plugin.index.columns import insert
from tb_debugger_plugin.index.tensors import BAD, GOOD, NOT_MEASURED

#: What tells the things of a list apart; None for what belongs to none.
_Key: TypeAlias = str | int | None
_Keys: TypeAlias = Sequence[_Key]


@dataclass(frozen=True)
class Things:
    """All rows of a list, in the order in which they were recorded.

    Attributes:
      numbers: Numbers by column; NaN where nothing is known.
      texts: Texts by column; None where nothing is known.
    """

    numbers: dict[str, Floats]
    texts: dict[str, list[str | None]]

    def __len__(self) -> int:
        return len(next(iter(self.numbers.values())))


class Kind(NamedTuple):
    """A list of things.

    Attributes:
      is_there: Whether a run has such things, of which a list says more than the long lists.
      things: Returns those that a filter leaves.
    """

    is_there: Callable[[Snapshot], bool]
    things: Callable[[Snapshot, Filter], Things]


def kinds(snapshot: Snapshot) -> list[str]:
    """Return the names of the lists that the run has."""
    return [name for name, kind in KINDS.items() if kind.is_there(snapshot)]


def inventory(snapshot: Snapshot, kind: str, row_filter: Filter, order: RowOrder | None) -> Things:
    """Return the things of a kind that a filter leaves.

    Args:
      snapshot: The run.
      kind: A name in :data:`KINDS`.
      row_filter: A filter on graph executions. It applies to ops that computed nothing, too, if it is about
        ops only; and to calls, if the list of executions has all its criteria.
      order: How they are sorted, by a column; None = as they were recorded. Equal ones stay in this order,
        and those that computed nothing come after them. Those without a value come last.

    Raises:
      BadQueryError: The filter names something that does not exist.
    """

    def make() -> tuple[Things, int]:
        return KINDS[kind].things(snapshot, row_filter), snapshot.oldest

    def weigh(made: tuple[Things, int]) -> float:
        # What lags would be given for longer than it may.
        return 1.0 if made[1] == snapshot.generation else np.inf

    found, generation = snapshot.remember_last("inventory", (kind, row_filter), _KEPT, make, weigh)
    snapshot.answered.add(generation)
    if order is None:
        return found
    values = found.numbers.get(order.column)
    if values is None:
        values = _ranks(found.texts.get(order.column, [None] * len(found)))
    places = np.argsort(_are_idle(found), kind="stable")
    places = places[stable_order((-values if order.descending else values)[places])]
    return Things(
        {name: of_things[places] for name, of_things in found.numbers.items()},
        {name: [of_things[place] for place in places] for name, of_things in found.texts.items()},
    )


def _are_idle(things: Things) -> npt.NDArray[np.bool_]:
    """Return which things computed nothing, such as constants of which only the sum is on record."""
    # Where all are equal, as by their bad tensors in a healthy run, these would fill the first screen.
    counts = [things.numbers[name] for name in ("computed", "calls") if name in things.numbers]
    return np.asarray(sum(map(np.nan_to_num, counts), np.zeros(len(things))) == 0)


def inventory_page(snapshot: Snapshot, things: Things, positions: Range) -> ColumnPage:
    """Return a range of things as columns."""
    builder, part = PageBuilder(), slice(positions.begin, positions.end)
    for name, texts in things.texts.items():
        builder.encode(name, np.arange(positions.end - positions.begin), texts[part])
    for name, values in things.numbers.items():
        builder.columns[name] = values[part]
    builder.columns["health"] = builder.columns["health"].astype(np.uint8)
    if "first_bad" in builder.columns:
        _add_places(snapshot, builder, builder.columns["first_bad"])
    return ColumnPage(snapshot.oldest, positions, len(things), builder.columns, builder.dictionaries)


def _add_places(snapshot: Snapshot, builder: PageBuilder, positions: Array) -> None:
    """Add the steps and the calls of some graph executions."""
    rows = snapshot.columns(
        "SELECT idx, wall_time, site, step FROM graph_executions"
        " WHERE idx IN (SELECT unnest(?::BIGINT[])) ORDER BY idx",
        [positions[~np.isnan(positions)].astype(np.int64).tolist()],
    )
    steps = steps_of(snapshot, snapshot.catalog.site_hosts[rows["site"]], rows["wall_time"], rows["step"])
    places = np.searchsorted(rows["idx"], np.nan_to_num(positions, nan=-1).astype(np.int64))
    for name, values in (("step", steps), ("call", owners(snapshot, rows["wall_time"], rows["site"]))):
        of_none = np.append(values.astype(np.float64), np.nan)
        builder.columns[name] = np.where(np.isnan(positions), np.nan, of_none[places])


def _ranks(texts: Sequence[str | None]) -> Floats:
    """Return the places of texts in their order; a line comes after those above it."""
    known = sorted({text for text in texts if text is not None}, key=_text_key)
    ranks = {text: float(rank) for rank, text in enumerate(known)}
    return np.array([np.nan if text is None else ranks[text] for text in texts], np.float64)


def _text_key(text: str) -> tuple[str, int]:
    before, _, last = text.rpartition(":")
    return (before, int(last)) if last.isascii() and last.isdigit() else (text, -1)


#: How many lists, and how many passes, are kept with a run.
_KEPT: Final = 4
_EMPTY: Final = Filter()
#: SQL of what is known of the rows of a group. What no record has is NULL.
_MEASURED: Final = f"""count(*)::DOUBLE AS computed, (count(*) FILTER (t.health = {BAD}))::DOUBLE AS bad,
  CASE WHEN count(t.nan) > 0 THEN count(*) FILTER (t.nan > 0) END::DOUBLE AS nan,
  CASE WHEN count(t.nan) > 0 THEN count(*) FILTER (t.neg_inf + t.pos_inf > 0) END::DOUBLE AS inf,
  max(t.health)::DOUBLE AS health, min(t.min)::DOUBLE AS min, max(t.max)::DOUBLE AS max,
  min(t.idx)::DOUBLE AS first, (min(t.idx) FILTER (t.health = {BAD}))::DOUBLE AS first_bad"""
#: How the columns of rows, and those of calls, become those of a thing.
_SUMS: Final = ("computed", "bad", "nan", "inf")
_LEAST: Final = ("min", "first", "first_bad")
_MOST: Final = ("max", "health")


def _traces(snapshot: Snapshot, row_filter: Filter) -> Columns:
    """Return what is known of the graph executions of each site and dtype."""

    def make() -> Columns:
        condition = graph_execution_condition(snapshot, row_filter)
        return snapshot.columns(
            f"SELECT t.site, t.dtype, {_MEASURED} FROM graph_executions t WHERE {condition.sql}"
            " GROUP BY t.site, t.dtype ORDER BY t.site, t.dtype",
            list(condition.parameters),
        )

    if row_filter == _EMPTY:
        return lasting(snapshot, "inventory of traces", make).value
    return snapshot.remember_last("inventory of chosen traces", row_filter, _KEPT, make)


def _calls(snapshot: Snapshot, row_filter: Filter) -> Columns:
    """Return how many calls each place has, how many of them are bad, and their worst health."""

    def make() -> Columns:
        if not may_filter_executions(row_filter):
            condition, parameters = "false", []
        else:
            found = execution_condition(snapshot, row_filter)
            condition, parameters = found.sql, list(found.parameters)
        inside = call_health(snapshot)
        snapshot.connection.execute("CREATE OR REPLACE TEMP TABLE _inside (idx BIGINT, health UTINYINT)")
        bad = np.flatnonzero(inside)
        insert(snapshot.connection, "_inside", {"idx": bad, "health": inside[bad]})
        worst = "greatest(t.health, coalesce(i.health, 0))"
        return snapshot.columns(
            "SELECT t.op_type, t.graph, t.stack, t.host, t.thread, count(*)::DOUBLE AS calls,"
            f" (count(*) FILTER ({worst} = {BAD}))::DOUBLE AS bad_calls, max({worst})::DOUBLE AS health"
            f" FROM executions t LEFT JOIN _inside i USING (idx) WHERE {condition} GROUP BY ALL ORDER BY ALL",
            parameters,
        )

    if row_filter == _EMPTY:
        return lasting(snapshot, "inventory of calls", make).value
    return snapshot.remember_last("inventory of chosen calls", row_filter, _KEPT, make)


class _Group(NamedTuple):
    """How ops, tensors and calls are put into the things of a kind.

    Attributes:
      of_ops: Returns the thing of each op of the catalog, which is also that of its tensors.
      of_traces: Returns the thing of each row of :func:`_traces`, where it does not follow from the op.
      of_calls: Returns the thing of each row of :func:`_calls`.
      has_rest: Whether what belongs to none is a thing, too.
      is_each_op: Whether each op is a thing of its own: `more` gives its name, and ops are not counted.
      more: Returns further columns.
    """

    of_ops: Callable[[Snapshot], _Keys] | None = None
    of_traces: Callable[[Snapshot, Columns], _Keys] | None = None
    of_calls: Callable[[Snapshot, Columns], _Keys] | None = None
    has_rest: bool = False
    is_each_op: bool = False
    more: Callable[[Snapshot, _Members], Things] | None = None


@dataclass(frozen=True)
class _Members:
    """What belongs to the things of a list, by the position of the thing; -1 for none.

    Attributes:
      keys: The things.
      ops: The thing of each op of the catalog that the filter leaves.
      traces: The rows of :func:`_traces`, and the thing of each.
    """

    keys: list[_Key]
    ops: Integers
    rows: Columns
    traces: Integers

    def sum(self, of: Integers, values: Floats) -> Floats:
        """Return the sums of what is known of each thing; NaN where nothing is."""
        known = (of >= 0) & ~np.isnan(values)
        sums = np.bincount(of[known], values[known], len(self.keys)).astype(np.float64)
        sums[np.bincount(of[known], minlength=len(self.keys)) == 0] = np.nan
        return sums

    def best(self, of: Integers, values: Floats, better: np.ufunc) -> Floats:
        """Return the least or the most of what is known of each thing; NaN where nothing is."""
        found = np.full(len(self.keys), np.nan)
        better.at(found, of[of >= 0], values[of >= 0])
        return found

    def only(self, chosen: npt.NDArray[np.bool_]) -> _Members:
        """Return the same of some things only."""
        places = np.append(np.where(chosen, np.cumsum(chosen) - 1, -1), -1)
        keys = [key for key, is_chosen in zip(self.keys, chosen.tolist(), strict=True) if is_chosen]
        return _Members(keys, places[self.ops], self.rows, places[self.traces])


def _grouped(group: _Group) -> Callable[[Snapshot, Filter], Things]:
    """Return the things of a kind, as a function of a filter."""

    def things(snapshot: Snapshot, row_filter: Filter) -> Things:
        traces = _traces(snapshot, row_filter)
        places: dict[_Key, int] = {}
        of_ops = _of_ops(snapshot, group, row_filter, places)
        if group.of_ops is not None:
            keys = group.of_ops(snapshot)
            owned = [keys[snapshot.catalog.sites[site].op] for site in traces["site"].tolist()]
        else:
            owned = [] if group.of_traces is None else [*group.of_traces(snapshot, traces)]
        rows = traces if owned else {name: values[:0] for name, values in traces.items()}
        of_traces = _placed(owned, places, group)
        calls = {} if group.of_calls is None else _calls(snapshot, row_filter)
        of_calls = _placed(group.of_calls(snapshot, calls) if group.of_calls else (), places, group)
        members = _Members(list(places), of_ops, rows, of_traces)
        counts = _counts(members, calls, of_calls, group)
        if is_about_rows(row_filter):
            chosen = np.nan_to_num(counts["computed"]) + counts.get("calls", np.zeros(1)) > 0
            counts = {name: values[chosen] for name, values in counts.items()}
            members = members.only(chosen)
        more = Things({}, {}) if group.more is None else group.more(snapshot, members)
        names = {} if group.is_each_op else {"name": _names(members.keys)}
        return _known(Things({**more.numbers, **counts}, {**names, **more.texts}))

    return things


def _of_ops(snapshot: Snapshot, group: _Group, row_filter: Filter, places: dict[_Key, int]) -> Integers:
    """Return the thing of each op that a filter leaves, and give each its place."""
    if group.of_ops is None:
        return np.full(len(snapshot.catalog.ops), -1)
    left = filtered_ops(snapshot, row_filter)
    is_left = np.array([op.known for op in snapshot.catalog.ops], bool)
    if left is not None:
        is_left &= np.isin(np.arange(len(is_left)), left)
    keys = group.of_ops(snapshot)
    chosen = np.flatnonzero(is_left)
    of_ops = np.full(len(is_left), -1)
    of_ops[chosen] = _placed([keys[op] for op in chosen.tolist()], places, group)
    return of_ops


def _placed(keys: _Keys, places: dict[_Key, int], group: _Group) -> Integers:
    """Return the places of keys; new ones come after those that have one."""
    if group.has_rest:
        found = [places.setdefault(key, len(places)) for key in keys]
    else:
        found = [-1 if key is None else places.setdefault(key, len(places)) for key in keys]
    return np.array(found, np.int64)


def _counts(members: _Members, calls: Columns, of_calls: Integers, group: _Group) -> dict[str, Floats]:
    rows, of = members.rows, members.traces
    counts: dict[str, Floats] = {}
    if group.of_ops is not None and not group.is_each_op:
        counts["ops"] = np.bincount(members.ops[members.ops >= 0], minlength=len(members.keys)).astype(float)
    if group.of_calls is not None:
        for name in ("calls", "bad_calls"):
            counts[name] = np.nan_to_num(members.sum(of_calls, calls[name]))
    counts |= {name: members.sum(of, rows[name]) for name in _SUMS}
    counts |= {name: members.best(of, rows[name], np.fmin) for name in _LEAST}
    counts |= {name: members.best(of, rows[name], np.fmax) for name in _MOST}
    if group.of_ops is not None or group.of_traces is not None:
        counts |= {name: np.nan_to_num(counts[name]) for name in ("computed", "bad")}
    if calls:
        counts["health"] = np.fmax(counts["health"], members.best(of_calls, calls["health"], np.fmax))
    counts["health"] = np.nan_to_num(counts["health"])
    return counts


def _names(keys: Iterable[_Key]) -> list[str | None]:
    return [None if key is None else str(key) for key in keys]


def _known(things: Things) -> Things:
    """Return the columns of which something is known, and the positions."""
    counted = ("calls", "bad_calls", "variables")
    known = {
        name: values
        for name, values in things.numbers.items()
        if not len(values) or (values > (0 if name in counted else -np.inf)).any()
    }
    texts = {
        name: found
        for name, found in things.texts.items()
        if name == "name" or not found or set(found) != {None}
    }
    return Things({"index": np.arange(len(things), dtype=np.float64), **known}, texts)


def _by_op(of_op: Callable[[Snapshot, Op], _Key]) -> Callable[[Snapshot], _Keys]:
    return lambda snapshot: [of_op(snapshot, op) for op in snapshot.catalog.ops]


def _lines(snapshot: Snapshot) -> Mapping[int, str]:
    return {stack: f"{line.path}:{line.line}" for stack, line in all_user_lines(snapshot).items()}


def _lines_of_ops(snapshot: Snapshot) -> _Keys:
    lines = _lines(snapshot)
    return [lines.get(op.stack) for op in snapshot.catalog.ops]


def _lines_of_calls(snapshot: Snapshot, calls: Columns) -> _Keys:
    lines = _lines(snapshot)
    return [lines.get(stack) for stack in calls["stack"].tolist()]


def _functions_of_calls(snapshot: Snapshot, calls: Columns) -> _Keys:
    graphs = snapshot.catalog.graphs
    return [None if graph < 0 else graphs[graph].name for graph in calls["graph"].tolist()]


def _types_of_calls(snapshot: Snapshot, calls: Columns) -> _Keys:
    return [snapshot.catalog.op_types[number][0] for number in calls["op_type"].tolist()]


def _hosts_of_calls(snapshot: Snapshot, calls: Columns) -> _Keys:
    return [snapshot.catalog.host_names[host] for host in calls["host"].tolist()]


def _threads_of_calls(snapshot: Snapshot, calls: Columns) -> _Keys:
    names = thread_names(snapshot)
    both = zip(calls["host"].tolist(), calls["thread"].tolist(), strict=True)
    return [names.get(one) for one in both]


def _devices_of_traces(snapshot: Snapshot, traces: Columns) -> _Keys:
    return [snapshot.catalog.sites[site].device for site in traces["site"].tolist()]


def _dtypes_of_traces(snapshot: Snapshot, traces: Columns) -> _Keys:
    dtypes = traces["dtype"].astype(np.int64)
    if len(dtypes):
        dtypes = np.where(dtypes == 0, snapshot.catalog.site_statics[0][traces["site"]], dtypes)
    return [NAMES.get(dtype) for dtype in dtypes.tolist()]


def _op_columns(snapshot: Snapshot, members: _Members) -> Things:
    """Return what is known of ops beside their numbers."""
    catalog, lines = snapshot.catalog, _lines(snapshot)
    ops = [catalog.ops[int(key)] for key in members.keys if key is not None]
    texts = {
        name.replace("op_name", "name"): [text_of(catalog, op) for op in ops]
        for name, text_of in OP_COLUMNS.items()
    }
    dtypes, shapes = _outputs(snapshot, members.rows)
    if len(catalog.host_names) < 2:
        del texts["host"]
    return Things(
        {},
        {
            **texts,
            "variable": [op.variable for op in ops],
            "line": [lines.get(op.stack) for op in ops],
            "dtype": [_together(dtypes.get(op.number)) for op in ops],
            "shape": [_together(shapes.get(op.number)) for op in ops],
        },
    )


def _outputs(snapshot: Snapshot, rows: Columns) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Return dtypes and shapes of the outputs of ops, by op: what the graph says, or else the records."""
    catalog = snapshot.catalog
    dtypes: dict[int, list[str]] = defaultdict(list)
    shapes: dict[int, list[str]] = defaultdict(list)
    for (op, _), static in sorted(catalog.statics.items()):
        if static.dtype in NAMES:
            dtypes[op].append(NAMES[static.dtype])
        if static.shape >= 0:
            shapes[op].append(catalog.shapes[static.shape])
    of_graphs = set(dtypes)
    for site, dtype in zip(rows["site"].tolist(), rows["dtype"].tolist(), strict=True):
        op = catalog.sites[site].op
        if op not in of_graphs and dtype in NAMES:
            dtypes[op].append(NAMES[dtype])
    return dtypes, shapes


def _together(texts: list[str] | None) -> str | None:
    return ", ".join(dict.fromkeys(texts)) if texts else None


def _variable_columns(snapshot: Snapshot, members: _Members) -> Things:
    """Return layers, dtypes and shapes of variables, and how many reads, updates and gradients each has."""
    catalog, roles = snapshot.catalog, tensors(snapshot)
    places = {key: place for place, key in enumerate(members.keys)}
    texts: dict[str, list[str | None]] = {name: [None] * len(places) for name in ("layer", "dtype", "shape")}
    reads = {op.number for op in catalog.ops if op.type in READS}
    dtypes, shapes = _outputs(snapshot, members.rows)
    for op in catalog.ops:
        place = places.get(op.variable)
        if place is None:
            continue
        texts["layer"][place] = texts["layer"][place] or op.layer
        if op.number in reads:
            for name, of_ops in (("dtype", dtypes), ("shape", shapes)):
                texts[name][place] = texts[name][place] or _together(of_ops.get(op.number))
    sites = members.rows["site"].tolist()
    variables = [roles.variables.get(site) for site in sites]
    of_roles = np.array([places.get(variable, -1) for variable in variables], np.int64)
    is_read = np.array([catalog.sites[site].op in reads for site in sites], bool)
    numbers = {"reads": members.sum(np.where(is_read, members.traces, -1), members.rows["computed"])}
    for name, role in (("updates", Role.UPDATE), ("gradients", Role.GRADIENT)):
        of = np.where(np.isin(sites, roles.of(role)), of_roles, -1)
        numbers[name] = members.sum(of, members.rows["computed"])
        if role == Role.GRADIENT:
            numbers["bad_gradients"] = members.sum(of, members.rows["bad"])
    return Things(numbers, texts)


def _layer_columns(snapshot: Snapshot, members: _Members) -> Things:
    """Return how many variables the ops of each layer read or assign."""
    found: list[set[str]] = [set() for _ in members.keys]
    for op, place in zip(snapshot.catalog.ops, members.ops.tolist(), strict=True):
        if place >= 0 and op.variable is not None:
            found[place].add(op.variable)
    return Things({"variables": np.array([len(one) for one in found], np.float64)}, {})


#: Rows that are read at once.
_BATCH: Final = 1_228_800


def _session_runs(snapshot: Snapshot, row_filter: Filter) -> Things:
    """Return the runs of sessions, with what was computed between their begin and their end."""
    total = session_runs.num_session_runs(snapshot)
    page = session_runs.data(snapshot, Range(0, total))
    runs, requests = page["session_runs"], page["requests"]
    asked = [None if run.request is None else requests[run.request] for run in runs]
    begins = np.array([run.begin_time for run in runs], np.float64)
    ends = np.array([run.end_time for run in runs], np.float64)
    # Filters leave out the end of a range of time.
    until = np.nextafter(ends, np.inf)
    # Damaged files have times that are far apart.
    with np.errstate(over="ignore"):
        seconds = ends - begins
    hosts = {name: number for number, name in enumerate(snapshot.catalog.host_names)}
    of_runs = np.array([hosts.get(run.host_name, -1) for run in runs], np.int64)
    numbers = {
        "session": np.array([run.session for run in runs], np.float64),
        "run": np.array([run.run for run in runs], np.float64),
        "begin_time": begins,
        "until": until,
        "seconds": seconds,
        **_within(snapshot, row_filter, of_runs, begins, until),
    }
    texts: dict[str, list[str | None]] = {
        "fetches": [_together(one.fetches or one.targets) if one else None for one in asked],
        "feeds": [_together([feed.name for feed in one.feeds]) if one else None for one in asked],
        "thread": [run.thread_name for run in runs],
        "error": [run.error for run in runs],
        "host": [run.host_name if len(hosts) > 1 else None for run in runs],
    }
    if not row_filter.is_empty:
        chosen = np.flatnonzero(numbers["computed"] > 0).tolist()
        numbers = {name: values[chosen] for name, values in numbers.items()}
        texts = {name: [values[place] for place in chosen] for name, values in texts.items()}
    return _known(Things(numbers, texts))


def _within(
    snapshot: Snapshot, row_filter: Filter, hosts: Integers, begins: Floats, until: Floats
) -> dict[str, Floats]:
    """Return what was computed in spans of time of hosts; spans may overlap."""
    condition = graph_execution_condition(snapshot, row_filter)
    numbers = {name: np.zeros(len(hosts)) for name in ("computed", "bad", "health")}
    first_bad = np.full(len(hosts), np.nan)
    for begin in range(0, snapshot.num_graph_executions, _BATCH):
        rows = snapshot.columns(
            "SELECT t.idx, t.site, t.wall_time, t.health FROM graph_executions t WHERE t.idx >= ?"
            f" AND t.idx < ? AND ({condition.sql}) ORDER BY t.wall_time, t.idx",
            [begin, begin + _BATCH, *condition.parameters],
        )
        of_rows = snapshot.catalog.site_hosts[rows["site"]]
        for host in np.unique(of_rows).tolist():
            runs = np.flatnonzero(hosts == host)
            for health in (NOT_MEASURED, GOOD, BAD):
                of_health = (of_rows == host) & (rows["health"] == health)
                times, places = rows["wall_time"][of_health], rows["idx"][of_health]
                first, end = np.searchsorted(times, begins[runs]), np.searchsorted(times, until[runs])
                numbers["computed"][runs] += end - first
                found = runs[end > first]
                numbers["health"][found] = np.maximum(numbers["health"][found], health)
                if health == BAD:
                    numbers["bad"][runs] += end - first
                    first_bad[found] = np.fmin(first_bad[found], places[first[end > first]])
    return {**numbers, "first_bad": first_bad}


@remembered(Snapshot.remember_of_sites)
def _num_devices(snapshot: Snapshot) -> int:
    return len({site.device for site in snapshot.catalog.sites})


@remembered(Snapshot.remember_of_graphs)
def _has(snapshot: Snapshot, name: str) -> bool:
    return any(getattr(op, name) is not None for op in snapshot.catalog.ops)


def _has_lines(snapshot: Snapshot) -> bool:
    return bool(snapshot.rows_of("stacks", "SELECT 1 FROM stacks LIMIT 1"))


#: The lists of things by name, in the order in which they are offered.
KINDS: Final[dict[str, Kind]] = {
    "ops": Kind(
        lambda snapshot: _has(snapshot, "type"),
        _grouped(_Group(_by_op(lambda _, op: op.number), is_each_op=True, more=_op_columns)),
    ),
    "functions": Kind(
        lambda snapshot: any(graph.name is not None for graph in snapshot.catalog.graphs),
        _grouped(
            _Group(
                _by_op(lambda snapshot, op: snapshot.catalog.graphs[op.graph].name),
                of_calls=_functions_of_calls,
            )
        ),
    ),
    "variables": Kind(
        lambda snapshot: _has(snapshot, "variable"),
        _grouped(_Group(_by_op(lambda _, op: op.variable), more=_variable_columns)),
    ),
    "layers": Kind(
        lambda snapshot: _has(snapshot, "layer"),
        _grouped(_Group(_by_op(lambda _, op: op.layer), has_rest=True, more=_layer_columns)),
    ),
    "session_runs": Kind(lambda snapshot: session_runs.num_session_runs(snapshot) > 0, _session_runs),
    "op_types": Kind(
        lambda snapshot: _has(snapshot, "type") or snapshot.num_executions > 0,
        _grouped(_Group(_by_op(lambda _, op: op.type), of_calls=_types_of_calls)),
    ),
    "lines": Kind(
        _has_lines,
        _grouped(_Group(_lines_of_ops, of_calls=_lines_of_calls, has_rest=True)),
    ),
    "processes": Kind(
        lambda snapshot: len(snapshot.catalog.host_names) > 1,
        _grouped(
            _Group(
                _by_op(
                    lambda snapshot, op: snapshot.catalog.host_names[snapshot.catalog.graphs[op.graph].host]
                ),
                of_calls=_hosts_of_calls,
            )
        ),
    ),
    "devices": Kind(
        lambda snapshot: _num_devices(snapshot) > 1,
        _grouped(_Group(of_traces=_devices_of_traces, has_rest=True)),
    ),
    "dtypes": Kind(
        lambda snapshot: bool(snapshot.catalog.sites), _grouped(_Group(of_traces=_dtypes_of_traces))
    ),
    "threads": Kind(
        lambda snapshot: len(thread_names(snapshot)) > 1 and snapshot.num_executions > 0,
        _grouped(_Group(of_calls=_threads_of_calls)),
    ),
}
#: The columns that a list may be sorted by; one that it does not have changes nothing.
COLUMNS: Final = (
    *("index", "name", "op_type", "function", "layer", "variable", "line", "dtype", "shape", "device"),
    *("host", "ops", "variables", "calls", "bad_calls", "reads", "updates", "gradients", "bad_gradients"),
    *(*_SUMS, *_LEAST, *_MOST, "session", "run", "fetches", "feeds", "begin_time", "seconds", "thread"),
    "error",
)
