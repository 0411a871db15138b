"""Turns filters on a long list into SQL conditions.

Takes the filter of a query and returns a condition for the database. Criteria about a site (op, function,
device, source line) are first turned into numbers of sites or stacks, of which a program has few, so that the
long list is searched for numbers only.

Invariants: regular expressions are RE2's, which takes time in proportion to the text, whatever the
expression; every value goes to the database as a parameter.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, fields, replace
from typing import Final

import duckdb
import numpy as np

from tb_debugger_plugin.analysis.calls.call_owner import (
    CONCURRENT_CALLS,
    HostCalls,
    chosen_calls,
    host_calls,
    related_calls,
    runners,
)
from tb_debugger_plugin.analysis.calls.steps import step_condition
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot, SqlRow
from tb_debugger_plugin.analysis.source.user_lines import all_user_lines
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.dtypes import NUMBER_OF
from tb_debugger_plugin.events.modes import MEASURED
from tb_debugger_plugin.events.numbers import Integers
from tb_debugger_plugin.index.tensors import BAD, GOOD, NOT_MEASURED

# Finds the times at which graphs ran inside a range of executions.
#
# Takes a range of the list of executions and returns spans of time for the graphs of each host: a graph
# execution belongs to one of the executions exactly when its time is in a span of its graph. So the list of
# graph executions can be searched by time, without computing the owner of each.
#
# Invariant: the rows in the spans are those whose owner, by
# :func:`~tb_debugger_plugin.analysis.calls.call_owner.owners`, is in the range.


@dataclass(frozen=True)
class Spans:
    """Some graphs of one host, and the times at which they ran inside the executions.

    Attributes:
      graphs: The numbers of the graphs.
      times: Begin and end of each span in seconds; the begin is exclusive, the end inclusive.
    """

    graphs: list[int]
    times: list[tuple[float, float]]


def spans_inside(snapshot: Snapshot, executions: Range) -> list[Spans]:
    """Return the times at which graphs ran inside some executions.

    Args:
      snapshot: The run.
      executions: Their positions, which may reach beyond the list.

    Returns:
      Spans, without the graphs that never ran inside these executions.
    """
    called = {host: set(calls.graphs.tolist()) for host, calls in host_calls(snapshot).items()}
    spans_by_runners: dict[tuple[int, frozenset[int]], Spans] = {}
    for graph, info in enumerate(snapshot.catalog.graphs):
        calls = host_calls(snapshot).get(info.host)
        if calls is None:
            continue
        # Most graphs run in calls of the same few.
        own = frozenset(called[info.host].intersection(runners(snapshot, graph)))
        if (info.host, own) not in spans_by_runners:
            spans_by_runners[info.host, own] = Spans([], _times(calls, related_calls(calls, own), executions))
        spans_by_runners[info.host, own].graphs.append(graph)
    return [spans for spans in spans_by_runners.values() if spans.times]


def _times(calls: HostCalls, related: Integers, executions: Range) -> list[tuple[float, float]]:
    in_range = (calls.positions >= executions.begin) & (calls.positions < executions.end)
    indices = np.flatnonzero(in_range)
    if not len(indices):
        return []
    # At most CONCURRENT_CALLS other calls return between a trace and its owner.
    following = np.arange(max(0, indices[0] - CONCURRENT_CALLS), indices[-1] + 1)
    inside = np.append(in_range, False)[chosen_calls(calls, related, following)]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]])))
    bounds = np.concatenate([[-np.inf], calls.times])
    firsts, lasts = following[edges[::2]], following[edges[1::2] - 1]
    return list(zip(bounds[firsts].tolist(), bounds[lasts + 1].tolist(), strict=True))


#: The healths of the tables.
HEALTH_NUMBERS: Final = {"bad": BAD, "good": GOOD, "unmeasured": NOT_MEASURED}
#: Kinds of bad values, by what is true of the summary; the tables of rows only say whether any is bad.
_KINDS: Final = {"nan": "nan > 0", "inf": "neg_inf + pos_inf > 0"}
#: The words of ``health``.
HEALTH: Final = (*HEALTH_NUMBERS, *_KINDS)
#: The norm of the finite elements. The variance is the mean of the squares minus the square of the mean, so
#: the sum of the squares of n elements is n × (variance + mean²). Damaged files may have a variance below 0.
NORM: Final = "sqrt(abs((size - neg_inf - pos_inf - nan) * (variance + mean * mean)))"
#: SQL of the numbers that ``where`` may compare and lists are sorted by; NULL where they were not measured.
NUMBERS: Final = {
    **{name: name for name in MEASURED},
    "rank": "nullif(rank, -1)",
    "std": "sqrt(abs(variance))",
    "norm": NORM,
    "zeros": "zero / nullif(size, 0)",
}
MAX_REGEX: Final = 1000
_MAX_COMPARISONS: Final = 16
_MAX_POSITION: Final = 2**53
#: A host has one or two spans, unless its clock was set back again and again.
_MAX_SPANS: Final = 500
_RANGE: Final = re.compile(r"^(?=.*[0-9])([0-9]{0,15})(\.\.([0-9]{0,15}))?$")
_FILE: Final = re.compile(r"^(.+?)(?::([0-9]{1,9}))?$")
_COMPARISON: Final = re.compile(r"^([a-z_]+)(<=|>=|=|<|>)([-+]?[0-9.]+(?:[eE][-+]?[0-9]{1,3})?)$")


@dataclass(frozen=True)
class NumberFilter:
    """A column, a comparison sign and a number."""

    column: str
    sign: str
    number: float


@dataclass(frozen=True)
class Filter:
    """The criteria of a filter; None = no criterion.

    Attributes:
      op_name, op_type, function, device, layer: Regular expressions that match any part of the text.
      variable, gradient_of: The same for the variable that an op reads or assigns, and for the ones whose
        gradient a tensor is.
      not_op_name: A regular expression that must not match any part of the name of the op.
      sites: Numbers of sites, for exactly the tensors of these.
      dtype: The name of a dtype.
      host: The name of a host.
      health: One of :data:`HEALTH`.
      where: Comparisons that must all hold; a number that was not measured fulfils none.
      since, until: Seconds since the epoch; ``until`` is exclusive.
      step: The first and the last step, counted from 0 for each host.
      from_execution, until_execution: Positions in the list of executions, the latter exclusive; for graph
        executions, positions of their owners.
      call: The first and the last of the executions that are meant, or in which graphs ran.
      source: The number of a source file that is anywhere in the stack.
      line: A line of this file.
      file: The end of the path of the file with the user's line, and maybe that line: ``model.py:41``.
      stack: The same of any line in the stack.
    """

    op_name: str | None = None
    op_type: str | None = None
    function: str | None = None
    device: str | None = None
    layer: str | None = None
    variable: str | None = None
    gradient_of: str | None = None
    not_op_name: str | None = None
    sites: tuple[int, ...] | None = None
    dtype: str | None = None
    host: str | None = None
    health: str | None = None
    where: tuple[NumberFilter, ...] = ()
    since: float | None = None
    until: float | None = None
    step: tuple[int, int] | None = None
    from_execution: int | None = None
    until_execution: int | None = None
    call: tuple[int, int] | None = None
    source: int | None = None
    line: int | None = None
    file: str | None = None
    stack: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every row fulfils the filter."""
        return all(getattr(self, field.name) == field.default for field in fields(self))

    @property
    def executions(self) -> Range | None:
        """The range of executions; None = all."""
        if self.from_execution is None and self.until_execution is None and self.call is None:
            return None
        first, last = self.call or (0, _MAX_POSITION)
        until = _MAX_POSITION if self.until_execution is None else self.until_execution
        return Range(max(self.from_execution or 0, first), min(until, last + 1))


@dataclass(frozen=True)
class RowOrder:
    """The column that sorts rows. Equal rows stay in the order of the list; rows without a value are last."""

    column: str
    descending: bool = False


@dataclass(frozen=True)
class RowCondition:
    """An SQL condition on the rows of a table ``t``, with its parameters.

    Attributes:
      sql: The condition.
      parameters: Its parameters.
      sites: The sites whose rows fulfil it, if it only asks for the site; else None.
    """

    sql: str
    parameters: SqlRow
    sites: tuple[int, ...] | None = None


def parse_range(name: str, text: str) -> tuple[int, int]:
    """Parse the first and the last of some numbers, such as ``3..9``, ``3..`` or ``3``.

    Args:
      name: The filter.
      text: The numbers.

    Raises:
      BadQueryError: The text has another form.
    """
    match = _RANGE.match(text)
    if match is None:
        raise BadQueryError(f"{name} must be like '3..9', '3..', '..9' or '3', but is {text[:50]!r}.")
    first = int(match[1] or 0)
    return first, first if match[2] is None else int(match[3] or _MAX_POSITION)


def parse_comparisons(text: str) -> tuple[NumberFilter, ...]:
    """Parse comparisons such as ``nan>0,size>=100``.

    Raises:
      BadQueryError: The text has another form, or names an unknown column.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) > _MAX_COMPARISONS:
        raise BadQueryError(f"where holds more than {_MAX_COMPARISONS} comparisons.")
    return tuple(map(_comparison, parts))


def _comparison(text: str) -> NumberFilter:
    match = _COMPARISON.match(text)
    if match is None:
        raise BadQueryError(f"where must be like 'nan>0' or 'size>=100,zero=0', but has {text[:50]!r}.")
    if match[1] not in NUMBERS:
        raise BadQueryError(f"where cannot compare {match[1]!r}; it can {', '.join(NUMBERS)}.")
    try:
        return NumberFilter(match[1], match[2], float(match[3]))
    except ValueError:
        raise BadQueryError(f"where has {match[3][:50]!r}, which is not a number.") from None


class _Conditions:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.parameters: list[object] = []

    def add(self, sql: str, *parameters: object) -> None:
        self.parts.append(sql)
        self.parameters.extend(parameters)

    def add_regex(self, snapshot: Snapshot, column: str, name: str, pattern: str | None) -> None:
        if pattern is not None:
            check_regex(snapshot, name, pattern)
            self.add(f"regexp_matches(coalesce({column}, ''), ?)", pattern)

    def add_named(self, snapshot: Snapshot, column: str, table: str, name: str, pattern: str | None) -> None:
        """Add that a column is a key of what has a name in another table."""
        if pattern is not None:
            check_regex(snapshot, name, pattern)
            self.add(f"{column} IN (SELECT {table} WHERE regexp_matches(coalesce(name, ''), ?))", pattern)

    def add_numbers(self, row_filter: Filter) -> None:
        """Add what must be true of the numbers of a tensor."""
        if row_filter.health in _KINDS:
            self.add(_KINDS[row_filter.health])
        for one in row_filter.where:
            self.add(f"{NUMBERS[one.column]} {one.sign} ?", one.number)

    def build(self) -> RowCondition:
        return RowCondition(" AND ".join(self.parts) or "true", tuple(self.parameters))


def check_regex(snapshot: Snapshot, name: str, pattern: str) -> None:
    """Check a regular expression.

    Raises:
      BadQueryError: It is not a regular expression, or is too long.
    """
    if len(pattern) > MAX_REGEX:
        raise BadQueryError(f"{name} is longer than {MAX_REGEX} characters.")
    try:
        snapshot.rows("SELECT regexp_matches('', ?)", [pattern])
    except duckdb.Error as error:
        reason = str(error).splitlines()[0].partition(": ")[2].rstrip(".")
        raise BadQueryError(f"{name} is not a regular expression: {reason}.") from None


def graph_execution_condition(snapshot: Snapshot, row_filter: Filter) -> RowCondition:
    """Return the condition for rows of ``graph_executions``.

    Raises:
      BadQueryError: The filter names something that does not exist, or has an invalid regular expression.
    """
    conditions = _common(
        snapshot, row_filter, "t.site IN (SELECT site FROM sites WHERE host IN (SELECT unnest(?)))"
    )
    if row_filter.executions is not None:
        _add_spans(snapshot, row_filter.executions, conditions)
    sites = _sites(snapshot, row_filter)
    if sites is not None:
        _add_sites(snapshot, sites, conditions)
    if row_filter.dtype is not None:
        number = _dtype(row_filter.dtype)
        static = np.flatnonzero(snapshot.catalog.site_statics[0] == number).tolist()
        conditions.add("(t.dtype = ? OR t.dtype = 0 AND t.site IN (SELECT unnest(?)))", number, static)
    conditions.add_numbers(row_filter)
    only_sites = None if sites is None or len(conditions.parts) > 1 else tuple(sites)
    return replace(conditions.build(), sites=only_sites)


def _add_sites(snapshot: Snapshot, sites: list[int], conditions: _Conditions) -> None:
    # A long list takes the database longer than the few sites that are not in it.
    others = sorted(set(range(len(snapshot.catalog.sites))).difference(sites))
    if not others:
        conditions.add("true")
    elif len(others) < len(sites):
        conditions.add("t.site NOT IN (SELECT unnest(?::INTEGER[]))", others)
    else:
        conditions.add("t.site IN (SELECT unnest(?::INTEGER[]))", sites)


def execution_condition(snapshot: Snapshot, row_filter: Filter) -> RowCondition:
    """Return the condition for rows of ``executions``.

    ``device``, ``dtype`` and ``where`` apply to their outputs, ``function`` to the graph that they ran.

    Raises:
      BadQueryError: As for :func:`graph_execution_condition`.
    """
    conditions = _common(snapshot, row_filter, "t.host IN (SELECT unnest(?))")
    if row_filter.executions is not None:
        conditions.add("t.idx >= ? AND t.idx < ?", row_filter.executions.begin, row_filter.executions.end)
    conditions.add_named(snapshot, "t.op_type", "op_type FROM op_types", "op_type", row_filter.op_type)
    conditions.add_named(snapshot, "t.graph", "graph FROM graphs", "function", row_filter.function)
    for name in _GRAPHS_ONLY:
        if getattr(row_filter, name) is not None:
            only = f"{name} filters graph executions only"
            raise BadQueryError(f"{only}; use op_type or function for executions.")
    if row_filter.host is not None:
        conditions.add("t.host IN (SELECT unnest(?))", _hosts(snapshot, row_filter.host))
    stacks = _stacks(snapshot, row_filter)
    if stacks is not None:
        conditions.add("t.stack IN (SELECT unnest(?))", stacks)
    _add_outputs(snapshot, row_filter, conditions)
    return conditions.build()


def _add_outputs(snapshot: Snapshot, row_filter: Filter, conditions: _Conditions) -> None:
    outputs = _Conditions()
    if row_filter.dtype is not None:
        outputs.add("o.dtype = ?", _dtype(row_filter.dtype))
    outputs.add_numbers(row_filter)
    device = "(host, device_id) FROM devices"
    outputs.add_named(snapshot, "(o.host, o.device_id)", device, "device", row_filter.device)
    if outputs.parts:
        where = " AND ".join(outputs.parts)
        conditions.add(f"t.idx IN (SELECT o.idx FROM execution_outputs o WHERE {where})", *outputs.parameters)


def _common(snapshot: Snapshot, row_filter: Filter, host: str) -> _Conditions:
    conditions = _Conditions()
    if row_filter.health in HEALTH_NUMBERS:
        conditions.add(f"t.health = {HEALTH_NUMBERS[row_filter.health]}")
    if row_filter.since is not None:
        conditions.add("t.wall_time >= ?", row_filter.since)
    if row_filter.until is not None:
        conditions.add("t.wall_time < ?", row_filter.until)
    if row_filter.step is not None:
        sql, parameters = step_condition(snapshot, *row_filter.step, host)
        conditions.add(sql, *parameters)
    return conditions


def _add_spans(snapshot: Snapshot, executions: Range, conditions: _Conditions) -> None:
    parts: list[str] = ["false"]
    parameters: list[object] = []
    inside = spans_inside(snapshot, executions)
    if sum(len(spans.times) for spans in inside) > _MAX_SPANS:
        raise BadQueryError("Clocks were set back too often to find what ran in these executions.")
    for spans in inside:
        sites = np.flatnonzero(np.isin(snapshot.catalog.site_graphs, spans.graphs)).tolist()
        times = " OR ".join(["t.wall_time > ? AND t.wall_time <= ?"] * len(spans.times))
        parts.append(f"t.site IN (SELECT unnest(?)) AND ({times})")
        parameters += [sites, *itertools.chain.from_iterable(spans.times)]
    conditions.add(f"({' OR '.join(parts)})", *parameters)


def filtered_ops(snapshot: Snapshot, row_filter: Filter) -> list[int] | None:
    """Return the ops that fulfil the criteria about ops, also those that computed nothing; None for all.

    Raises:
      BadQueryError: As for :func:`graph_execution_condition`.
    """
    found = _ops_and_sites(snapshot, row_filter)
    return None if found is None else list(dict.fromkeys(op for op, _ in found))


def is_about_rows(row_filter: Filter) -> bool:
    """Whether a filter has criteria about what was computed, and not about ops only."""
    return row_filter != Filter(**{name: getattr(row_filter, name) for name in _OF_OPS})


def may_filter_executions(row_filter: Filter) -> bool:
    """Whether the list of executions has all criteria of a filter."""
    return all(getattr(row_filter, name) is None for name in _GRAPHS_ONLY)


#: The criteria that the list of executions does not have.
_GRAPHS_ONLY: Final = ("op_name", "not_op_name", "sites", "layer", "variable", "gradient_of")
#: The criteria about ops.
_OF_OPS: Final = (*_GRAPHS_ONLY, "op_type", "function", "device", "host", "source", "line", "stack", "file")


def _sites(snapshot: Snapshot, row_filter: Filter) -> list[int] | None:
    found = _ops_and_sites(snapshot, row_filter)
    return None if found is None else sorted(site for _, site in found if site is not None)


def _ops_and_sites(snapshot: Snapshot, row_filter: Filter) -> list[tuple[int, int | None]] | None:
    """Return the ops that fulfil the criteria about ops with their sites, of which each has any number."""
    conditions = _Conditions()
    conditions.add_regex(snapshot, "o.name", "op_name", row_filter.op_name)
    conditions.add_regex(snapshot, "o.type", "op_type", row_filter.op_type)
    conditions.add_regex(snapshot, "g.name", "function", row_filter.function)
    conditions.add_regex(snapshot, "coalesce(s.device, o.device)", "device", row_filter.device)
    conditions.add_regex(snapshot, "o.layer", "layer", row_filter.layer)
    conditions.add_regex(snapshot, "o.variable", "variable", row_filter.variable)
    if row_filter.not_op_name is not None:
        check_regex(snapshot, "not_op_name", row_filter.not_op_name)
        conditions.add("NOT regexp_matches(o.name, ?)", row_filter.not_op_name)
    if row_filter.sites is not None:
        conditions.add("s.site IN (SELECT unnest(?::INTEGER[]))", list(row_filter.sites))
    if row_filter.gradient_of is not None:
        check_regex(snapshot, "gradient_of", row_filter.gradient_of)
        gradients = "SELECT (d.op, d.slot) FROM gradients d WHERE regexp_matches(d.variable, ?)"
        conditions.add(f"(s.op, s.slot) IN ({gradients})", row_filter.gradient_of)
    if row_filter.host is not None:
        hosts = _hosts(snapshot, row_filter.host)
        conditions.add("coalesce(s.host, g.host) IN (SELECT unnest(?))", hosts)
    stacks = _stacks(snapshot, row_filter)
    if stacks is not None:
        conditions.add("o.stack IN (SELECT unnest(?))", stacks)
    if not conditions.parts:
        return None
    condition = conditions.build()
    return [
        (op, site)
        for op, site in snapshot.rows(
            "SELECT o.op, s.site FROM ops o LEFT JOIN sites s ON s.op = o.op"
            " JOIN graphs g ON g.graph = coalesce(s.graph, o.graph)"
            f" WHERE {condition.sql} ORDER BY o.op, s.site",
            list(condition.parameters),
        )
    ]


def _hosts(snapshot: Snapshot, name: str) -> list[int]:
    numbers = [number for number, host in enumerate(snapshot.catalog.host_names) if host == name]
    if not numbers:
        raise BadQueryError(f"There is no host named {name!r}.")
    return numbers


def _dtype(name: str) -> int:
    if name not in NUMBER_OF:
        raise BadQueryError(f"There is no dtype named {name!r}.")
    return NUMBER_OF[name]


def _stacks(snapshot: Snapshot, row_filter: Filter) -> list[int] | None:
    """Return the stacks that fulfil all criteria about source lines; None without any."""
    if row_filter.source is None and row_filter.line is not None:
        raise BadQueryError("line needs source, the number of a source file.")
    found: list[set[int]] = []
    if row_filter.source is not None:
        found.append(_stacks_through(snapshot, [row_filter.source], row_filter.line))
    if row_filter.stack is not None:
        end, line = _file_and_line("stack", row_filter.stack)
        paths = snapshot.rows("SELECT source, path FROM sources")
        found.append(_stacks_through(snapshot, [source for source, path in paths if _ends(path, end)], line))
    if row_filter.file is not None:
        end, line = _file_and_line("file", row_filter.file)
        lines = all_user_lines(snapshot).items()
        found.append({stack for stack, at in lines if _ends(at.path, end) and line in (None, at.line)})
    return sorted(set.intersection(*found)) if found else None


def _stacks_through(snapshot: Snapshot, sources: list[int], line: int | None) -> set[int]:
    rows = snapshot.rows(
        "SELECT DISTINCT k.stack FROM stacks k JOIN frames f ON f.host = k.host AND f.frame_id = k.frame_id"
        " JOIN sources s ON s.host = f.host AND s.file_index = f.file_index"
        " WHERE s.source IN (SELECT unnest($sources::INTEGER[])) AND ($line IS NULL OR f.line = $line)",
        {"sources": sources, "line": line},
    )
    return {stack for (stack,) in rows}


def _file_and_line(name: str, text: str) -> tuple[str, int | None]:
    match = _FILE.match(text)
    if match is None:
        raise BadQueryError(f"{name} must be like 'model.py' or 'model.py:41', but is {text[:50]!r}.")
    return match[1], None if match[2] is None else int(match[2])


def _ends(path: str | None, end: str) -> bool:
    """Whether a path ends in some of its parts."""
    return path is not None and (path == end or path.endswith((f"/{end}", f"\\{end}")))
